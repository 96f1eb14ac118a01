package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"sett/roles/role"
	"sett/roles/role/git"
)

// MaxSize is the usual bound of the new objects that one commit may bring: 1 GiB.
const MaxSize = 1 << 30

var (
	// ErrTooLarge says that a commit brings more than is allowed.
	ErrTooLarge = errors.New("the commit brings too much")
	// ErrElsewhere says that a commit does not descend from one that it may build on.
	ErrElsewhere = errors.New("the commit does not build on the tree's start")
	// ErrRefused says that git refuses what a commit has.
	ErrRefused = errors.New("git refuses the commit")
	// ErrUnreadable says that a file of the tool cannot be read.
	ErrUnreadable = errors.New("a file of the tree cannot be read")
)

// Offer is a commit that a tool made.
type Offer struct {
	Hash    string   // or its beginning
	Root    string   // a trusted directory
	Objects string   // the tool's directory of objects, relative to it
	Known   []string // commits of the store that it may build on; at least the tree's start
	Any     bool     // it may build on anything, or nothing
	Size    int64    // the most bytes that it may bring; 0: MaxSize
	Own     []string // paths that no commit may have

	ReadOnly bool // the tool's tree is read-only: a commit that it made there is none of Objects
}

// ReadOnly says why the tool of a read-only tree has no commit of its own, and what lets it have one.
const ReadOnly = "its tree is read-only, and commits made there are not taken: workspace: {mode: rw} in sett.yml lets it commit"

// Take brings a tool's commit with everything that it reaches into the store, has a ref
// hold it, and returns its whole hash. All is on disk when it returns. To take the same
// commit again is harmless; a crash leaves objects without a ref, or the ref.
//
// Nothing of the tool's is trusted: Take copies its objects first, by their names and
// without following a link, then lets git check each.
//
// An error is the tool's fault only where the store takes files.
func (s *Store) Take(ctx context.Context, o Offer, ref string) (commit string, err error) {
	shelf, err := os.MkdirTemp(s.Dir, "taking-")
	if err != nil {
		return "", fmt.Errorf("take a commit: %w", role.Cause(err))
	}
	defer func() { _ = os.RemoveAll(shelf) }() // else the next start of the role does it
	commit, err = take(ctx, s, o, shelf, ref)
	return commit, settled(err, s.Dir, s.Objects())
}

// take is Take with a shelf for copies of the tool's objects.
func take(ctx context.Context, s *Store, o Offer, shelf, ref string) (commit string, err error) {
	size := o.Size
	if size == 0 {
		size = MaxSize
	}
	if err := copyObjects(ctx, o, shelf, size); err != nil {
		return "", err
	}
	env := []string{Borrowed(shelf)}
	if commit, err = s.resolve(ctx, o.Hash, env); err != nil {
		if o.ReadOnly && errors.Is(err, git.ErrNoObject) {
			err = fmt.Errorf("%w; %s", err, ReadOnly)
		}
		return "", err
	}
	if err := s.descends(ctx, commit, o, env); err != nil {
		return "", err
	}
	if err := without(ctx, s, commit, o.Known, o.Own, env); err != nil {
		return "", err
	}
	if commit, err = inPointers(ctx, s, o, shelf, commit, size); err != nil {
		return "", err
	}
	kept, err := s.receive(ctx, commit, o.Known, env, size)
	if err != nil {
		return "", err
	}
	if err := s.Hold(ctx, ref, commit); err != nil {
		return "", err
	}
	s.release(kept)
	return commit, nil
}

// release lets git prune a pack that it received, as far as no ref holds its objects.
func (s *Store) release(pack string) {
	if pack != "" {
		_ = os.Remove(filepath.Join(s.Objects(), "pack", "pack-"+pack+".keep"))
	}
}

// Borrowed is the variable with which git finds the objects of another directory, too.
func Borrowed(objects string) string {
	return "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(objects)
}

// quoted is a path as git reads it in a list of paths.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// descends checks the ancestors of a commit.
func (s *Store) descends(ctx context.Context, commit string, o Offer, env []string) error {
	if o.Any {
		return nil
	}
	for _, known := range o.Known {
		if known == commit {
			return nil
		}
		_, err := s.run(ctx, command{args: []string{"merge-base", "--is-ancestor", known, commit}, env: env})
		if err == nil {
			return nil
		}
		if exitCode(err) != 1 {
			return refusal(err)
		}
	}
	held, err := s.git(ctx, "for-each-ref", "--count=1", "--format=x", "--points-at="+commit, "refs/sett/")
	if err != nil || held != "" {
		return err
	}
	return fmt.Errorf("%w: %s", ErrElsewhere, commit)
}

// receive brings the objects that a tool's commit reaches and the known ones do not. It
// returns the name of the new pack, which has a file that keeps it from being pruned.
func (s *Store) receive(ctx context.Context, commit string, known, env []string, size int64) (pack string, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	sender := s.process(ctx, command{args: []string{"pack-objects", "--revs", "--thin", "--delta-base-offset", "--stdout", "-q"}, env: env, stdin: reach(commit, known)})
	receiver := s.process(ctx, command{args: []string{"index-pack", "--stdin", "--strict", "--fix-thin", "--keep=sett",
		fmt.Sprintf("--max-input-size=%d", size)}})
	pack, sent, received := pass(ctx, sender, receiver)
	switch {
	case received != nil && strings.Contains(receiver.stderr.String(), "maximum allowed size"):
		return "", fmt.Errorf("%w: more than %d MiB", ErrTooLarge, size>>20)
	case received != nil:
		return "", refusal(received)
	}
	return pack, refusal(sent)
}

// reach is what git reads for all objects that a commit reaches and the known ones do not.
func reach(commit string, known []string) string {
	var want strings.Builder
	fmt.Fprintln(&want, commit)
	for _, k := range known {
		fmt.Fprintf(&want, "^%s\n", k)
	}
	return want.String()
}

// pass has one run of git read a pack that another one writes. It returns the name of
// the pack; empty: it was there before. Where the writer is the reason that the reader
// fails, only its error is set.
func pass(ctx context.Context, sender, receiver *process) (pack string, sent, received error) {
	from, to, err := os.Pipe()
	if err != nil {
		return "", err, nil
	}
	var said strings.Builder
	sender.cmd.Stdout = to
	receiver.cmd.Stdin, receiver.cmd.Stdout = from, &said
	sent, received = sender.cmd.Start(), receiver.cmd.Start()
	_, _ = from.Close(), to.Close()
	if sent == nil {
		sent = sender.cmd.Wait()
	}
	if received == nil {
		received = receiver.cmd.Wait()
	}
	if sent != nil && strings.Contains(receiver.stderr.String(), "early EOF") {
		received = nil
	}
	if sent != nil {
		sent = sender.failure(ctx, sent)
	}
	if received != nil {
		received = receiver.failure(ctx, received)
	}
	if name, ok := strings.CutPrefix(line(said.String()), "keep\t"); ok {
		pack = name
	}
	return pack, sent, received
}

// copyObjects copies the objects of a directory that a tool wrote: regular files by the
// names that git gives, nothing else. It follows no link, and waits for no pipe.
func copyObjects(ctx context.Context, o Offer, to string, most int64) error {
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return fmt.Errorf("read the tool's objects: %w", err)
	}
	defer root.Close()
	c := copier{ctx: ctx, root: root, to: to, left: most}
	// Where the tool has removed its repository, there is nothing: its commit may be a known one.
	for _, d := range c.list(o.Objects) {
		if d.IsDir() && fanOut().MatchString(d.Name()) {
			c.folder(filepath.Join(o.Objects, d.Name()), d.Name(), object())
		}
	}
	c.folder(filepath.Join(o.Objects, "pack"), "pack", packFile())
	if c.err != nil {
		return fmt.Errorf("read the tool's objects: %w", c.err)
	}
	return nil
}

// copier copies files out of a directory; after its first error it does nothing.
type copier struct {
	ctx  context.Context
	root *os.Root
	to   string
	left int64 // bytes that may still be copied
	err  error
}

// list returns the entries of a directory that is none by a link; nil: it is no directory.
func (c *copier) list(name string) []fs.DirEntry {
	info, err := c.root.Lstat(name)
	if err != nil || !info.IsDir() {
		c.heed(err)
		return nil
	}
	d, err := c.root.Open(name)
	if err != nil {
		c.heed(err)
		return nil
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		c.heed(err)
		return nil
	}
	return entries
}

// heed keeps an error of the machine. A tool's file or directory that cannot be read for another reason
// has no objects: its owner's git would not read it, either.
func (c *copier) heed(err error) {
	if c.err == nil && IsTrouble(err) {
		c.err = err
	}
}

func (c *copier) folder(name, to string, names *regexp.Regexp) {
	made := false
	for _, e := range c.list(name) {
		if c.err != nil {
			return
		}
		if !e.Type().IsRegular() || !names.MatchString(e.Name()) {
			continue
		}
		if !made {
			c.err = os.MkdirAll(filepath.Join(c.to, to), 0o700)
			made = true
		}
		c.file(filepath.Join(name, e.Name()), filepath.Join(c.to, to, e.Name()))
	}
}

func (c *copier) file(name, to string) {
	if c.err == nil {
		c.err = c.ctx.Err()
	}
	if c.err != nil {
		return
	}
	source, err := c.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		c.heed(err)
		return
	}
	defer source.Close()
	if info, err := source.Stat(); err != nil || !info.Mode().IsRegular() {
		c.heed(err)
		return
	}
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		c.err = err
		return
	}
	n, err := io.Copy(target, io.LimitReader(source, c.left+1))
	c.left -= n
	if c.err = errors.Join(err, target.Close()); c.err == nil && c.left < 0 {
		c.err = ErrTooLarge
	}
}

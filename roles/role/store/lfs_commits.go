package store

// This file has the content of git LFS in commits: those of tools that did not know of it get pointers.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sett/roles/role/lfs"
)

// pointerBlob is a pointer that commits have.
type pointerBlob struct {
	lfs.Pointer
	path string // one of its paths
}

// blobs are files that commits reach, by their hashes.
type blobs struct {
	pointers map[string]pointerBlob
	others   map[string]bool
}

// blobsOf reads the files of commits, as c lists them by its arguments and input. All says
// whether large files count, too.
func blobsOf(ctx context.Context, s *Store, c command, all bool) (b blobs, err error) {
	b = blobs{map[string]pointerBlob{}, map[string]bool{}}
	c.args = append([]string{"rev-list", "--objects", "--stdin"}, c.args...)
	if !all {
		c.args = append(c.args, fmt.Sprintf("--filter=blob:limit=%d", lfs.MostText+1))
	}
	out, err := s.run(ctx, c)
	if err != nil {
		return b, err
	}
	paths := map[string]string{}
	var list strings.Builder
	for row := range strings.Lines(out) {
		hash, name, _ := strings.Cut(line(row), " ")
		if name != "" {
			paths[hash] = name
			list.WriteString(hash + "\n")
		}
	}
	c.args, c.stdin = []string{"cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"}, list.String()
	if out, err = s.run(ctx, c); err != nil {
		return b, err
	}
	var small []string
	for row := range strings.Lines(out) {
		fields := strings.Fields(row)
		if len(fields) != 3 || fields[1] != "blob" {
			continue
		}
		switch size, err := strconv.ParseInt(fields[2], 10, 64); {
		case err != nil || size == 0:
		case size <= lfs.MostText:
			small = append(small, fields[0])
		default:
			b.others[fields[0]] = true
		}
	}
	texts, err := textsOf(ctx, s, c, small)
	for hash, text := range texts {
		if p, ok := lfs.Parse(text); ok {
			b.pointers[hash] = pointerBlob{p, paths[hash]}
		} else {
			b.others[hash] = true
		}
	}
	return b, err
}

// textsOf reads small files.
func textsOf(ctx context.Context, s *Store, c command, hashes []string) (map[string]string, error) {
	all := map[string]string{}
	if len(hashes) == 0 {
		return all, nil
	}
	c.args, c.stdin = []string{"cat-file", "--batch"}, strings.Join(hashes, "\n")+"\n"
	out, err := s.run(ctx, c)
	if err != nil {
		return nil, err
	}
	for len(out) > 0 {
		head, rest, _ := strings.Cut(out, "\n")
		fields := strings.Fields(head)
		if len(fields) != 3 {
			return nil, fmt.Errorf("git cat-file says %.80q", head)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size < 0 || len(rest) < size+1 {
			return nil, fmt.Errorf("git cat-file says %.80q", head)
		}
		all[fields[0]], out = rest[:size], rest[size+1:]
	}
	return all, nil
}

// inPointers stores the content of the pointers that a tool's commit brings, and returns the commit in the form
// that git LFS would have given it: where the tool committed the content of a file that the attributes of the
// commit give to git LFS, the commit, and each one after it, gets a pointer. The objects of the tool are on the shelf.
func inPointers(ctx context.Context, s *Store, o Offer, shelf, commit string, size int64) (string, error) {
	x := rewriting{store: s, shelf: shelf, commit: commit, known: o.Known, left: size}
	if err := x.begins(ctx, o); err != nil {
		return "", err
	}
	places, err := contents(s)
	if err != nil || places == nil {
		return commit, err
	}
	x.to = places[0]
	found, err := blobsOf(ctx, s, x.command(reach(commit, o.Known)), true)
	if err != nil {
		return "", refusal(err)
	}
	if err := x.receive(ctx, o, found, places); err != nil {
		return "", err
	}
	if len(found.others) == 0 {
		return commit, nil
	}
	if err := x.find(ctx, found.others); err != nil || len(x.pointers) == 0 {
		return commit, refusal(err)
	}
	commit, err = x.rewrite(ctx)
	return commit, refusal(err)
}

// rewriting gives commits of a tool the form that they would have with git LFS.
type rewriting struct {
	store    *Store
	shelf    string
	commit   string
	known    []string
	left     int64 // bytes that may still be stored
	to       lfs.Objects
	paths    map[string]bool   // that go to git LFS
	pointers map[string]string // of their content: the hashes of both
}

// command runs on the shelf, with an index there and no working tree.
func (x *rewriting) command(stdin string, args ...string) command {
	return command{args: args, stdin: stdin, dir: x.shelf, env: []string{
		"GIT_OBJECT_DIRECTORY=" + x.shelf, Borrowed(x.store.Objects()), "GIT_INDEX_FILE=" + filepath.Join(x.shelf, "pointers"),
	}}
}

func (x *rewriting) git(ctx context.Context, stdin string, args ...string) (string, error) {
	return x.store.run(ctx, x.command(stdin, args...))
}

// receive stores the content that the tool's git-lfs has of these pointers.
func (x *rewriting) receive(ctx context.Context, o Offer, found blobs, places []lfs.Objects) error {
	if len(found.pointers) == 0 {
		return nil
	}
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range found.pointers {
		if slices.ContainsFunc(places, func(o lfs.Objects) bool { return o.Has(p.Pointer) }) {
			continue
		}
		from, err := lfs.OpenIn(root, theirContent(o), p.Pointer)
		if err != nil {
			continue // it is nowhere
		}
		if x.left -= p.Size; x.left < 0 {
			err = ErrTooLarge
		} else if err = x.to.Receive(ctx, from, p.Pointer); errors.Is(err, lfs.ErrContent) {
			err = nil
		}
		_ = from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// find stores the content of files that should have been pointers.
func (x *rewriting) find(ctx context.Context, others map[string]bool) error {
	commits, err := x.git(ctx, reach(x.commit, x.known), "rev-list", "--stdin")
	if err != nil {
		return err
	}
	out, err := x.git(ctx, commits, "diff-tree", "--stdin", "-r", "-z", "-m", "--root", "--no-renames", "--no-commit-id")
	if err != nil {
		return err
	}
	changed := map[string][]string{} // content by path
	for fields := strings.Split(out, "\x00"); len(fields) >= 2; fields = fields[2:] {
		if head := strings.Fields(fields[0]); len(head) == 5 && strings.HasPrefix(head[1], "100") && others[head[3]] {
			changed[fields[1]] = append(changed[fields[1]], head[3])
		}
	}
	if _, err := x.git(ctx, "", "read-tree", x.commit); err != nil {
		return err
	}
	paths := make([]string, 0, len(changed))
	for p := range changed {
		paths = append(paths, p)
	}
	found, err := filtered(ctx, x.store, x.command("", "check-attr", "--cached"), paths)
	if err != nil {
		return err
	}
	x.paths, x.pointers = map[string]bool{}, map[string]string{}
	for _, p := range found {
		x.paths[p] = true
		for _, content := range changed[p] {
			if x.pointers[content] == "" {
				if x.pointers[content], err = x.point(ctx, content); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// point stores the content of a file, and returns the hash of its pointer.
func (x *rewriting) point(ctx context.Context, content string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	out, err := x.git(ctx, "", "cat-file", "-s", content)
	if err != nil {
		return "", err
	}
	size, err := strconv.ParseInt(line(out), 10, 64)
	if err != nil {
		return "", fmt.Errorf("git cat-file says %.80q", out)
	}
	if x.left -= size; x.left < 0 {
		return "", ErrTooLarge
	}
	p := x.store.process(ctx, x.command("", "cat-file", "blob", content))
	from, to, err := os.Pipe()
	if err != nil {
		return "", err
	}
	p.cmd.Stdout = to
	err = p.cmd.Start()
	_ = to.Close()
	if err != nil {
		_ = from.Close()
		return "", p.failure(ctx, err)
	}
	pointer, err := x.to.Put(ctx, lfs.Exactly(from, size))
	_ = from.Close()
	if ended := p.cmd.Wait(); ended != nil { // then the content was cut off
		return "", p.failure(ctx, ended)
	}
	if err != nil {
		return "", err
	}
	hash, err := x.git(ctx, pointer.Text(), "hash-object", "-w", "--stdin")
	return line(hash), err
}

// rewrite makes the tool's commits again, oldest first, and returns the last one.
func (x *rewriting) rewrite(ctx context.Context) (string, error) {
	out, err := x.git(ctx, reach(x.commit, x.known), "rev-list", "--topo-order", "--reverse", "--parents", "--stdin")
	if err != nil {
		return "", err
	}
	made := map[string]string{}
	for row := range strings.Lines(out) {
		all := strings.Fields(row)
		tree, err := x.tree(ctx, all[0])
		if err != nil {
			return "", err
		}
		same := tree == ""
		for _, parent := range all[1:] {
			same = same && made[parent] == ""
		}
		if same {
			continue
		}
		if made[all[0]], err = x.again(ctx, all[0], tree, made); err != nil {
			return "", err
		}
	}
	if made[x.commit] == "" {
		return x.commit, nil
	}
	return made[x.commit], nil
}

// tree is that of a commit with pointers; empty: it needs none.
func (x *rewriting) tree(ctx context.Context, commit string) (string, error) {
	if _, err := x.git(ctx, "", "read-tree", commit); err != nil {
		return "", err
	}
	out, err := x.git(ctx, "", "ls-files", "-s", "-z")
	if err != nil {
		return "", err
	}
	var updates strings.Builder
	for row := range strings.SplitSeq(out, "\x00") {
		head, name, _ := strings.Cut(row, "\t")
		if fields := strings.Fields(head); len(fields) == 3 && x.paths[name] && x.pointers[fields[1]] != "" {
			fmt.Fprintf(&updates, "%s %s 0\t%s\x00", fields[0], x.pointers[fields[1]], name)
		}
	}
	if updates.Len() == 0 {
		return "", nil
	}
	if _, err := x.git(ctx, updates.String(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	out, err = x.git(ctx, "", "write-tree")
	return line(out), err
}

// again makes a commit as it was, but for its tree (empty: the same), its parents, and a signature, which would be wrong.
func (x *rewriting) again(ctx context.Context, commit, tree string, made map[string]string) (string, error) {
	text, err := x.git(ctx, "", "cat-file", "commit", commit)
	if err != nil {
		return "", err
	}
	head, message, _ := strings.Cut(text, "\n\n")
	var b strings.Builder
	dropped := false
	for row := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(row, " ")
		switch {
		case key == "" && dropped:
			continue
		case key == "tree" && tree != "":
			row = "tree " + tree
		case key == "parent" && made[value] != "":
			row = "parent " + made[value]
		}
		if dropped = strings.HasPrefix(key, "gpgsig"); !dropped {
			b.WriteString(row + "\n")
		}
	}
	out, err := x.git(ctx, b.String()+"\n"+message, "hash-object", "-t", "commit", "-w", "--stdin")
	return line(out), err
}

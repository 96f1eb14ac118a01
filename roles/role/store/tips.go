package store

// This file finds the commits that a tool's repository names. It reads files alone: no git runs there.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sett/roles/role"
	"sett/runtime/repofile"
)

// Ref is a name in a tool's repository, and its commit.
type Ref struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

// String is the ref for people.
func (r Ref) String() string {
	name := r.Name
	for _, folder := range []string{"refs/heads/", "refs/tags/", "refs/"} {
		if short, ok := strings.CutPrefix(name, folder); ok {
			name = short
			break
		}
	}
	return fmt.Sprintf("%s %.12s", role.Clean(name), r.Commit)
}

// Bounds of the files of a tool's repository that Sett reads.
const (
	mostHead   = 4 << 10
	mostPacked = 4 << 20
	mostLooks  = 10000 // files and folders of refs
	mostTips   = 50    // commits
	mostName   = 250   // bytes of a ref's name
)

// tip is the commit that HEAD of the tool's repository names, as far as a plain look
// finds one; empty: none. It is a hash by its form alone.
func (t *Tree) tip() string {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	text := linesIn(root, toolGit+"/HEAD", mostHead)
	name, isRef := strings.CutPrefix(text, "ref: ")
	if !isRef {
		return asHash(text)
	}
	if !strings.HasPrefix(name, "refs/heads/") || !filepath.IsLocal(name) {
		return ""
	}
	if found := asHash(linesIn(root, toolGit+"/"+name, mostHead)); found != "" {
		return found
	}
	for row := range strings.Lines(linesIn(root, toolGit+"/packed-refs", mostPacked)) {
		if hash, ref, _ := strings.Cut(line(row), " "); ref == name {
			return asHash(hash)
		}
	}
	return ""
}

// passing are files of a git directory that name a commit while git, or its user, is in the middle of something.
var passing = []string{
	"ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "MERGE_AUTOSTASH", "rebase-merge/orig-head",
	"rebase-merge/onto", "rebase-merge/autostash", "rebase-apply/orig-head", "rebase-apply/onto", "rebase-apply/autostash",
}

// tips are the commits, each once, that the tool's repository names beside those that are known. More is how many are
// above mostTips. Branches come first, then stashes. The commits of a remote repository are there, not lost.
func tips(ctx context.Context, t *Tree, known []string) (found []Ref, more int) {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, 0
	}
	defer root.Close()
	l := refLook{dir: copier{ctx: ctx, root: root}, seen: map[string]bool{}}
	for _, k := range known {
		l.seen[k] = true
	}
	var packed []Ref
	for row := range strings.Lines(linesIn(root, toolGit+"/packed-refs", mostPacked)) {
		hash, name, _ := strings.Cut(line(row), " ")
		packed = append(packed, Ref{name, asHash(hash)})
	}
	for _, folder := range []string{"refs/heads", "refs/stash", "refs/tags", "refs"} {
		l.folder(folder)
		for _, r := range packed {
			if strings.HasPrefix(r.Name, folder) {
				l.add(r.Name, r.Commit)
			}
		}
		if folder == stashRef {
			l.stashes()
		}
	}
	for _, name := range passing {
		l.add(name, asHash(linesIn(root, toolGit+"/"+name, mostHead)))
	}
	return l.found, l.more
}

// refLook is a look at a tool's refs.
type refLook struct {
	dir   copier
	seen  map[string]bool
	found []Ref
	more  int
	files int // and folders
}

func (l *refLook) add(name, hash string) {
	if hash == "" || l.seen[hash] || strings.HasPrefix(name, "refs/remotes/") {
		return
	}
	l.seen[hash] = true
	if len(l.found) == mostTips {
		l.more++
		return
	}
	l.found = append(l.found, Ref{role.Clean(name[:min(len(name), mostName)]), hash})
}

// folder adds the ref of this name, or all below it.
func (l *refLook) folder(name string) {
	if l.files++; l.files > mostLooks {
		return
	}
	entries := l.dir.list(toolGit + "/" + name)
	if entries == nil {
		l.add(name, asHash(linesIn(l.dir.root, toolGit+"/"+name, mostHead)))
		return
	}
	slices.SortFunc(entries, func(x, y os.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	for _, e := range entries {
		if in := path.Join(name, e.Name()); in != "refs/remotes" {
			l.folder(in)
		}
	}
}

const stashRef = "refs/stash"

// stashes adds the older stashes: the log of the ref has them.
func (l *refLook) stashes() {
	rows := strings.Split(linesIn(l.dir.root, toolGit+"/logs/"+stashRef, mostPacked), "\n")
	for i, row := range slices.Backward(rows) {
		if fields := strings.SplitN(row, " ", 3); len(fields) == 3 {
			l.add(fmt.Sprintf("%s@{%d}", stashRef, len(rows)-1-i), asHash(fields[1]))
		}
	}
}

// Committed says whether HEAD of the tool's repository is at a commit that the store does
// not have: one that the tool made, and that nobody took.
func (t *Tree) Committed(ctx context.Context) (bool, error) {
	tip := t.tip()
	if tip == "" {
		return false, nil
	}
	_, err := t.store.git(ctx, "cat-file", "-e", tip+"^{commit}")
	if exitCode(err) > 0 {
		return true, nil
	}
	return false, err
}

var wholeHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

func asHash(text string) string {
	if wholeHash().MatchString(text) {
		return text
	}
	return ""
}

// readIn reads a regular file that a tool may have made. Of a larger one it is the beginning, and not whole; nil: it cannot be read.
func readIn(root *os.Root, name string, most int64) (text []byte, whole bool) {
	f, err := repofile.Open(root, name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, false
	}
	whole = int64(len(text)) <= most
	return text[:min(int64(len(text)), most)], whole
}

// linesIn are the lines of such a file, without one that is cut off; empty: there is none.
func linesIn(root *os.Root, name string, most int64) string {
	text, whole := readIn(root, name, most)
	if !whole {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	return strings.TrimRight(string(text), "\n")
}

// besides takes the commits that the tool's repository names and nothing known reaches, and returns them with their
// names. A commit that cannot be taken is left out, with the reason.
func (k *keeping) besides(ctx context.Context) (beside []Ref, err error) {
	known := slices.Concat(k.parents, k.changes.Known)
	found, more := tips(ctx, k.tree, known)
	if len(found) == 0 {
		return nil, nil
	}
	shelf, err := os.MkdirTemp(k.tree.store.Dir, "taking-")
	if err != nil {
		return nil, fmt.Errorf("keep the tool's refs: %w", role.Cause(err))
	}
	defer func() { _ = os.RemoveAll(shelf) }() // else the next start of the role does it
	taken := slices.Clone(known)
	copied := copyObjects(ctx, k.tree.Offer("", nil), shelf, k.changes.size())
	for _, r := range found {
		took, why, reached := "", copied, known
		if !strings.HasPrefix(r.Name, "refs/") { // of a rebase, say: the branch has it
			reached = taken
		}
		if why == nil {
			took, why = k.takeRef(ctx, r, reached, shelf)
		}
		switch {
		case why != nil && fatal(ctx, why):
			return nil, fmt.Errorf("keep the tool's refs: %w", why)
		case why != nil:
			k.leaveRef(r, why)
		case took != "":
			beside, taken = append(beside, Ref{r.Name, took}), append(taken, took)
		}
	}
	if more > 0 {
		k.leave("%d more refs", more)
	}
	return beside, nil
}

// takeRef brings the commit of a ref into the store, and returns it; empty: a known one reaches it.
func (k *keeping) takeRef(ctx context.Context, r Ref, known []string, shelf string) (string, error) {
	s, env := k.tree.store, []string{Borrowed(shelf)}
	out, err := s.run(ctx, command{args: []string{"rev-parse", "--verify", "-q", r.Commit + "^{commit}"}, env: env})
	if exitCode(err) == 1 {
		return "", fmt.Errorf("%w: it is no commit that is there", ErrNoCommit)
	}
	if err != nil {
		return "", refusal(err)
	}
	commit := line(out)
	out, err = s.run(ctx, command{args: []string{"rev-list", "--max-count=1", "--stdin"}, env: env, stdin: reach(commit, known)})
	if err != nil || out == "" {
		return "", refusal(err)
	}
	if err := without(ctx, s, commit, known, k.changes.Own, env); err != nil {
		return "", err
	}
	offer := k.tree.Offer(commit, known)
	if commit, err = inPointers(ctx, s, offer, shelf, commit, k.changes.size()); err != nil {
		return "", err
	}
	pack, err := s.receive(ctx, commit, known, env, k.changes.size())
	if pack != "" {
		k.packs = append(k.packs, pack)
	}
	return commit, settled(err, s.Dir, s.Objects())
}

// fatal says whether an error is none of the tool's commit: all has to be tried again.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ErrNoGit) || IsTrouble(err)
}

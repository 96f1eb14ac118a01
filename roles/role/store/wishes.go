package store

// This file reads from a tool's own repository what it wants of its tree's files, beside what they are:
// ignored files that it has staged all the same, with git add --force, and submodules that it has taken out.

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// wishes is what a tool's own repository says of the files of its tree.
type wishes struct {
	staged   []string // ignored files, to be counted as others are
	replaced []string // submodules that are no more: what is in their place are files of the tree
}

// wishesOf reads them. The tool's index has none where it is of another version than git writes by itself, or cannot be read.
func wishesOf(ctx context.Context, t *Tree, c Changes) (w wishes, err error) {
	format, err := t.store.written()
	if err != nil {
		return w, err
	}
	has, err := t.entries()
	if err != nil {
		return w, nil //nolint:nilerr // git tells what is wrong with the trusted index, as it needs it
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return w, nil //nolint:nilerr // there is no tree
	}
	defer root.Close()
	index, whole := readIn(root, toolGit+"/index", mostIndex)
	if !whole {
		index = nil
	}
	hash := hashSizes[format]
	if w.staged, err = staged(ctx, t, c, has, index, hash); err != nil || len(has.modules) == 0 {
		return w, err
	}
	gone := map[string]bool{}
	if index != nil && t.tip() == c.Start { // it is the repository that the tool was given
		links := map[string]bool{}
		err := eachEntry(index, hash, func(e entry) { links[e.name] = e.mode>>12 == 0xe })
		for p := range has.modules {
			gone[p] = err == nil && !links[p]
		}
	}
	before, err := modulePaths(ctx, t.store, "--blob", c.Start+":"+modulesFile, "")
	if err != nil {
		return w, err
	}
	now := before
	if names, whole := readIn(root, "tree/"+modulesFile, mostAttributes); whole || names == nil { // else nothing is known
		if now, err = modulePaths(ctx, t.store, "--file", "-", string(names)); err != nil {
			return w, err
		}
	}
	for _, p := range slices.Sorted(maps.Keys(has.modules)) {
		if gone[p] || before[p] && !now[p] {
			w.replaced = append(w.replaced, p)
		}
	}
	return w, nil
}

// modulesFile names the submodules of a tree.
const modulesFile = ".gitmodules"

// modulePaths are the paths of the submodules that a file names; none where git cannot read it.
func modulePaths(ctx context.Context, s *Store, option, from, text string) (map[string]bool, error) {
	out, err := s.run(ctx, command{args: []string{"config", option, from, "-z", "--get-regexp", `^submodule\..*\.path$`}, stdin: text})
	if ctx.Err() != nil {
		return nil, err
	}
	all := map[string]bool{}
	for pair := range strings.SplitSeq(out, "\x00") {
		if _, p, ok := strings.Cut(pair, "\n"); ok {
			all[p] = true
		}
	}
	return all, nil //nolint:nilerr // git's exit code is 1 where it names none
}

// staged are the ignored files that the tool's own index has and the trusted one lacks.
func staged(ctx context.Context, t *Tree, c Changes, has *entries, index []byte, hash int) ([]string, error) {
	if index == nil {
		return nil, nil
	}
	var names []string
	others := slices.AppendSeq(slices.Clone(c.Own), maps.Keys(has.modules)) // git looks into no submodule
	_ = eachEntry(index, hash, func(e entry) {
		if _, known := has.files[e.name]; known || e.hidden || has.hidden[e.name] || e.mode>>12 == 0xe || !filepath.IsLocal(e.name) || linked(t.Dir(), e.name) ||
			slices.ContainsFunc(others, func(p string) bool { return e.name == p || strings.HasPrefix(e.name, p+"/") }) {
			return
		}
		if info, err := os.Lstat(filepath.Join(t.Dir(), filepath.FromSlash(e.name))); err == nil && !info.IsDir() {
			names = append(names, e.name)
		}
	})
	if len(names) == 0 {
		return nil, nil
	}
	ask := commandOn(t, []string{"GIT_LITERAL_PATHSPECS=0"}, "check-ignore", "--stdin", "-z")
	ask.stdin = here + strings.Join(names, "\x00"+here) + "\x00"
	out, err := t.store.run(ctx, ask)
	if exitCode(err) == 1 { // none is ignored
		return nil, nil
	}
	if err != nil || out == "" {
		return nil, err
	}
	names = names[:0]
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		names = append(names, strings.TrimPrefix(name, here))
	}
	return names, nil
}

// here keeps git from taking a name that begins with a colon for more than a name.
const here = "./"

// mostIndex bounds the tool's own index, in bytes: some 4 million files.
const mostIndex = 512 << 20

// tell has an index say so, to which the commands go.
func (w wishes) tell(ctx context.Context, s *Store, on func(args ...string) command) error {
	for _, do := range []struct {
		names []string
		args  []string
	}{
		{w.replaced, []string{"update-index", "-z", "--force-remove", "--stdin"}},
		{w.staged, []string{"add", "--force", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"}},
	} {
		if len(do.names) == 0 {
			continue
		}
		c := on(do.args...)
		c.stdin = strings.Join(do.names, "\x00") + "\x00"
		if _, err := s.run(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

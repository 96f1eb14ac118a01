package store

// This file finds the ignored files that a tool has staged all the same, with git add --force.

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/runtime/repofile"
)

// staged are the ignored files that the tool's own index has and the trusted one lacks. An index of
// another version than git writes by itself has none, and nor has one that cannot be read.
func staged(ctx context.Context, t *Tree, c Changes) ([]string, error) {
	format, err := t.store.written()
	if err != nil {
		return nil, err
	}
	text := readStaged(t)
	has, err := t.entries()
	if err != nil || text == nil {
		return nil, nil //nolint:nilerr // git tells what is wrong with the trusted index, as it needs it
	}
	var names []string
	_ = eachEntry(text, hashSizes[format], func(e entry) {
		if _, known := has.files[e.name]; known || e.hidden || has.hidden[e.name] || e.mode>>12 == 0xe || !filepath.IsLocal(e.name) || linked(t.Dir(), e.name) || slices.ContainsFunc(c.Own, func(own string) bool { return e.name == own || strings.HasPrefix(e.name, own+"/") }) {
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

// readStaged reads the tool's own index; nil: it cannot be read.
func readStaged(t *Tree) []byte {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	f, err := repofile.Open(root, toolGit+"/index")
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostIndex))
	if err != nil {
		return nil
	}
	return text
}

// mostIndex bounds the tool's own index, in bytes: some 4 million files.
const mostIndex = 512 << 20

// force has the trusted index name ignored files, so that git counts their changes as it does those of others.
func force(ctx context.Context, t *Tree, names []string) error {
	if len(names) == 0 {
		return nil
	}
	unlockIndex(t)
	c := commandOn(t, nil, "add", "--force", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
	c.stdin = strings.Join(names, "\x00") + "\x00"
	_, err := t.store.run(ctx, c)
	return err
}

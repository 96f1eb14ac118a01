package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The marks by which a person has git overlook the changes of a file, as git update-index names them.
const (
	SkipWorktree    = "skip-worktree"
	AssumeUnchanged = "assume-unchanged"
)

// Overlooked returns the files with a mark that a change from one commit (empty: none) to another touches and that are
// not as the index has them, by mark. git status does not tell of them, and git does not overwrite them.
func Overlooked(ctx context.Context, g Repository, tree, from, to string) (map[string][]string, error) {
	if from == "" {
		return nil, nil // all files that are staged are in the way
	}
	g = g.at(tree)
	files, err := changesOf(ctx, g, from, to)
	if err != nil {
		return nil, err
	}
	out, err := g.Run(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return nil, err
	}
	marked := map[string][]string{}
	for _, e := range fields0(out) {
		if len(e) < 3 || files[e[2:]].path == "" {
			continue
		}
		if _, err := os.Lstat(filepath.Join(tree, filepath.FromSlash(e[2:]))); err != nil {
			continue // as outside a sparse checkout
		}
		if e[0] == 'S' || e[0] == 's' {
			marked[SkipWorktree] = append(marked[SkipWorktree], e[2:])
		}
		if e[0] >= 'a' && e[0] <= 'z' {
			marked[AssumeUnchanged] = append(marked[AssumeUnchanged], e[2:])
		}
	}
	if len(marked) == 0 {
		return nil, nil
	}
	changed, err := unmarked(ctx, g, marked)
	for mark, files := range marked {
		marked[mark] = slices.DeleteFunc(files, func(f string) bool { return !slices.Contains(changed, f) })
	}
	return marked, err
}

// unmarked returns the files that differ from the index by a copy of it without their marks.
func unmarked(ctx context.Context, g Repository, marked map[string][]string) (changed []string, err error) {
	at, err := directoriesOf(ctx, g)
	if err != nil {
		return nil, err
	}
	index, err := os.ReadFile(filepath.Join(at.own, "index"))
	if err != nil {
		return nil, err
	}
	temporary, err := os.MkdirTemp("", "sett-index-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	file := filepath.Join(temporary, "index")
	if err := os.WriteFile(file, index, 0o600); err != nil {
		return nil, err
	}
	g.Environ = append(slices.Clone(g.Environ), "GIT_INDEX_FILE="+file, "GIT_LITERAL_PATHSPECS=1")
	for _, mark := range []string{SkipWorktree, AssumeUnchanged} {
		if files := marked[mark]; len(files) > 0 {
			if _, err := g.Feed(ctx, strings.Join(files, "\x00")+"\x00", "update-index", "--no-"+mark, "-z", "--stdin"); err != nil {
				return nil, err
			}
		}
	}
	_, _, _ = g.exec(ctx, "", []string{"update-index", "-q", "--refresh"}) // its exit code says that files are changed
	out, err := g.Run(ctx, "diff-files", "--name-only", "-z", "--ignore-submodules=dirty")
	return fields0(out), err
}

// Intended returns the files of a working tree that git add --intent-to-add has put into its index, without content.
func Intended(ctx context.Context, g Repository, tree string) ([]string, error) {
	out, err := g.at(tree).Run(ctx, "diff-files", "--name-only", "--diff-filter=A", "-z", "--")
	return fields0(out), err
}

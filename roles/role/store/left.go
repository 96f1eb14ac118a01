package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Left are the traces of a tool in its tree.
type Left struct {
	Commits []string // that HEAD has and the start has not, oldest first: hash and subject
	Files   []string // that are not as HEAD has them, without ignored ones
}

// Look finds the traces of a tool in its tree. As everywhere, nothing of the tool's configuration
// is read, and nothing is waited for; unlike after Keep, all of it is there again
// afterwards. Nothing works in the tree meanwhile. The ref then holds the tool's commits.
func (t *Tree) Look(ctx context.Context, start, ref string) (left Left, err error) {
	head := start
	if tip := t.tip(); tip != "" && tip != start {
		offer := t.Offer(tip, []string{start})
		offer.Any = true
		if head, err = t.store.Take(ctx, offer, ref); err != nil {
			return left, fmt.Errorf("look at the tree: %w", err)
		}
		out, err := t.store.git(ctx, "log", "--reverse", "--no-show-signature", "--format=%h %s", head, "^"+start)
		if err != nil {
			return left, fmt.Errorf("look at the tree: %w", err)
		}
		left.Commits = strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })
	}
	aside, err := os.MkdirTemp(t.dir, "aside-")
	if err != nil {
		return left, fmt.Errorf("look at the tree: %w", err)
	}
	defer func() { _ = os.RemoveAll(aside) }()
	moved := map[string]string{}
	defer func() {
		for path, to := range moved {
			_ = os.Rename(to, path)
		}
	}()
	_, err = t.disarm(disarming{readable: true, remove: func(path string) error {
		to := filepath.Join(aside, fmt.Sprint(len(moved)))
		if err := os.Rename(path, to); err != nil {
			return err
		}
		moved[path] = to
		return nil
	}})
	if err == nil {
		left.Files, err = t.changed(ctx, head, filepath.Join(aside, "index"))
	}
	if err != nil {
		return left, fmt.Errorf("look at the tree: %w", err)
	}
	return left, nil
}

// changed names the files that are not as a commit has them, by an index of its own.
func (t *Tree) changed(ctx context.Context, commit, index string) ([]string, error) {
	env := []string{"GIT_WORK_TREE=" + t.Dir(), "GIT_INDEX_FILE=" + index}
	if contentMark(t.store) != "" { // the index knows which files have their content
		if err := copyFile(t.index(), index); err != nil {
			return nil, err
		}
	}
	if _, err := t.store.run(ctx, command{args: []string{"read-tree", "--reset", commit}, dir: t.Dir(), env: env}); err != nil {
		return nil, err
	}
	out, err := t.store.run(ctx, command{dir: t.Dir(), env: env,
		args: []string{"ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"}})
	if out == "" || err != nil {
		return nil, err
	}
	files := slices.Compact(slices.Sorted(slices.Values(strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"))))
	return withoutContent(ctx, t, commit, files)
}

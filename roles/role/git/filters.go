package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/roles/role"
)

// Filtered returns those of the files of a working tree that go through one of the filters once
// the tree is at a commit, by the filter's name: the commit's own attributes count.
func (g Repository) Filtered(ctx context.Context, tree, commit string, filters, files []string) (map[string][]string, error) {
	if len(filters) == 0 || len(files) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "sett-index-")
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("read the attributes of a commit: %w", err), "")
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w := g.at(tree)
	w.Environ = append(slices.Clip(w.Environ), "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	if _, err := w.Run(ctx, "read-tree", commit); err != nil {
		return nil, err
	}
	out, err := w.Feed(ctx, strings.Join(files, "\x00")+"\x00", "check-attr", "--cached", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	used := map[string][]string{}
	fields := strings.Split(out, "\x00")
	for i := 2; i < len(fields); i += 3 {
		if slices.Contains(filters, fields[i]) {
			used[fields[i]] = append(used[fields[i]], fields[i-2])
		}
	}
	return used, nil
}

// Unread returns those of the files, which differ from a working tree's index, that may be as committed
// nevertheless, and their filters: git knows them by other times, and reads them through a filter that is not run here.
func Unread(ctx context.Context, g Repository, tree, commit string, filters, files []string) (unread, used []string, err error) {
	by, err := g.Filtered(ctx, tree, commit, filters, files)
	if err != nil || len(by) == 0 {
		return nil, nil, err
	}
	out, err := g.at(tree).Run(ctx, "diff-files", "--name-only", "-z", "--no-renames", "--diff-filter=M", "--")
	if err != nil {
		return nil, nil, err
	}
	changed := map[string]bool{}
	for _, file := range fields0(out) {
		changed[file] = true
	}
	for name, files := range by {
		before := len(unread)
		for _, file := range files {
			if changed[file] {
				unread = append(unread, file)
			}
		}
		if len(unread) > before {
			used = append(used, name)
		}
	}
	if unread, err = like(ctx, g.at(tree), unread, commit); err != nil { // else staged, and not committed
		return nil, nil, err
	}
	slices.Sort(unread)
	slices.Sort(used)
	return unread, used, nil
}

// Distrust has git read files of a working tree again before it takes them to be as the index has them. A file that was
// written without its filter shows as changed then, and git checkout writes it: otherwise both depend on
// the second in which the index was written.
func Distrust(ctx context.Context, g Repository, tree string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	g = g.at(tree)
	g.Environ = append(slices.Clip(g.Environ), "GIT_LITERAL_PATHSPECS=1")
	for some := range slices.Chunk(files, 200) {
		entries, err := g.Run(ctx, append([]string{"ls-files", "--stage", "-z", "--"}, some...)...)
		if err != nil || entries == "" {
			return err
		}
		if _, err := g.Feed(ctx, entries, "update-index", "-z", "--index-info"); err != nil { // without a stat of the file
			return err
		}
	}
	return nil
}

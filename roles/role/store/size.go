package store

// This file bounds the changes of a tool that are stored.

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/roles/role"
	"sett/roles/role/words"
)

// changedFile is a file of a tree that is not as the tree's start has it.
type changedFile struct {
	name string
	size int64
}

// changedFiles are the changed files of a tree, without ignored ones.
func changedFiles(ctx context.Context, t *Tree, c Changes) ([]changedFile, error) {
	out, err := listChanged(ctx, t, c, nil)
	if err != nil {
		return nil, err
	}
	var all []changedFile
	names := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for _, name := range names {
		all = append(all, changedFile{name, sizeIn(t, name)})
	}
	return all, track(t, names)
}

// listChanged are the names of the files that differ from an index, each with a zero behind it, without ignored ones. The
// index is the trusted one, unless the environment names another.
func listChanged(ctx context.Context, t *Tree, c Changes, env []string) (string, error) {
	more, specs := c.beside(t.Dir())
	return t.git(ctx, slices.Concat(env, more), append([]string{"ls-files", "-z", "--others", "--modified", "--exclude-standard"}, specs...)...)
}

// sizeIn is the size of a regular file of a tree in bytes, and 0 of anything else.
func sizeIn(t *Tree, name string) int64 {
	info, err := os.Lstat(filepath.Join(t.Dir(), filepath.FromSlash(name)))
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// bounded refuses changes that are too large to be committed.
func (c Changes) bounded(changed []changedFile) error {
	large, err := tooLarge(changed, c)
	if err == nil && len(large) > 0 {
		err = fmt.Errorf("%w: %s", ErrTooLarge, c.toldLarge(large))
	}
	return err
}

// Bounds of the files that git is told to leave out: it compares each path with each of them, on its command line.
const (
	mostLarge      = 1000
	mostLargeNames = 64 << 10 // bytes
)

// tooLarge are the largest of the changed files, the largest first, without which the others fit.
func tooLarge(changed []changedFile, c Changes) (large []changedFile, err error) {
	sum, names := int64(0), 0
	for _, f := range changed {
		sum += f.size
	}
	if sum <= c.size() {
		return nil, nil
	}
	rest := slices.Clone(changed)
	slices.SortStableFunc(rest, func(x, y changedFile) int { return cmp.Compare(y.size, x.size) })
	for sum > c.size() {
		large, sum = append(large, rest[0]), sum-rest[0].size
		names += len(rest[0].name)
		rest = rest[1:]
		if len(large) > mostLarge || names > mostLargeNames {
			return nil, fmt.Errorf("%w: %d files, the largest of them %s", ErrTooLarge, len(changed), c.toldLarge(large[:1]))
		}
	}
	return large, nil
}

// toldLarge names large files, and the bound above which they are.
func (c Changes) toldLarge(large []changedFile) string {
	const most = 5
	var told []string
	for _, f := range large[:min(len(large), most)] {
		told = append(told, fmt.Sprintf("%s (%s)", role.Clean(f.name), words.Size(int(f.size))))
	}
	text := strings.Join(told, ", ")
	if more := len(large) - most; more > 0 {
		text += " and " + words.Count(more, "more file")
	}
	return fmt.Sprintf("%s: the changes are above %s", text, c.bound())
}

// bound is the name of Size, with its value.
func (c Changes) bound() string {
	return fmt.Sprintf("%s (%s)", cmp.Or(c.Bound, "workspace.max_size"), words.Size(int(c.size())))
}

// leaveFiles says that files are too large to keep, and returns their paths.
func (k *keeping) leaveFiles(large []changedFile) (paths []string) {
	if len(large) > 0 {
		k.leave("%s", k.changes.toldLarge(large))
	}
	for _, f := range large {
		paths = append(paths, f.name)
	}
	return paths
}

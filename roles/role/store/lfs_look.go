package store

// This file knows files of git LFS in a look at a tree.

import (
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"sett/roles/role/lfs"
	"sett/runtime/repofile"
)

// pointersOf are the pointers that a commit has at these paths.
func pointersOf(ctx context.Context, s *Store, commit string, files []string) (map[string]lfs.Pointer, error) {
	out, err := s.git(ctx, "ls-tree", "-r", "-l", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for _, name := range files {
		asked[name] = true
	}
	small := map[string]string{} // by path: the hash
	for row := range strings.SplitSeq(out, "\x00") {
		head, name, _ := strings.Cut(row, "\t")
		fields := strings.Fields(head)
		if len(fields) != 4 || !asked[name] || !strings.HasPrefix(fields[0], "100") {
			continue
		}
		if size, err := strconv.ParseInt(fields[3], 10, 64); err == nil && size > 0 && size <= lfs.MostText {
			small[name] = fields[2]
		}
	}
	texts, err := textsOf(ctx, s, command{}, slices.Compact(slices.Sorted(maps.Values(small))))
	all := map[string]lfs.Pointer{}
	for name, hash := range small {
		if p, ok := lfs.Parse(texts[hash]); ok {
			all[name] = p
		}
	}
	return all, err
}

// withoutContent returns the files of a tree without those that are the content of the pointer that a commit has.
func withoutContent(ctx context.Context, t *Tree, commit string, files []string) ([]string, error) {
	if contentMark(t.store) == "" || len(files) == 0 {
		return files, nil
	}
	pointers, err := pointersOf(ctx, t.store, commit, files)
	if err != nil || len(pointers) == 0 {
		return files, err
	}
	root, err := os.OpenRoot(t.Dir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return slices.DeleteFunc(files, func(name string) bool {
		p, is := pointers[name]
		if !is {
			return false
		}
		f, err := repofile.Open(root, name)
		if err != nil {
			return false
		}
		defer f.Close()
		return lfs.Copy(ctx, io.Discard, f, p) == nil
	}), nil
}

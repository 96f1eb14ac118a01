package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of the files of a store, above which Maintain joins them: git looks into every
// pack, and each commit taken brings one.
const (
	mostPacks = 50
	mostRefs  = 1000 // files, in one folder
)

// Maintain joins the packs and the ref files of a store that has many. Nothing is pruned,
// and others may use the store meanwhile.
func (s *Store) Maintain(ctx context.Context) error {
	packs, err := count(filepath.Join(s.Objects(), "pack"), ".pack")
	if err != nil {
		return err
	}
	if packs > mostPacks {
		if err := s.join(ctx); err != nil {
			return err
		}
	}
	refs, err := count(filepath.Join(s.Dir, filepath.FromSlash(artefactRefs)), "")
	if err != nil || refs <= mostRefs {
		return err
	}
	_, err = s.git(ctx, "pack-refs", "--all")
	return err
}

// join makes a few packs of many, so that each object is written again only a few times
// over the years. Git before 2.32 writes all of them anew.
func (s *Store) join(ctx context.Context) error {
	_, err := s.git(ctx, "repack", "-d", "-q", "--geometric=2")
	if exitCode(err) == usageExit {
		_, err = s.git(ctx, "repack", "-A", "-d", "-q")
	}
	return err
}

// usageExit is git's exit code for options that it does not know.
const usageExit = 129

// count counts the files of a directory with that ending.
func count(dir, ending string) (n int, err error) {
	entries, err := os.ReadDir(dir)
	if gone(err) {
		return 0, nil
	}
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ending) {
			n++
		}
	}
	return n, err
}

package store

// This file has the content of git LFS go with commits, from repository to repository.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sett/roles/role/lfs"
)

// SendContent brings the content of the pointers that a commit has, and the commits which the user's repository
// names have not, into that repository with this git directory. It returns paths of those that the store lacks, too.
func SendContent(ctx context.Context, s *Store, commit, gitDir string) (lacking []string, err error) {
	places, err := contents(s)
	if err != nil || places == nil {
		return nil, err
	}
	user := OpenUser(gitDir)
	named, err := user.named(ctx)
	if err != nil {
		return nil, err
	}
	ends, err := s.Ends(user.store.Objects())
	if err != nil {
		return nil, err
	}
	found, err := blobsOf(ctx, s, command{stdin: reach(commit, named), env: append(slices.Clone(ends), Borrowed(user.store.Objects()))}, false)
	if err != nil {
		return nil, err
	}
	to, brought := Content(user.store.Objects()), false
	for _, p := range found.pointers {
		if to.Has(p.Pointer) {
			continue
		}
		if from := holder(places, p.Pointer); from == "" {
			lacking = append(lacking, p.path)
		} else if err := to.Bring(ctx, from, p.Pointer); err != nil {
			return nil, fmt.Errorf("bring the content of %s into %s: %w", p.path, to, err)
		} else {
			brought = true
		}
	}
	if brought {
		if err := ownContent(user.store); err != nil {
			return nil, err
		}
	}
	return sorted(lacking), nil
}

// fetchContent brings content that a branch has got since a commit.
func (x Lander) fetchContent(ctx context.Context, tip, since string) error {
	if contentMark(x.Store) == "" {
		return nil
	}
	found, err := blobsOf(ctx, x.Store, command{stdin: reach(tip, []string{since})}, false)
	if err != nil {
		return err
	}
	var all []lfs.Pointer
	for _, p := range found.pointers {
		all = append(all, p.Pointer)
	}
	return FetchContent(ctx, x.Store, Content(x.User.store.Objects()), all)
}

// holder is the first directory that has a content; empty: none has.
func holder(places []lfs.Objects, p lfs.Pointer) lfs.Objects {
	for _, o := range places {
		if o.Has(p) {
			return o
		}
	}
	return ""
}

// FillContent brings the content of git LFS that the files of commits have, as far as a directory has it. It returns
// paths of those of which the store lacks it then.
func FillContent(ctx context.Context, s *Store, refs []string, from lfs.Objects) (lacking []string, err error) {
	found, err := heldPointers(ctx, s, refs)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var all []lfs.Pointer
	for _, p := range found {
		all = append(all, p.Pointer)
	}
	if err := FetchContent(ctx, s, from, all); err != nil {
		return nil, err
	}
	own := Content(s.Objects())
	for _, p := range found {
		if !own.Has(p.Pointer) {
			lacking = append(lacking, p.path)
		}
	}
	return sorted(lacking), nil
}

// LFSFiles returns paths of the pointers of git LFS in the files of commits.
func LFSFiles(ctx context.Context, s *Store, refs []string) (paths []string, err error) {
	if contentMark(s) == "" {
		return nil, nil
	}
	found, err := heldPointers(ctx, s, refs)
	for _, p := range found {
		paths = append(paths, p.path)
	}
	return sorted(paths), err
}

func sorted(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

// heldPointers are the pointers in the files of commits, without their history.
func heldPointers(ctx context.Context, s *Store, refs []string) (map[string]pointerBlob, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	found, err := blobsOf(ctx, s, command{args: []string{"--no-walk"}, stdin: strings.Join(refs, "\n") + "\n"}, false)
	return found.pointers, err
}

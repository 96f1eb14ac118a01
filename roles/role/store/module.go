package store

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/roles/role"
)

// moduleRefs are the refs of commits of submodules, by the commit: a tree of any goal may have it.
const moduleRefs = "refs/sett/modules/"

// moduleMark is a file of a store that has such commits.
const moduleMark = "sett-modules"

// FetchModule brings a submodule's commit with everything that it reaches into the store. The
// commit is of a trusted repository with this directory of objects. One of another hash algorithm is left out.
func FetchModule(ctx context.Context, s *Store, objects, commit string) error {
	ref := moduleRefs + commit
	if held, err := s.Commit(ctx, ref); err != nil || held != "" {
		return err
	}
	if format, err := s.written(); err != nil || (format == "sha256") != (len(commit) == 64) {
		return err
	}
	packs, err := fetchAll(ctx, s, objects, commit, "")
	if err != nil {
		return fmt.Errorf("bring a submodule's commit %.10s: %w", commit, err)
	}
	if err := WriteWhole(filepath.Join(s.Dir, "info", moduleMark), ""); err != nil {
		return err
	}
	if err := s.Hold(ctx, ref, commit); err != nil {
		return err
	}
	for _, pack := range packs {
		s.release(pack)
	}
	return nil
}

// modular says whether a store has commits of submodules.
func modular(s *Store) bool {
	_, err := os.Stat(filepath.Join(s.Dir, "info", moduleMark))
	return err == nil
}

// withModules checks out the submodules of a tree that the store has the commits of. They have no repository
// of their own in the tree: to git they are folders that it does not look into. Others stay empty.
func withModules(ctx context.Context, t *Tree) error {
	if !modular(t.store) {
		return nil
	}
	has, err := t.entries()
	if err != nil || len(has.modules) == 0 {
		return err
	}
	return t.eachModule(ctx, has.modules, func(p, dir, commit string) error {
		index := filepath.Join(t.dir, "module-index")
		if err := RemoveAll(index); err != nil {
			return err
		}
		_, err := t.store.run(ctx, command{args: []string{"read-tree", "--reset", "-u", commit}, dir: dir,
			env: []string{"GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + index}})
		if err != nil {
			return fmt.Errorf("check out submodule %s: %w", p, err)
		}
		return nil
	})
}

// eachModule calls f with the path, the directory and the commit of each submodule whose commit the store has,
// as long as it is a directory of the tree.
func (t *Tree) eachModule(ctx context.Context, modules map[string]string, f func(path, dir, commit string) error) error {
	paths := slices.Sorted(maps.Keys(modules))
	refs := make([]string, len(paths))
	for i, p := range paths {
		refs[i] = moduleRefs + modules[p]
	}
	held, err := t.store.Commits(ctx, refs)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(t.Dir())
	if err != nil {
		return err
	}
	defer root.Close()
	for i, p := range paths {
		if info, err := root.Lstat(filepath.FromSlash(p)); held[i] == "" || err != nil || !info.IsDir() {
			continue
		}
		if err := f(p, filepath.Join(t.Dir(), filepath.FromSlash(p)), held[i]); err != nil {
			return err
		}
	}
	return nil
}

// ChangedModules returns the submodules of a tree in which the tool has changed something. None of it is
// in a commit of the tree's.
func ChangedModules(ctx context.Context, t *Tree) (changed []string, err error) {
	if !modular(t.store) {
		return nil, nil
	}
	has, err := t.entries()
	if err != nil || len(has.modules) == 0 {
		return nil, err
	}
	shelf, err := os.MkdirTemp(t.store.Dir, "taking-")
	if err != nil {
		return nil, fmt.Errorf("look for changes in submodules: %w", role.Cause(err))
	}
	defer func() { _ = os.RemoveAll(shelf) }() // else the next start of the role does it
	index := filepath.Join(shelf, "module-index")
	return changed, t.eachModule(ctx, has.modules, func(p, dir, commit string) error {
		git := func(args ...string) (string, error) {
			return t.store.run(ctx, command{args: args, dir: dir, env: []string{"GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + index}})
		}
		if _, err := git("read-tree", "--reset", commit); err != nil {
			return fmt.Errorf("look for changes in submodule %s: %w", p, err)
		}
		states, err := git("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal")
		if err != nil {
			return fmt.Errorf("look for changes in submodule %s: %w", p, err)
		}
		for s := range strings.SplitSeq(states, "\x00") { // its second letter is that of the files
			if len(s) > 1 && s[1] != ' ' {
				changed = append(changed, p)
				break
			}
		}
		return nil
	})
}

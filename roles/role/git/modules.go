package git

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/roles/role/lfs"
)

// Module is a submodule of a commit with its objects in the repository's own git directory.
type Module struct {
	Path    string
	Commit  string
	Objects string // the directory
}

// Modules returns the submodules of a commit that are at hand: git keeps them below its own directory, by
// the names that .gitmodules has.
func Modules(ctx context.Context, g Repository, commit string, p Pointers) []Module {
	if len(p.Submodules) == 0 {
		return nil
	}
	out, err := g.Run(ctx, "config", "--blob", commit+":.gitmodules", "--null", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil {
		return nil // it has none, or it cannot be read: none is at hand
	}
	own, _, err := g.Own(ctx)
	if err != nil {
		return nil
	}
	var all []Module
	for _, entry := range fields0(out) {
		key, path, _ := strings.Cut(entry, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		hash := p.commits[path]
		dir := filepath.Join(own, "modules", filepath.FromSlash(name))
		if hash == "" || name == "" || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "..") {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, "objects")); err != nil || !info.IsDir() {
			continue
		}
		module := Repository{dir, append([]string{"GIT_DIR=" + dir}, g.Environ...)}
		if _, err := module.Run(ctx, "cat-file", "-e", hash+"^{commit}"); err == nil {
			all = append(all, Module{path, hash, filepath.Join(dir, "objects")})
		}
	}
	return all
}

// SubmoduleCommit is the commit of a submodule, by its path.
func (p Pointers) SubmoduleCommit(path string) string { return p.commits[path] }

// Without returns the pointers without submodules and content of git LFS that are at hand.
func (p Pointers) Without(all []Module, content map[string]lfs.Pointer) Pointers {
	var left []string
	for _, path := range p.Submodules {
		found := false
		for _, m := range all {
			found = found || m.Path == path || m.Commit == p.commits[path] // the same, at two places
		}
		if !found {
			left = append(left, path)
		}
	}
	p.Submodules = left
	p.LFS = slices.DeleteFunc(slices.Clone(p.LFS), func(path string) bool {
		_, there := content[path]
		return there
	})
	return p
}

// Moved is how the submodules and folders of one commit differ from those of another.
type Moved struct {
	Modules []string // submodules that have another commit, or are new
	Gone    []string // submodules that are no more
	Folders []string // files in the place of which there are folders or submodules
}

// MovedModules returns the difference of two commits.
func MovedModules(ctx context.Context, g Repository, from, to string) (m Moved, err error) {
	changes, err := changesOf(ctx, g, from, to)
	if err != nil {
		return m, err
	}
	places := placesOf(changes)
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		c := changes[path]
		if c.now.mode == modeModule {
			m.Modules = append(m.Modules, path)
		}
		switch {
		case c.was.mode == modeModule:
			if c.now.mode != modeModule {
				m.Gone = append(m.Gone, path)
			}
		case !c.was.absent() && (c.now.mode == modeModule || places.above(path)):
			m.Folders = append(m.Folders, path)
		}
	}
	return m, nil
}

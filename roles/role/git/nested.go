package git

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// places are the files that a commit has and another lacks, or has otherwise, sorted.
type places []string

func placesOf(changes map[string]change) (all places) {
	for _, c := range changes {
		if !c.now.absent() {
			all = append(all, c.path)
		}
	}
	slices.Sort(all)
	return all
}

// above says whether a path would have to be a folder for one of them.
func (p places) above(folder string) bool {
	i, _ := slices.BinarySearch(p, folder+"/")
	return i < len(p) && strings.HasPrefix(p[i], folder+"/")
}

// below says whether one of them is where a path would have its folder.
func (p places) below(file string) bool {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, is := slices.BinarySearch(p, dir); is {
			return true
		}
	}
	return false
}

// modules are the submodules in the place of which there will be files.
func (p places) modules(changes map[string]change) (all []string) {
	for _, c := range changes {
		if c.was.mode == modeModule && c.now.mode != modeModule && (!c.now.absent() || p.above(c.path) || p.below(c.path)) {
			all = append(all, c.path)
		}
	}
	slices.Sort(all)
	return all
}

// inModules returns the submodules that are checked out, and of the others the files that are in the place of one. git
// looks into no submodule, and removes the folder of one for a file.
func (p places) inModules(tree string, modules []string) (found []string) {
	for _, m := range modules {
		switch dir := filepath.Join(tree, filepath.FromSlash(m)); {
		case !isFolder(dir): // git status tells
		case isRepository(dir):
			found = append(found, m+"/")
		case !p.above(m): // else only those count in the place of which there will be one
			found = append(found, filesIn(tree, dir)...)
		}
	}
	return found
}

func isFolder(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir()
}

func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// filesIn returns all files below a directory of a working tree, and the directories that cannot be read.
func filesIn(tree, dir string) (found []string) {
	_ = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if name, wrong := filepath.Rel(tree, at); wrong == nil && (err != nil || !e.IsDir()) {
			found = append(found, filepath.ToSlash(name))
		}
		return nil
	})
	return found
}

// withinOthers tells for paths of a working tree, which git does not see as untracked, why: they are in a folder with a
// repository of its own, which is returned; or in the folder of a submodule that is not checked out. Of the rest git
// has them in its index.
func withinOthers(tree string, paths, modules []string) (repositories, unseen []string) {
	for _, p := range paths {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if isRepository(filepath.Join(tree, filepath.FromSlash(dir))) {
				repositories = append(repositories, dir+"/")
				break
			}
			if _, is := slices.BinarySearch(modules, dir); is {
				unseen = append(unseen, p)
				break
			}
		}
	}
	return repositories, unseen
}

// withModules adds to written files the submodules in the place of which they are: the index cannot have both.
func withModules(written []change, modules []string, changes map[string]change) []change {
	for _, m := range modules {
		if slices.ContainsFunc(written, func(c change) bool { return strings.HasPrefix(c.path, m+"/") }) {
			written = append(written, changes[m])
		}
	}
	return written
}

// Linked returns those of the paths that are submodules in a commit and in the index of a working tree, and says of each
// whether .gitmodules names it, so that git submodule knows it.
func Linked(ctx context.Context, g Repository, tree, commit string, paths []string) (map[string]bool, error) {
	g = g.at(tree)
	g.Environ = append(slices.Clip(g.Environ), "GIT_LITERAL_PATHSPECS=1")
	linked := map[string]bool{}
	for some := range slices.Chunk(paths, 200) {
		staged, err := g.Run(ctx, append([]string{"ls-files", "--stage", "-z", "--"}, some...)...)
		if err != nil {
			return nil, err
		}
		committed, err := g.Run(ctx, append([]string{"ls-tree", "-z", "--full-tree", commit, "--"}, some...)...)
		if err != nil {
			return nil, err
		}
		modules := modulesOf(committed)
		for _, at := range modulesOf(staged) {
			if slices.Contains(some, at) && slices.Contains(modules, at) {
				linked[at] = false
			}
		}
	}
	if len(linked) == 0 {
		return nil, nil
	}
	names, _ := g.Run(ctx, "config", "--file", filepath.Join(tree, ".gitmodules"), "--null", "--get-regexp", `^submodule\..*\.path$`) // it fails where there is none
	for _, e := range fields0(names) {
		_, at, _ := strings.Cut(e, "\n")
		if _, is := linked[at]; is {
			linked[at] = true
		}
	}
	return linked, nil
}

// modulesOf returns the submodules of a list of files by git, each with its mode.
func modulesOf(list string) (all []string) {
	for _, e := range fields0(list) {
		if head, at, _ := strings.Cut(e, "\t"); strings.HasPrefix(head, modeModule) {
			all = append(all, at)
		}
	}
	return all
}

package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// InTheWay returns the files of a working tree that a change from one commit (empty:
// none) to another would overwrite or remove, though they are not committed. Ignored
// files count. Those that are as the other commit has them do not, staged or in the working tree: a landing that was
// killed leaves them so. A folder with a repository of its own, such as a submodule that is checked out, is
// one name, with a slash at its end.
func (g Repository) InTheWay(ctx context.Context, tree, from, to string) ([]string, error) {
	w, err := inTheWay(ctx, g.at(tree), tree, from, to)
	return w.found, err
}

// inWay is a look at the files that are in the way.
type inWay struct {
	found   []string
	silent  []string // those of them that git would remove without a word
	written []change // not in the way: not staged, and as the other commit has them
}

// Unmerged returns the files of a working tree whose index has a conflict that nobody has settled.
func Unmerged(ctx context.Context, g Repository, tree string) ([]string, error) {
	out, err := g.at(tree).Run(ctx, "ls-files", "--unmerged", "-z")
	var files []string
	for _, e := range fields0(out) {
		if _, file, ok := strings.Cut(e, "\t"); ok {
			files = append(files, file)
		}
	}
	return slices.Compact(files), err
}

// inTheWay is InTheWay with all that it sees.
func inTheWay(ctx context.Context, g Repository, tree, from, to string) (w inWay, err error) {
	if from == "" {
		out, err := g.Run(ctx, "ls-files", "-z") // staged, on a branch without a commit
		if all := fields0(out); err != nil || len(all) > 0 {
			return inWay{found: all}, err
		}
		if from, err = g.EmptyTree(ctx); err != nil {
			return w, err
		}
	}
	changes, err := changesOf(ctx, g, from, to)
	if err != nil {
		return w, err
	}
	out, err := g.Run(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		return w, err
	}
	places := placesOf(changes)
	known, staged, loose := w.changed(fields0(out), changes, places)
	if staged, err = unlike(ctx, g, staged, to); err != nil {
		return w, err
	}
	modules := places.modules(changes)
	w.silent = append(w.silent, places.inModules(tree, modules)...)
	var added []string
	for _, c := range changes {
		if c.was.absent() {
			added = append(added, c.path)
		}
	}
	slices.Sort(added)
	taken := occupied(tree, added)
	more, err := g.untracked(ctx, taken)
	if err != nil {
		return w, err
	}
	for _, file := range more {
		known[file] = true
	}
	taken = slices.DeleteFunc(taken, func(file string) bool { return known[file] })
	own, unseen := withinOthers(tree, taken, modules)
	loose = slices.Concat(loose, more, unseen)
	slices.Sort(loose)
	others, written, err := writtenAs(ctx, g, tree, changes, slices.Compact(loose))
	w.written = withModules(written, modules, changes)
	w.found = named(tree, changes, slices.Concat(w.found, w.silent, staged, others, own))
	return w, err
}

// changed sorts the lines of git status by the way their files are in, and returns all paths that it knows, those that are staged
// alone and those that only the working tree has otherwise.
func (w *inWay) changed(lines []string, changes map[string]change, places places) (known map[string]bool, staged, loose []string) {
	known = map[string]bool{}
	for _, e := range lines {
		if len(e) <= 3 {
			continue
		}
		file := e[3:]
		known[file] = true
		switch {
		case changes[file].path == "":
			if places.above(file) || places.below(file) { // it is staged alone
				w.silent = append(w.silent, file)
			}
		case e[1] == ' ':
			staged = append(staged, file)
		case e[0] == ' ': // the index has it as it is committed
			loose = append(loose, file)
		default:
			w.found = append(w.found, file)
		}
	}
	return known, staged, loose
}

// named sorts files that are in the way, and gives each folder with a repository of its own one name.
func named(tree string, changes map[string]change, files []string) []string {
	for i, file := range files {
		if changes[file].was.mode != modeModule && !strings.HasSuffix(file, "/") && isRepository(filepath.Join(tree, filepath.FromSlash(file))) {
			files[i] = file + "/" // it is staged as a submodule
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	all := slices.Clone(files)
	return slices.DeleteFunc(files, func(file string) bool {
		_, is := slices.BinarySearch(all, file+"/")
		return is
	})
}

// unlike returns those of the files that are not in the index as a commit has them.
func unlike(ctx context.Context, g Repository, files []string, commit string) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	out, err := g.Run(ctx, "diff-index", "--cached", "--no-renames", "--name-only", "-z", commit, "--")
	other := map[string]bool{}
	for _, file := range fields0(out) {
		other[file] = true
	}
	return slices.DeleteFunc(files, func(file string) bool { return !other[file] }), err
}

// like returns those of the files that are in the index as a commit has them.
func like(ctx context.Context, g Repository, files []string, commit string) ([]string, error) {
	other, err := unlike(ctx, g, slices.Clone(files), commit)
	return slices.DeleteFunc(files, func(file string) bool { return slices.Contains(other, file) }), err
}

// occupied returns the paths of a working tree that exist though new files need their
// place: the file's own, or one that would have to be a directory.
func occupied(tree string, files []string) []string {
	var found []string
	for _, file := range files {
		parts := strings.Split(file, "/")
		for i := range parts {
			path := strings.Join(parts[:i+1], "/")
			info, err := os.Lstat(filepath.Join(tree, filepath.FromSlash(path)))
			if err != nil {
				break
			}
			if i == len(parts)-1 || !info.IsDir() {
				found = append(found, path)
				break
			}
		}
	}
	return found
}

// untracked returns those of the paths, and the files below them, that git does not
// track.
func (g Repository) untracked(ctx context.Context, paths []string) ([]string, error) {
	g.Environ = append(slices.Clone(g.Environ), "GIT_LITERAL_PATHSPECS=1")
	var found []string
	for some := range slices.Chunk(paths, 200) {
		out, err := g.Run(ctx, append([]string{"ls-files", "--others", "-z", "--"}, some...)...)
		if err != nil {
			return nil, err
		}
		found = append(found, fields0(out)...)
	}
	return found, nil
}

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
// killed leaves them so.
func (g Repository) InTheWay(ctx context.Context, tree, from, to string) ([]string, error) {
	found, _, err := inTheWay(ctx, g.at(tree), tree, from, to)
	return found, err
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

// inTheWay is InTheWay with the files that are not staged and are as the other commit has them.
func inTheWay(ctx context.Context, g Repository, tree, from, to string) (found []string, written []change, err error) {
	if from == "" {
		out, err := g.Run(ctx, "ls-files", "-z") // staged, on a branch without a commit
		if all := fields0(out); err != nil || len(all) > 0 {
			return all, nil, err
		}
		if from, err = g.EmptyTree(ctx); err != nil {
			return nil, nil, err
		}
	}
	changes, err := changesOf(ctx, g, from, to)
	if err != nil {
		return nil, nil, err
	}
	out, err := g.Run(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		return nil, nil, err
	}
	var staged, loose []string
	for _, e := range fields0(out) {
		switch {
		case len(e) <= 3 || changes[e[3:]].path == "":
		case e[1] == ' ':
			staged = append(staged, e[3:])
		case e[0] == ' ': // the index has it as it is committed
			loose = append(loose, e[3:])
		default:
			found = append(found, e[3:])
		}
	}
	if staged, err = unlike(ctx, g, staged, to); err != nil {
		return nil, nil, err
	}
	var added []string
	for _, c := range changes {
		if c.was.absent() {
			added = append(added, c.path)
		}
	}
	slices.Sort(added)
	more, err := g.untracked(ctx, occupied(tree, added))
	if err != nil {
		return nil, nil, err
	}
	loose = append(loose, more...)
	slices.Sort(loose)
	others, written, err := writtenAs(ctx, g, tree, changes, slices.Compact(loose))
	found = slices.Concat(found, staged, others)
	slices.Sort(found)
	return slices.Compact(found), written, err
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

package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// scratch is an index of our own: it collects the files to keep without a change of
// the user's index.
type scratch struct {
	r    *restoration
	path string
}

// scratch returns the index; there is one at a time.
func (r *restoration) scratch() *scratch {
	return &scratch{r: r, path: filepath.Join(r.gitDir, "sett-index")}
}

// emptyScratch makes an index with nothing in it.
func (r *restoration) emptyScratch() (*scratch, error) {
	s := r.scratch()
	s.remove()
	if _, err := os.Lstat(s.path); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is in the way", s.path)
	}
	return s, nil
}

// newScratch makes a copy of the user's index, or without one of HEAD's tree.
func (r *restoration) newScratch(ctx context.Context, head string) (*scratch, error) {
	s, err := r.emptyScratch()
	if err != nil {
		return nil, err
	}
	err = copyFile(s.path, filepath.Join(r.gitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
		if head != "" {
			_, err = s.git(ctx, "", "read-tree", head)
		}
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// remove forgets the index.
func (s *scratch) remove() {
	_ = os.RemoveAll(s.path) // the next one overwrites it
	_ = os.RemoveAll(s.path + ".lock")
}

// git runs git on this index.
func (s *scratch) git(ctx context.Context, stdin string, args ...string) (string, error) {
	env := []string{"GIT_INDEX_FILE=" + s.path}
	return s.r.Tree.run(ctx, command{args: args, env: env, stdin: stdin})
}

// writeTree stores the index as a tree.
func (s *scratch) writeTree(ctx context.Context) (string, error) {
	out, err := s.git(ctx, "", "write-tree", "--missing-ok")
	return line(out), err
}

// writeStaged is writeTree for an index that may be in the middle of a merge: such an
// index has no tree, and its files come from commits.
func (s *scratch) writeStaged(ctx context.Context) (string, error) {
	unmerged, err := s.git(ctx, "", "ls-files", "--unmerged", "-z")
	if err != nil || unmerged != "" {
		return "", err
	}
	return s.writeTree(ctx)
}

// addAll adds the files of the tree: all files that are not ignored, and any file at
// the place of a file to restore. Submodules stay as they are.
func (s *scratch) addAll(ctx context.Context) error {
	list, err := s.git(ctx, "", "ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	specs := []string{"."}
	for _, entry := range fields0(list) {
		if about, path, _ := strings.Cut(entry, "\t"); strings.HasPrefix(about, "160000 ") {
			specs = append(specs, ":(exclude,literal,top)"+path)
		}
	}
	if err := s.add(ctx, specs, "--all"); err != nil {
		return err
	}
	wanted, err := s.git(ctx, "", "diff-index", "--cached", "--name-only", "--diff-filter=D", "--no-renames",
		"--ignore-submodules=all", "-z", s.r.tree)
	if err != nil {
		return err
	}
	var obstacles []string
	for _, path := range fields0(wanted) {
		if o := obstacle(s.r.root, path); o != "" {
			obstacles = append(obstacles, o)
		}
	}
	return s.addPaths(ctx, obstacles)
}

// addPaths adds paths, ignored or not, wherever they are literally.
func (s *scratch) addPaths(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	specs := make([]string, len(paths))
	for i, path := range paths {
		specs[i] = ":(literal,top)" + path
	}
	return s.add(ctx, specs, "--force")
}

// add hands over any number of paths.
func (s *scratch) add(ctx context.Context, specs []string, how string) error {
	_, err := s.git(ctx, strings.Join(specs, "\x00"), "add", how, "--pathspec-from-file=-", "--pathspec-file-nul")
	return err
}

// obstacle returns the obstacle to a file at a path: the path itself, or a file in
// place of a directory on the way to it. Empty when there is none.
func obstacle(root, path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		info, err := os.Lstat(filepath.Join(root, at))
		if err != nil {
			return "" // nothing there
		}
		if !info.IsDir() || i == len(parts)-1 {
			return at
		}
	}
	return ""
}

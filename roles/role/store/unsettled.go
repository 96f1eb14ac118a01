package store

// This file finds a merge that a tool has left in the middle.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"sett/roles/role"
	"sett/runtime/repofile"
)

// ErrUnsettled says that a tool ended in the middle of a merge, with conflicts.
var ErrUnsettled = errors.New("the tree has a conflict that is not resolved")

// middles are files and folders of a git directory that git has in the middle of something.
var middles = []struct{ name, of string }{
	{"MERGE_HEAD", "a merge"}, {"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"},
	{"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"}, {"AUTO_MERGE", "a merge"}, // the last one also of a stash
}

// mostMarked bounds the part of a file that is searched for git's marks, in bytes.
const mostMarked = 64 << 20

// unsettled refuses a tree in the middle of a merge, a rebase or the like, if a changed file has git's marks of a conflict. The
// tool's index is not read: a file that the tool has only added has its marks all the same.
func unsettled(t *Tree, changed []changedFile) error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, m := range middles {
		if _, err := root.Lstat(path.Join(toolGit, m.name)); err != nil {
			continue
		}
		for _, f := range changed {
			if hasConflict(root, path.Join("tree", f.name)) {
				return fmt.Errorf("%w: it is in the middle of %s, and %s has git's marks", ErrUnsettled, m.of, role.Clean(f.name))
			}
		}
		return nil
	}
	return nil
}

// hasConflict says whether a file has all marks of a conflict, in their order.
func hasConflict(root *os.Root, name string) bool {
	f, err := repofile.Open(root, name)
	if err != nil {
		return false
	}
	defer f.Close()
	marks := []string{"<<<<<<< ", "=======", ">>>>>>> "}
	r := bufio.NewReader(io.LimitReader(f, mostMarked))
	for next, start := 0, true; ; {
		row, more, err := r.ReadLine()
		if err != nil {
			return false
		}
		if start && strings.HasPrefix(string(row), marks[next]) {
			if next++; next == len(marks) {
				return true
			}
		}
		start = !more
	}
}

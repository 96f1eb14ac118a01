package worktree

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unlockFiles restores the owner's permissions of files and directories, without
// which they can be neither kept nor removed. Ignored files stay as they are. It
// reports whether there was any.
func (r *restoration) unlockFiles(ctx context.Context) bool {
	out, err := r.git(ctx, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
	if err != nil {
		return false
	}
	skip := map[string]bool{filepath.Join(r.root, ".git"): true}
	for _, path := range fields0(out) {
		skip[filepath.Join(r.root, strings.TrimSuffix(path, "/"))] = true
	}
	changed := false
	_ = filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // another owner's; git will say so
		}
		if skip[path] && d.IsDir() {
			return fs.SkipDir
		}
		changed = !skip[path] && unlock(path, d) || changed
		return nil
	})
	return changed
}

// unlock lets the owner read a file, and list and change a directory.
func unlock(path string, d fs.DirEntry) bool {
	var want fs.FileMode
	switch {
	case d.IsDir():
		want = 0o700
	case d.Type().IsRegular():
		want = 0o400
	}
	info, err := d.Info()
	if err != nil || info.Mode().Perm()&want == want {
		return false
	}
	return os.Chmod(path, info.Mode().Perm()|want) == nil
}

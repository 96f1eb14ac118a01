package git

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sett/runtime/repofile"
)

// directories are the directories of a working tree: its own, with HEAD and the index, and the one that all trees of the
// repository share. Both are absolute.
type directories struct{ own, common string }

// directoriesOf returns those of a working tree or bare repository. Of a plain repository they are known without a process of git.
func directoriesOf(ctx context.Context, g Repository) (directories, error) {
	named := slices.ContainsFunc(g.Environ, func(v string) bool {
		return strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_COMMON_DIR=")
	})
	if dir := plain(g.Dir); dir != "" && !named && ctx.Err() == nil {
		return directories{dir, dir}, nil
	}
	out, err := g.Run(ctx, "rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir")
	own, common, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	return directories{own, common}, err
}

// plain returns the git directory of a plain repository's main working tree: ".git" in it is a directory, the user's own, that
// git would take for a repository. Empty: git has to say, as for linked working trees, bare repositories and damaged ones.
func plain(tree string) string {
	tree, err := filepath.EvalSymlinks(tree)
	if err != nil || !filepath.IsAbs(tree) {
		return ""
	}
	dir := filepath.Join(tree, ".git")
	for _, name := range []string{"", "objects", "refs"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || !info.IsDir() {
			return ""
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
			return "" // git may refuse it
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	head, err := repofile.Read("", filepath.Join(dir, "HEAD"), 4<<10)
	if err != nil || !isHead(strings.TrimSpace(string(head))) {
		return ""
	}
	return dir
}

// isHead reports whether git takes a directory with such a HEAD for a repository: it names a ref or a commit.
func isHead(text string) bool {
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimSpace(ref), "refs/")
	}
	_, err := hex.DecodeString(text)
	return err == nil && (len(text) == 40 || len(text) == 64)
}

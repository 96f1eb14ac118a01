package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"sett/runtime/repofile"
)

// uncover finds the directory of the main working tree. Git derives it from the name of the git
// directory, which tells nothing in a submodule or after --separate-git-dir. There a tree is known by its .git, which leads to
// the git directory: around one of the directories that are given, or at the place that core.worktree names, as
// it does for a submodule. One that is nowhere found is hidden. A repository may be bare by a setting
// that git does not read in linked trees; then there is none, which is the answer false.
func uncover(ctx context.Context, g Repository, w *Worktree, near []string) (bool, error) {
	own, _, err := g.Own(ctx)
	if err != nil {
		return false, err
	}
	for _, dir := range near {
		if top, ok := above(dir); ok && leadsTo(top, own) {
			return settle(ctx, g, w, own, top), nil
		}
	}
	if leadsTo(w.Path, own) {
		return true, nil
	}
	top := setting(ctx, g, own, "core.worktree")
	if !filepath.IsAbs(top) {
		top = filepath.Join(own, top)
	}
	w.Hidden = !leadsTo(top, own)
	return settle(ctx, g, w, own, top), nil
}

// settle takes a directory for that of the main working tree, unless there is none.
func settle(ctx context.Context, g Repository, w *Worktree, own, top string) bool {
	if w.Hidden || !same(w.Path, top) {
		if setting(ctx, g, own, "core.bare") == "true" {
			return false
		}
	}
	if !w.Hidden && !same(w.Path, top) {
		w.Path = top
	}
	return true
}

// setting returns a setting of a git directory, as git reads it in the main working tree; empty: it has none.
func setting(ctx context.Context, g Repository, own, key string) string {
	read := func(file, key string, form ...string) string {
		args := append([]string{"config", "--file", filepath.Join(own, file)}, form...)
		out, err := g.Run(ctx, append(args, "--get", key)...)
		if err != nil { // there is none
			return ""
		}
		return strings.TrimSuffix(out, "\n")
	}
	var form []string
	if key == "core.bare" {
		form = []string{"--type=bool"}
	}
	if read("config", "extensions.worktreeConfig", "--type=bool") == "true" {
		if value := read("config.worktree", key, form...); value != "" {
			return value
		}
	}
	return read("config", key, form...)
}

// above returns the first directory, from dir up, that has a .git; false: none has.
func above(dir string) (string, bool) {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// mostGitFile bounds a .git that is a file, in bytes.
const mostGitFile = 64 << 10

// leadsTo says whether the .git of a directory is a git directory, or a file that names it. That of a linked working tree
// names a directory of its own.
func leadsTo(dir, own string) bool {
	path := filepath.Join(dir, ".git")
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return err == nil && same(path, own)
	}
	text, err := repofile.Read("", path, mostGitFile)
	to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if err != nil || !ok {
		return false
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return same(to, own)
}

// same says whether two paths are those of one directory.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

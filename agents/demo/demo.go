// Package demo holds what `sett demo` works on, as files to copy: a small
// repository of shell programs with its tests, and a clan of shell scripts that
// extends it. Nothing in it runs inside sett, and nothing in it needs more than
// sh and git.
package demo

import (
	"bytes"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

// Name is what the repository is called.
const Name = "wordkit"

// Goal is a goal that the clan can reach; its first draft gets rejected. Another
// is another one, to try afterwards.
const (
	Goal    = "Add bin/topwords, which lists the most frequent words of a text. Its tests are in test/topwords."
	Another = "Add bin/slugify"
)

//go:embed all:repo
var files embed.FS

// Write copies the repository's files into a directory, which must be there.
// Files that begin with #! are made executable.
func Write(dir string) error {
	repo, err := fs.Sub(files, "repo")
	if err != nil {
		return err
	}
	return fs.WalkDir(repo, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if d.IsDir() {
			if name == "." {
				return nil
			}
			return os.Mkdir(to, 0o755)
		}
		text, err := fs.ReadFile(repo, name)
		if err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if bytes.HasPrefix(text, []byte("#!")) {
			mode = 0o755
		}
		return os.WriteFile(to, text, mode)
	})
}

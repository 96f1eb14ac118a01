// Package demo holds the repository of `sett demo` as files to copy: small shell
// programs with their tests, and a clan of shell scripts that extends them. None of
// it runs inside sett, and it needs only sh and git.
package demo

import (
	"bytes"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

// Name is the name of the repository.
const Name = "wordkit"

// Goal is a goal that the clan can reach; the reviewers reject its first draft.
// Another is a second goal, to try afterwards.
const (
	Goal    = "Add bin/topwords, which lists the most frequent words of a text. Its tests are in test/topwords."
	Another = "Add bin/slugify"
)

//go:embed all:repo
var files embed.FS

// Write copies the repository's files into a directory, which must exist. Files that
// begin with #! become executable.
func Write(dir string) error {
	repo, err := fs.Sub(files, "repo")
	if err != nil {
		return err
	}
	return write(repo, dir)
}

// write copies files.
func write(from fs.FS, dir string) error {
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
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
		text, err := fs.ReadFile(from, name)
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

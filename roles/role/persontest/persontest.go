// Package persontest compares a person's repository with itself at another time: nothing but the
// person may change it. Every suite in which a person has a repository uses it.
package persontest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Contents describes every file of a directory by its path: its mode, and its content. In a repository
// these are HEAD, branches, refs, the index, the configuration, hooks, objects and the stash, too. A
// file that goes away meanwhile is none.
func Contents(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		what, err := describe(path, d)
		if err == nil {
			all[path] = what
		}
		return gone(err)
	})
	return all, err
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func describe(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	what := info.Mode().String()
	switch {
	case info.Mode().IsRegular():
		text, err := os.ReadFile(path)
		return what + " " + Digest(text), err
	case d.Type() == fs.ModeSymlink:
		to, err := os.Readlink(path)
		return what + " " + to, err
	}
	return what, nil
}

// Digest describes the content of a file.
func Digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// Differences names each file that is not as it was, sorted. Own says of a path, and its
// description (empty: it is gone), whether it is the test's own affair.
func Differences(was, is map[string]string, own func(path, now string) bool) (all []string) {
	for path, before := range was {
		now, there := is[path]
		switch {
		case now == before || own(path, now):
		case !there:
			all = append(all, fmt.Sprintf("the person's %s is gone", path))
		default:
			all = append(all, fmt.Sprintf("the person's %s is %q, was %q", path, now, before))
		}
	}
	for path, now := range is {
		if _, there := was[path]; !there && !own(path, now) {
			all = append(all, fmt.Sprintf("%s is in the person's repository, %q", path, now))
		}
	}
	slices.Sort(all)
	return all
}

// Writes says whether a command of sett changes the person's repository, as it says.
func Writes(args []string) bool {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return slices.Contains([]string{"land", "checkout", "init"}, a)
		}
	}
	return false
}

// Repository is the repository around a directory as it was.
type Repository struct {
	dirs []string // empty: there is none
	was  map[string]string
}

// Around looks at the repository of a working tree. That of a linked one is elsewhere, and is looked at, too.
func Around(dir string) (r Repository, err error) {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(dir, ".git"))
		if err != nil {
			if dir == filepath.Dir(dir) {
				return r, nil
			}
			continue
		}
		if r.dirs = []string{dir}; info.Mode().IsRegular() {
			text, err := os.ReadFile(filepath.Join(dir, ".git"))
			if err != nil {
				return r, err
			}
			of := strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir: "))
			if parent := filepath.Dir(of); filepath.Base(parent) == "worktrees" {
				of = filepath.Dir(parent)
			}
			r.dirs = append(r.dirs, of)
		}
		r.was, err = r.contents()
		return r, err
	}
}

func (r Repository) contents() (map[string]string, error) {
	all := map[string]string{}
	for _, dir := range r.dirs {
		part, err := Contents(dir)
		if err != nil {
			return nil, err
		}
		for path, is := range part {
			all[path] = is
		}
	}
	return all, nil
}

// Changes compares it with the repository as it is now.
func (r Repository) Changes(own func(path string) bool) ([]string, error) {
	is, err := r.contents()
	return Differences(r.was, is, func(path, _ string) bool { return own(path) }), err
}

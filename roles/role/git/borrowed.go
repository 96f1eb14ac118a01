package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sett/roles/role"
)

// Borrowing are the directories of objects that a repository reads, as `git clone --shared` and `--reference` make
// it read those of others.
type Borrowing struct {
	Objects []string // those that are there, the repository's own one first
	Lost    []Lost   // those that are not
}

// Lost is a directory of objects that git does not find.
type Lost struct {
	Dir   string
	Named string // the file that names it
}

// mostBorrowed bounds how many repositories one borrows objects from.
const mostBorrowed = 100

// Borrowed reads from where a directory of objects borrows, those that borrow in turn included. Each path is as git
// looks it up: absolute, and without "..".
func Borrowed(objects string) (Borrowing, error) {
	b := Borrowing{Objects: []string{objects}}
	seen := []string{objects}
	for i := 0; i < len(b.Objects) && i < mostBorrowed; i++ {
		file := filepath.Join(b.Objects[i], "info", "alternates")
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return b, role.Fail(role.Environment, fmt.Errorf("find the repository's objects: %w", err), "")
		}
		for line := range strings.Lines(string(text)) {
			dir := alternate(b.Objects[i], strings.TrimSuffix(line, "\n"))
			if dir == "" || slices.Contains(seen, dir) {
				continue
			}
			seen = append(seen, dir)
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				b.Objects = append(b.Objects, dir)
			} else {
				b.Lost = append(b.Lost, Lost{dir, file})
			}
		}
	}
	return b, nil
}

// alternate is the directory that a line of an alternates file names; empty: none.
func alternate(objects, line string) string {
	if strings.HasPrefix(line, `"`) {
		if plain, err := strconv.Unquote(line); err == nil {
			line = plain
		}
	}
	if line == "" || line[0] == '#' {
		return ""
	}
	if filepath.IsAbs(line) {
		return filepath.Clean(line)
	}
	if to, err := filepath.EvalSymlinks(objects); err == nil { // git starts there
		objects = to
	}
	return filepath.Join(objects, line)
}

// Why says that directories are not there, and Mend how to get along again; both are empty if all are.
func (b Borrowing) Why() string {
	if len(b.Lost) == 0 {
		return ""
	}
	more := ""
	if n := len(b.Lost) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("it borrows objects from %s%s, which %s names and which is not there", role.Clean(b.Lost[0].Dir), more, role.Clean(b.Lost[0].Named))
}

// Mend is the remedy of Why.
func (b Borrowing) Mend() string {
	if len(b.Lost) == 0 {
		return ""
	}
	return "restore " + role.ShellWord(role.Clean(b.Lost[0].Dir))
}

// Outside are directories outside of a git directory that are parts of its repository.
type Outside struct {
	Objects string   // its own directory of objects, where that is a link; empty: it is none
	Lent    []string // of other repositories, which git only reads
}

// PartsOutside returns the directories that a program needs besides the git directory, each by the path at which git
// looks for it. It refuses a repository with more of its parts elsewhere, as git-new-workdir makes it: they are files
// that git replaces, and a container cannot have those.
func PartsOutside(gitDir string) (o Outside, err error) {
	for _, name := range []string{"HEAD", "config", "packed-refs", "refs", "refs/heads"} {
		if to := beyond(gitDir, filepath.Join(gitDir, name)); to != "" {
			return o, fmt.Errorf("%s is a link to %s", role.Clean(filepath.Join(gitDir, name)), role.Clean(to))
		}
	}
	objects := filepath.Join(gitDir, "objects")
	o.Objects = beyond(gitDir, objects)
	b, err := Borrowed(objects)
	if err != nil {
		return o, err
	}
	for _, dir := range b.Objects[1:] {
		if !within(dir, gitDir) {
			o.Lent = append(o.Lent, dir)
		}
	}
	return o, nil
}

// mostLinks is how many links in a row are followed, as the kernel does.
const mostLinks = 40

// beyond follows a link of a git directory to the first path outside of it; empty: it leads to none.
func beyond(gitDir, path string) string {
	for range mostLinks {
		to, err := os.Readlink(path)
		if err != nil {
			return ""
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		if path = filepath.Clean(to); !within(path, gitDir) {
			return path
		}
	}
	return ""
}

// within says whether a path is a directory, or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

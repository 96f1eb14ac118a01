package instance

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sett/runtime/repofile"
)

// identityFile is the file of a git directory with the random id that agreed rights are bound to.
//
// A path alone names no repository: another one may come to the same place. Its first commit does
// not tell it either: a fork has the same, and whoever made the fork chose its sett.yml. The id is
// gone when the repository is removed, no clone or fetch brings it along, and it stays when history
// is rewritten, or when there is none. All working trees of a repository share it. Agents write it
// as little as the rest of the git directory, and no commit can carry it.
const identityFile = "sett-id"

// errNoIdentity says that a repository could not be given an id.
var errNoIdentity = errors.New("the repository's git directory cannot keep their id")

// identityPath is the path of the file with a repository's id; empty: the folder is in no git repository, and has
// nothing but its path.
func identityPath(repository string) string {
	root, ok := Upward(repository, ".git")
	if !ok {
		return ""
	}
	shared := commonDir(root)
	if shared == "" {
		return ""
	}
	return filepath.Join(shared, identityFile)
}

// identityOf returns the id of a repository; empty: it has none yet.
func identityOf(repository string) string {
	path := identityPath(repository)
	if path == "" {
		return ""
	}
	return oneLine(path)
}

// identify returns the id of a repository, and makes it first where there is none. Without git it is empty.
func identify(repository string) (string, error) {
	path := identityPath(repository)
	if path == "" {
		return "", nil
	}
	if id := oneLine(path); id != "" {
		return id, nil
	}
	// Linked into place as a whole: another sett may do the same at this moment, and the first one counts.
	made, err := os.CreateTemp(filepath.Dir(path), identityFile+"-*")
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoIdentity, err)
	}
	defer func() { _ = os.Remove(made.Name()) }()
	_, err = made.WriteString(rand.Text() + "\n")
	if err = errors.Join(err, made.Chmod(0o644), made.Close()); err == nil {
		err = os.Link(made.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%w: %w", errNoIdentity, err)
	}
	text, err := repofile.Read("", path, mostLine)
	id := strings.TrimSpace(string(text))
	if err == nil && id == "" {
		err = fmt.Errorf("%s is empty", path)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoIdentity, err)
	}
	return id, nil
}

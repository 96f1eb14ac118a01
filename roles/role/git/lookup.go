package git

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// ErrNoCommit says that a hash does not name one commit of a repository.
var ErrNoCommit = errors.New("no such commit")

// ErrNoObject says that a repository has nothing of a hash. It is an ErrNoCommit.
var ErrNoObject = fmt.Errorf("%w: the repository has no object", ErrNoCommit)

var hashForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`) })

// IsHash says whether a text has the form of a commit's hash or of its beginning: 7 to 64
// hexadecimal digits.
func IsHash(text string) bool { return hashForm().MatchString(text) }

// Lookup returns the whole hash if hash (7 to 64 hexadecimal digits, nothing else) is the
// hash of exactly one commit, or the beginning of one, in the repository that run runs git
// in. Otherwise the error is ErrNoCommit with the reason. Names of branches and tags never
// count, even if they look like a hash.
func Lookup(hash string, run func(stdin string, args ...string) (string, error)) (string, error) {
	if !IsHash(hash) {
		return "", fmt.Errorf("%w: %q is not a commit hash (7 to 64 hexadecimal digits)", ErrNoCommit, abridge(hash))
	}
	hash = strings.ToLower(hash)
	objects := hash
	if len(hash) != 40 && len(hash) != 64 {
		var err error
		if objects, err = run("", "rev-parse", "--disambiguate="+hash); err != nil {
			return "", fmt.Errorf("look up commit %s: %w", hash, err)
		}
	}
	out, err := run(strings.TrimRight(objects, "\n")+"\n", "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return "", fmt.Errorf("look up commit %s: %w", hash, err)
	}
	return oneCommit(hash, out)
}

// oneCommit returns the one commit among the lines of cat-file.
func oneCommit(hash, out string) (string, error) {
	var found []string
	other := ""
	for row := range strings.Lines(out) {
		object, kind, _ := strings.Cut(strings.TrimRight(row, "\n"), " ")
		switch {
		case !strings.HasPrefix(object, hash) || kind == "missing":
		case kind == "commit":
			found = append(found, object)
		default:
			other = kind
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%w: %s is the beginning of %d commits", ErrNoCommit, hash, len(found))
	case other != "":
		return "", fmt.Errorf("%w: %s is a %s", ErrNoCommit, hash, other)
	}
	return "", fmt.Errorf("%w %s", ErrNoObject, hash)
}

// abridge shortens text of a tool for a message.
func abridge(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}

package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"

	"sett/roles/role"
)

// forbidden matches git's words about a file that this user may not write, with its name in quotes where git has it
// so: at the end of a line, as for troubles.
var forbidden = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)(?:'([^']+)'|[^:'\n]*): permission denied[.\r]*$|insufficient permission for adding an object to repository database (.+)$`)
})

// mends are words of git's about a damaged repository or a program that it needs, each with its hint. The first that
// fits counts. In a hint, $1 is the file that git names.
var mends = sync.OnceValue(func() []mend {
	return []mend{
		{regexp.MustCompile(`(?m)([^\s:]+): index file smaller than expected`), "rm $1 && git reset: the index is damaged; files stay as they are"},
		{regexp.MustCompile(`index file corrupt|bad index file sha1 signature|bad signature 0x`), `rm "$$(git rev-parse --git-path index)" && git reset: the index is damaged; files stay as they are`},
		{regexp.MustCompile(`git-lfs[^\n]*(?:not found|failed 127|No such file)|filter 'lfs' failed`), "install git-lfs, then git lfs install"},
		{regexp.MustCompile(`unable to read (?:tree|sha1 file|[0-9a-f]{40})|[Cc]ould not read [0-9a-f]{40}|not a tree object|bad tree object|missing (?:blob|tree|commit|object)|bad object |loose object .* is corrupt`),
			"git fsck: it names the objects that the repository lacks"},
	}
})

type mend struct {
	said *regexp.Regexp
	hint string
}

// mended is the hint of mends for an error; empty: there is none.
func mended(said string) string {
	for _, m := range mends() {
		if found := m.said.FindStringSubmatchIndex(said); found != nil {
			return string(m.said.ExpandString(nil, m.hint, said, found))
		}
	}
	return ""
}

// owned matches git's words about a repository of another user, with its path.
var owned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`dubious ownership in repository at '([^'\n]+)'`) })

// dubious is the hint for an error of git's about a repository that is another user's; empty: it is about something else.
func dubious(said string) string {
	if found := owned().FindStringSubmatch(said); found != nil {
		return "it is another user's; git config --global --add safe.directory " + role.ShellWord(found[1])
	}
	return ""
}

// Remedy is the hint for an error of git's, or of a file that git has, which comes of a disk without room, of a repository
// of another user, or of rights that this user lacks; empty: it comes of something else.
func Remedy(err error) string {
	var file *fs.PathError
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || FullDisk(err.Error()) {
		if errors.As(err, &file) {
			return fmt.Sprintf("make room on the disk of %s, then try again", role.Clean(filepath.Dir(file.Path)))
		}
		return "make room on that disk, then try again"
	}
	if hint := dubious(err.Error()); hint != "" {
		return hint
	}
	place, said := "", forbidden().FindStringSubmatch(err.Error())
	switch {
	case errors.As(err, &file) && errors.Is(file, fs.ErrPermission):
		place = file.Path
	case said == nil:
		return ""
	case said[2] != "":
		place = filepath.Join(said[2], "new")
	default:
		place = said[1]
	}
	if !filepath.IsAbs(place) {
		return "this user may not write there: look at the owner and the mode of its directory"
	}
	return fmt.Sprintf("this user may not write there: ls -ld %s shows the owner and the mode", role.ShellWord(filepath.Dir(place)))
}

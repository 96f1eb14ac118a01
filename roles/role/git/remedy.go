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

// Remedy is the hint for an error of git's, or of a file that git has, which comes of a disk without room or of rights
// that this user lacks; empty: it comes of something else.
func Remedy(err error) string {
	var file *fs.PathError
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || FullDisk(err.Error()) {
		if errors.As(err, &file) {
			return fmt.Sprintf("make room on the disk of %s, then try again", role.Clean(filepath.Dir(file.Path)))
		}
		return "make room on that disk, then try again"
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

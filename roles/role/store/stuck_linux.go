package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mostLooked bounds a look for immutable files, in files.
const mostLooked = 10_000

// mountsBelow returns the path, and the directories below it, where something is mounted, the innermost first.
func mountsBelow(path string) (all mounts) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	whole := path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		whole = resolved
	}
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if below, is := strings.CutPrefix(plain.Replace(fields[4]), whole); is && (below == "" || below[0] == '/') {
			all = append(all, path+below)
		}
	}
	slices.Reverse(all) // the kernel names each after the one that it lies in
	return all
}

// immutable says whether a file, or one below a directory, can be changed by nobody, as chattr has it.
func immutable(path string) bool {
	found, looked := errors.New("found"), 0
	err := filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
		var is unix.Statx_t
		if looked++; looked > mostLooked {
			return fs.SkipAll
		}
		if err == nil && unix.Statx(unix.AT_FDCWD, at, unix.AT_SYMLINK_NOFOLLOW, 0, &is) == nil && is.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0 {
			return found
		}
		return nil
	})
	return errors.Is(err, found)
}

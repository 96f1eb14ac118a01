package git

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// troubleTexts are a machine's troubles in the words of the C libraries that git is built with: glibc, musl and that of
// macOS. Their letters are small.
var troubleTexts = map[string]syscall.Errno{
	"no space left on device": syscall.ENOSPC, "out of diskspace": syscall.ENOSPC, // the latter are git's own words
	"disk quota exceeded": syscall.EDQUOT, "disc quota exceeded": syscall.EDQUOT, "quota exceeded": syscall.EDQUOT,
	"read-only file system": syscall.EROFS,
	"input/output error":    syscall.EIO, "i/o error": syscall.EIO,
	"too many open files": syscall.EMFILE, "no file descriptors available": syscall.EMFILE,
	"too many open files in system": syscall.ENFILE,
	"cannot allocate memory":        syscall.ENOMEM, "out of memory": syscall.ENOMEM,
	"resource temporarily unavailable": syscall.EAGAIN,
}

// trouble matches such words at the end of a line, after a colon or a full stop: elsewhere they may be part of a
// file's name.
var trouble = sync.OnceValue(func() *regexp.Regexp {
	words := make([]string, 0, len(troubleTexts))
	for text := range troubleTexts {
		words = append(words, regexp.QuoteMeta(text))
	}
	slices.Sort(words)
	return regexp.MustCompile(`(?im)[:.] (` + strings.Join(words, "|") + `)[.\r]*$`)
})

// Troubles are the troubles of the machine that a message of git's names, such as a full disk.
func Troubles(said string) (all []syscall.Errno) {
	for _, found := range trouble().FindAllStringSubmatch(said, -1) {
		all = append(all, troubleTexts[strings.ToLower(found[1])])
	}
	return all
}

// FullDisk says whether a message with words of git's is about a disk, or a quota, without room.
func FullDisk(said string) bool {
	said = strings.ToLower(said)
	for text, is := range troubleTexts {
		if (is == syscall.ENOSPC || is == syscall.EDQUOT) && strings.Contains(said, text) {
			return true
		}
	}
	return false
}

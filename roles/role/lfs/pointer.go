// Package lfs has the pointers of git LFS and the directories of their content, by git LFS' specification
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md). It runs no program: git-lfs need not be there,
// and nothing that a repository names as its filter ever runs.
package lfs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Pointer is the name of a file's content. A repository has its text in the place of the content.
type Pointer struct {
	Hash string // sha256, 64 hexadecimal digits
	Size int64  // in bytes, never 0: an empty file is its own pointer
}

// MostText is the size above which no file is a pointer, in bytes.
const MostText = 1024

// Begins is the beginning of each pointer.
const Begins = "version https://git-lfs.github.com/spec/"

var form = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A` + regexp.QuoteMeta(Begins) + `v1\noid sha256:([0-9a-f]{64})\nsize ([1-9][0-9]{0,17})\n\z`)
})

// Parse reads the text of a pointer, in the one form that git LFS writes. A pointer with extensions is
// none: other programs have made its content.
func Parse(text string) (Pointer, bool) {
	if len(text) > MostText || !strings.HasPrefix(text, Begins) {
		return Pointer{}, false
	}
	m := form().FindStringSubmatch(text)
	if m == nil {
		return Pointer{}, false
	}
	size, err := strconv.ParseInt(m[2], 10, 64)
	return Pointer{m[1], size}, err == nil
}

// Text is the file that a repository has of the content.
func (p Pointer) Text() string {
	return fmt.Sprintf("%sv1\noid sha256:%s\nsize %d\n", Begins, p.Hash, p.Size)
}

//go:build !linux

package instance

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identityOfDir tells a directory from another at its path, by its number. Empty: there is none.
func identityOfDir(dir string) string {
	var s unix.Stat_t
	if unix.Stat(dir, &s) != nil {
		return ""
	}
	return fmt.Sprintf("inode %d", s.Ino)
}

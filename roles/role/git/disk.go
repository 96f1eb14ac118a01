package git

import "strings"

// FullDisk says whether a message of git's is about a disk, or a quota, without room.
func FullDisk(said string) bool {
	return strings.Contains(said, "No space left on device") || strings.Contains(said, "Disk quota exceeded")
}

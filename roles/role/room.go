package role

import "golang.org/x/sys/unix"

// Room is how many bytes the file system of a directory has left for users, if it tells.
func Room(dir string) (left int64, told bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:gosec,unconvert // Bsize has another type elsewhere
}

package instance

import (
	"fmt"

	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
)

// Full names the directory whose file system, or quota, has no room, where an error comes of that, and the
// way on: of directories the first that takes no files, else the first. Another error is returned as it is.
func Full(err error, dirs ...string) error {
	if err == nil || !store.IsFull(err) && !git.FullDisk(err.Error()) {
		return err
	}
	full := dirs[0]
	for _, dir := range dirs {
		if store.IsFull(store.Writable(dir)) {
			full = dir
			break
		}
	}
	return role.Fail(role.Environment, fmt.Errorf("the file system of %s is full: %w", role.Clean(full), err), "make room below %s, then type the command again", role.Clean(full))
}

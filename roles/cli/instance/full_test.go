package instance

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"sett/roles/role"
)

// A full disk is named with its directory and the way on, in whatever words it comes: as an error of the system, or git's.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, fmt.Errorf("fetch: %w", syscall.EDQUOT),
		errors.New("git fetch: fatal: write error: No space left on device"),
	} {
		got := Full(err, dir)
		var told *role.Error
		if !errors.As(got, &told) || told.Err.Error() != "the file system of "+dir+" is full: "+err.Error() || told.Hint != "make room below "+dir+", then type the command again" ||
			role.CodeOf(got) != role.Environment {
			t.Errorf("%v: %v", err, got)
		}
	}
	for _, err := range []error{nil, syscall.EACCES} {
		if got := Full(err, dir); !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
}

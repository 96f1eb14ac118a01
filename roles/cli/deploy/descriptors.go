package deploy

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"sett/roles/role"
)

// keepDescriptors keeps the files that the caller of this program left open, beyond the
// standard three, from the processes that are started from now on. Parts run for days, and
// would otherwise hold a script's lock, or keep the reader of its pipe waiting, as in
// `sett up 2> >(tee up.log)` and `flock 9; sett up`.
func keepDescriptors() error {
	const directory = "/dev/fd" // of this process, on Linux and macOS
	open, err := os.ReadDir(directory)
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("list open files: %w", err), "")
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > syscall.Stderr {
			syscall.CloseOnExec(fd) // a number closed since then is no harm
		}
	}
	return nil
}

package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// mostThreads is how many threads this user may have. Root may have more than its limit says.
func mostThreads() (n uint64, limited bool) {
	var l unix.Rlimit
	if os.Getuid() == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &l) != nil || l.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return l.Cur, true
}

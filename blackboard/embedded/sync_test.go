package embedded

import (
	"os"
	"sync/atomic"
	"time"
)

// countSyncs is a Sync that counts.
func countSyncs(n *atomic.Int32) func(*os.File) error {
	return func(f *os.File) error {
		n.Add(1)
		return f.Sync()
	}
}

// fixed is a time like any other.
var fixed = time.UnixMicro(1_700_000_000_000_000)

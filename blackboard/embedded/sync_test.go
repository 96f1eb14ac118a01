package embedded

import (
	"os"
	"sync"
	"time"
)

// countSyncs is a Sync that counts. The count may be read when the server is idle.
func countSyncs(n *int) func(*os.File) error {
	var mu sync.Mutex
	return func(f *os.File) error {
		mu.Lock()
		defer mu.Unlock()
		*n++
		return f.Sync()
	}
}

// fixed is a time like any other.
var fixed = time.UnixMicro(1_700_000_000_000_000)

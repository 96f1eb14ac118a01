package embedded

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
)

// The effects of the last scripts and the new log cannot be written: the old
// log goes on, and its calls and effects still belong together.
func TestSnapshotThatCannotStart(t *testing.T) {
	for i := range int32(12) {
		first, fails := 5+i%2, i/2 // after the five writes; after the effects too
		dir := t.TempDir()
		var left atomic.Int32 // calls until the first that fails
		left.Store(1 << 30)
		o := Options{Dir: dir, SnapshotRecords: 5, Sync: func(f *os.File) error {
			if n := left.Add(-1); n < 0 && n >= -fails {
				return syscall.ENOSPC
			}
			return f.Sync()
		}}
		sv := start(t, o)
		c := connect(t, sv.addr, "")
		const add = "local n = redis.call('INCR', KEYS[1]) redis.call('RPUSH', KEYS[2], n .. ARGV[1]) return n"
		left.Store(first)
		for i := range 8 {
			for n := 0; do(t, c, "EVAL", add, "2", "n", "l", fmt.Sprint("-", i)) != fmt.Sprint(i+1); n++ {
				if n > 10 {
					t.Fatal("writes are refused for ever")
				}
			}
		}
		waitSnapshot(sv)
		want := dump(t, c)
		sv.stop()
		again := start(t, Options{Dir: dir})
		if got := dump(t, connect(t, again.addr, "")); got != want {
			t.Errorf("%d failures after %d: %s, want %s", fails, first, got, want)
		}
		again.stop()
	}
}

package logfile

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// The newest logs of workers stay, up to their number and to their bytes; those of workers
// that run stay in any case, and so do other units'.
func TestPruneWorkers(t *testing.T) {
	t.Parallel()
	d := Dir(t.TempDir())
	made := func(path string, size int64, age time.Duration) {
		t.Helper()
		f, err := os.Create(path)
		if err == nil {
			err = f.Truncate(size) // it takes no room
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	const big = 14 // with what they had before, three times Full
	for i := range big {
		name := fmt.Sprintf("worker-%02d", i)
		age := time.Duration(big-i) * time.Minute
		made(d.Path(name), Full, age)
		for n := range olds {
			made(oldPath(d.Path(name), n+1), Full, age)
		}
	}
	made(d.Path("agent-a"), Full, time.Hour)
	made(d.Path("standby-runs"), Full, time.Hour)
	if err := d.PruneWorkers(func(name string) bool { return name == "standby-runs" }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"worker-03": false, "worker-04": true, "worker-13": true, "agent-a": true, "standby-runs": true} {
		for n := range olds + 1 {
			if _, err := os.Stat(oldPath(d.Path(name), n)); (err == nil) != want && (n == 0 || name[0] == 'w') {
				t.Errorf("%s, %d logs before: %v, want it there: %v", name, n, err, want)
			}
		}
	}
}

package toolrun

import (
	"os"
	"testing"
)

func TestWantedThreads(t *testing.T) {
	for c, want := range map[[2]int64]int{{2, 0}: 22, {2, 512}: 22, {2, 64}: 22, {2, 20}: 10, {64, 512}: 84, {2, 1}: 0} {
		if got := wantedThreads(int(c[0]), c[1]); got != want {
			t.Errorf("%v: got %d, want %d", c, got, want)
		}
	}
}

// The threads are there before they are needed, also after tools that took one with
// them.
func TestReserve(t *testing.T) {
	const want = 40
	count := func() int {
		t.Helper()
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := count(); n >= want {
		t.Fatalf("%d threads before: this shows nothing", n)
	}
	reserved.want = want
	defer func() { reserved.want = 0 }()
	reserved.fill()
	full := count()
	if full < want {
		t.Errorf("%d threads", full)
	}
	reserved.fill()
	if n := count(); n > full+5 {
		t.Errorf("%d threads, and %d the second time", full, n)
	}
	for range 2 * want {
		cmd := sh("exit 0")
		cmd.NoNetwork = true
		runTool(t, cmd)
	}
	if n := count(); n < want-1 || n > full+5 {
		t.Errorf("%d threads, and %d after tools without network", full, n)
	}
}

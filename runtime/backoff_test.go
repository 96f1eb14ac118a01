package runtime

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	b := Backoff{Shortest: time.Second, Longest: 5 * time.Second, Healthy: time.Minute}
	for i, want := range []time.Duration{1, 2, 4, 5, 5} {
		if got := b.Failed(); got != want*time.Second || b.Last() != got {
			t.Errorf("pause %d: %s, want %s", i, got, want*time.Second)
		}
	}
	if got := b.Ended(time.Minute - 1); got != 5*time.Second {
		t.Errorf("after a short run: %s", got)
	}
	if got := b.Ended(time.Minute); got != time.Second {
		t.Errorf("after a healthy run: %s", got)
	}
	if b.Reset(); b.Last() != 0 || b.Failed() != time.Second {
		t.Errorf("after a reset: %s", b.Last())
	}
}

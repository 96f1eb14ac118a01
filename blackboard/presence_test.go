package blackboard

import (
	"testing"
	"time"
)

// A heartbeat that holds for longer than any promises was written before the clock was set
// back: a dead agent would count as alive for as long.
func TestLives(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for ahead, want := range map[time.Duration]bool{
		-time.Second: false, 0: false, time.Second: true, 12 * time.Second: true, MostPromised: true, MostPromised + 1: false, time.Hour: false,
	} {
		if got := Lives(now.Add(ahead), now); got != want {
			t.Errorf("%s ahead: %v", ahead, got)
		}
	}
}

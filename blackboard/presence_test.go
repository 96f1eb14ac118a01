package blackboard

import (
	"strings"
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

// The ledger has a bounded number of names.
func TestChangedText(t *testing.T) {
	var names []string
	for range 27 {
		names = append(names, "a.b")
	}
	for n, want := range map[int]string{0: "", 1: "a.b", 20: strings.TrimSpace(strings.Repeat("a.b ", 20)), 27: strings.Repeat("a.b ", 20) + "+7"} {
		if got := (Settings{Changed: names[:n]}).ChangedText(); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

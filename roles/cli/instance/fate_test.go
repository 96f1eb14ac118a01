package instance

import (
	"path/filepath"
	"testing"
)

// TestFateWithoutState: an instance whose state was not there when a command began is not removed for that.
func TestFateWithoutState(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	for want, in := range map[Fate]*Instance{Removed: {Dir: dir}, Stands: {Dir: dir, Lost: true}} {
		if got := FateOf(in); got != want {
			t.Errorf("lost %t: fate %d, want %d", in.Lost, got, want)
		}
	}
	if got := FateOf(&Instance{Dir: dir, Foreign: true}); got != Stands {
		t.Errorf("one that the engine alone tells of: %d", got)
	}
}

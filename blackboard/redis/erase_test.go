package redis

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// Erase removes the instance's keys, however many, and nobody else's.
func TestErase(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.raw("FLUSHALL")
		for _, key := range []string{"other", "sett:{testing}:events", "sett:{test}", "sett:{test}x", "sett:{tes}:a", "SETT:{test}:a"} {
			w.raw("SET", key, "1")
		}
		others := w.dump()
		w = newWorld(t, s)
		w.use()
		for i := range 2 * eraseStep {
			w.raw("SET", w.b.c.Keys.Artifact(fmt.Sprint(i)), "1")
		}
		mine := len(w.dump()) - len(others)
		if n, err := w.b.Erase(w.ctx); err != nil || n != mine {
			t.Errorf("removed %d of %d keys: %v", n, mine, err)
		}
		if got := w.dump(); !maps.Equal(got, others) {
			t.Errorf("left: %v", strings.Join(w.raw("KEYS", "*"), " "))
		}
		if n, err := w.b.Erase(w.ctx); err != nil || n != 0 {
			t.Errorf("once more: removed %d keys: %v", n, err)
		}
	})
}

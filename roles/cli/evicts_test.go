package cli

import (
	"strings"
	"testing"

	"sett/blackboard/redis/redistest"
	"sett/roles/role"
)

// A Redis of one's own that drops keys when its memory is full is named by sett up, once, and by sett doctor in the same words.
func TestUpOnARedisThatEvicts(t *testing.T) {
	r := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	e, _ := workspace(t)
	const want = "would, were its memory limited, forget artefacts (allkeys-lru)"
	for _, args := range [][]string{{"up", "--dry-run", "--redis-url", r.URL}, {"up", "--redis-url", r.URL}, {"up", "--redis-url", r.URL}} {
		if code, said := saidBy(t, e, args...); code != role.OK || strings.Count(said, want) != 1 {
			t.Errorf("%v ends with %d, and says\n%s", args, code, said)
		}
	}
	_, out := saidBy(t, e, "doctor")
	has(t, strings.Join(strings.Fields(out), " "), want)
	if _, err := invoke(t.Context(), e, "down", "--purge", "--yes"); err != nil {
		t.Error(err)
	}
}

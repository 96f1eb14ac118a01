package cli

import (
	"net"
	"strings"
	"testing"
	"time"

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

// An instance on a Redis of one's own, which a flag named, stays there without the flag: the hint about a lost
// ledger works as typed. Sett's own blackboard is begun where --embedded asks for it.
func TestUpStaysOnItsRedis(t *testing.T) {
	r := redistest.Start(t)
	e, _ := workspace(t)
	r.Send("ACL", "SETUSER", "ann", "on", ">cret", "~*", "&*", "+@all")
	url := strings.Replace(r.URL, "redis://", "redis://ann:cret@", 1)
	step := func(code role.Code, says string, args ...string) {
		t.Helper()
		got, said := saidBy(t, e, args...)
		if got != code || !strings.Contains(said, says) || strings.Contains(said, "cret") {
			t.Errorf("%v ends with %d, and says\n%s", args, got, said)
		}
	}
	stays := "the blackboard is on " + r.Addr() + ", as before; --embedded begins with sett's own"
	step(role.OK, "", "up", "--redis-url", url)
	step(role.OK, stays, "up", "--yes")
	r.Send("FLUSHALL")
	step(role.Environment, "up --adopt-empty", "goals")
	step(role.OK, stays, "up", "--adopt-empty", "--yes")
	step(role.OK, "", "goals")
	r.Send("CONFIG", "SET", "maxmemory", "100kb")
	_, out := saidBy(t, e, "doctor")
	has(t, strings.Join(strings.Fields(out), " "), "is full (maxmemory), and it refuses every write")
	r.Send("CONFIG", "SET", "maxmemory", "0")
	step(role.OK, "", "down")
	step(role.OK, `"kind": "external"`, "up", "--dry-run", "-o", "json")
	step(role.OK, stays, "up", "--yes")
	step(role.Usage, "sett down && sett up", "up", "--embedded", "--yes")
	step(role.OK, "", "down")
	step(role.OK, "what happened on "+r.Addr()+" is kept there", "up", "--embedded", "--yes")
	if code, said := saidBy(t, e, "up", "--yes"); code != role.OK || strings.Contains(said, stays) {
		t.Errorf("with sett's own, up ends with %d, and says\n%s", code, said)
	}
	step(role.OK, "", "down", "--purge", "--yes")
}

// A redis:// URL of a port that speaks TLS has the hint for it.
func TestURLWithoutTLS(t *testing.T) {
	certificate, key := signed(t, time.Now().Add(time.Hour), net.IPv4(127, 0, 0, 1))
	at := strings.Replace(secured(t, certificate, key), "rediss://", "redis://", 1)
	e, _ := workspace(t)
	if code, said := saidBy(t, e, "up", "--redis-url", at); code != role.Environment || !strings.Contains(said, "rediss:// in place of redis://") {
		t.Errorf("up ends with %d, and says\n%s", code, said)
	}
}

package cli

import (
	"os"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/words"
)

// refusals are the ways in which a blackboard that answers refuses writes.
var refusals = map[string]struct {
	args       []string // of a redis-server; none: the embedded one
	refuse     func(s *stage)
	says, hint string
}{
	"embedded, full disk": {nil, func(s *stage) {
		s.Server.FillDisk(true)
		s.t.Cleanup(func() { s.Server.FillDisk(false) })
	}, "MISCONF the write was refused, disk: ", "disk full"},
	"redis, full disk": {[]string{"--save", "3600 1"}, func(s *stage) {
		s.Must(os.RemoveAll(s.Server.Dir))
		s.Send("BGSAVE")
		s.Until("the snapshot has failed", func() bool {
			_, err := s.TrySend("PING")
			return err != nil
		})
	}, "MISCONF Redis is configured to save RDB snapshots", "disk full"},
	"redis, full memory": {[]string{"--maxmemory-policy", "noeviction"}, func(s *stage) {
		s.Send("CONFIG", "SET", "maxmemory", "1")
	}, "OOM command not allowed when used memory > 'maxmemory'", "raise maxmemory"},
	"redis, replica": {[]string{"--replica-read-only", "yes"}, func(s *stage) {
		s.Send("REPLICAOF", "127.0.0.1", "1")
	}, "READONLY You can't write against a read only replica", "redis.url has to name the primary"},
}

// A blackboard that refuses writes is named as the reason why nothing moves, once, with
// the way to make it take writes again.
func TestBoardRefusesWrites(t *testing.T) {
	for name, tc := range refusals {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, tc.args...)
			s.staff()
			goal := s.Goal("the goal")
			s.open(goal, s.all("writer", blackboard.BidExclusive)...)
			tc.refuse(s)
			stdout, stderr, err := s.run("list", "-v")
			s.Must(err)
			has(t, stdout, "degraded", words.Short(goal), "the blackboard refuses writes (the orchestrator has to decide on claim ")
			has(t, stderr, "sett: stage: blackboard "+s.Server.Addr()+" refuses writes: "+tc.says, tc.hint)
			if r := s.detailed(); !strings.HasPrefix(r.NoWrites, tc.says) || r.State != status.Degraded {
				t.Errorf("%+v", r)
			}
			_, _, err = s.run("wait", goal, "--timeout", "1s")
			if role.CodeOf(err) != role.TimedOut || !strings.Contains(err.Error(), "the blackboard refuses writes (the orchestrator has to decide on claim ") {
				t.Errorf("wait: %v", err)
			}
			_, _, err = s.run("forage", "another goal")
			if role.CodeOf(err) != role.Environment || !strings.HasPrefix(err.Error(), "blackboard "+s.Server.Addr()+" refuses writes: "+tc.says) ||
				strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), s.Server.Addr()) != 1 {
				t.Errorf("forage: %v", err)
			}
			has(t, hint(err), tc.hint)
			_, stderr, err = s.run("down")
			s.Must(err)
			has(t, stderr, "warning: the blackboard takes no writes ("+tc.says, "the next sett up queues the work of these agents again")
		})
	}
}

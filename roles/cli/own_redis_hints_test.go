package cli

import (
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/role"
)

// A key that another application wrote to is named, with the way on, by commands, the list and the doctor; a command that
// waits for the goal says so, too.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"events": "stream", "claims": "list"} {
		t.Run(key, func(t *testing.T) {
			s := newStage(t)
			s.staff()
			goal := s.Goal("the goal")
			s.open(goal, s.all("writer", blackboard.BidExclusive)...)
			s.Send("DEL", "sett:{stage}:"+key)
			s.Send("SET", "sett:{stage}:"+key, "garbage")
			says := "the key sett:{stage}:" + key + " at " + s.Server.Addr() + " has another type than Sett gives it (string, not " + want + "): another application wrote to it"
			renames := "RENAME 'sett:{stage}:" + key + "' 'foreign:{stage}:" + key + "'"
			stdout, stderr, err := s.run("list", "-v")
			s.Must(err)
			has(t, stdout, status.Degraded)
			has(t, stderr, "sett: stage: "+says, "sett: hint: keep that application off", renames)
			stdout, _, err = s.run("doctor")
			if role.CodeOf(err) == role.OK {
				t.Error("the doctor finds nothing")
			}
			has(t, strings.Join(strings.Fields(stdout), " "), says, renames)
			if key == "events" {
				_, _, err = s.run("goals")
				if err == nil || err.Error() != says || role.CodeOf(err) != role.Environment {
					t.Errorf("goals: %v, code %d", err, role.CodeOf(err))
				}
				has(t, hint(err), renames)
			}
		})
	}
}

// A follower whose goal waits for nothing that can be read says why.
func TestForeignKeyWhileWatching(t *testing.T) {
	s := newStage(t)
	s.staff()
	goal := s.Goal("the goal")
	c := s.start("watch", "--workflow", goal, "--since", "all", "--exit-when-done", "--timeout", "60s")
	s.Send("SET", "sett:{stage}:claims", "garbage")
	s.Send("DEL", "sett:{stage}:artefacts:unclaimed") // as the move that opens a claim leaves it
	s.Until("the key is named", func() bool {
		return strings.Contains(c.err.String(), "the key sett:{stage}:claims at "+s.Server.Addr()+" has another type") && strings.Contains(c.err.String(), "sett doctor")
	})
	c.stop()
	_ = c.wait()
}

// A Redis of one's own that does not answer has no log of Sett's: hints do not name it, and it is no part.
func TestOwnRedisHasNoLog(t *testing.T) {
	s := newStage(t)
	s.staff()
	_, _, err := s.run("logs", "blackboard")
	if role.CodeOf(err) != role.NotFound || !strings.Contains(err.Error(), "there is no log of the blackboard of stage: it is a Redis of your own, at redis://") {
		t.Errorf("logs: %v", err)
	}
	s.Server.Kill()
	const asks = "is that server up, and the URL right?"
	stdout, stderr, err := s.run("list")
	s.Must(err)
	has(t, stdout, status.Unreachable)
	has(t, stderr, "sett: hint: "+asks)
	stdout, _, _ = s.run("doctor")
	said := strings.Join(strings.Fields(stdout), " ")
	has(t, said, "its blackboard does not answer", asks)
	for _, args := range [][]string{{"goals"}, {"wait", "@last", "--timeout", (300 * time.Millisecond).String()}} {
		_, _, err = s.run(args...)
		has(t, hint(err), asks, "--redis-url or SETT_REDIS_URL")
		said += hint(err)
	}
	if all := said + stderr; strings.Contains(all, "logs blackboard") || strings.Contains(all, "logs --name stage blackboard") {
		t.Errorf("a log that there is not: %s", said+stderr)
	}
}

// The doctor asks the Redis of an instance that is stopped, and names a ledger that is gone or a user that may not ask; without
// those it says as before that the instance is stopped.
func TestDoctorOfStopped(t *testing.T) {
	s := newStage(t, "--maxclients", "1000") // a Redis with users
	said := func() string {
		stdout, _, _ := s.run("doctor")
		return strings.Join(strings.Fields(stdout), " ")
	}
	in := &instance.Instance{Dir: s.dir()}
	s.change(func(state *instance.State) { in.State = *state })
	mark, err := s.board.Settle(t.Context(), "mark", false, "ann")
	s.Must(err)
	s.Must(in.SetMark(mark))
	has(t, said(), "skipped instance stage it is stopped")
	s.Send("FLUSHALL")
	has(t, said(), "problem instance stage it is stopped, and its blackboard cannot be used: the blackboard at "+s.Server.Addr(), "the ledger is gone", "ledger import FILE")
	s.Send("ACL", "SETUSER", "narrow", "on", ">pw", "~*", "&*", "+@read", "+@write")
	s.change(func(state *instance.State) {
		state.URL = strings.Replace(state.URL, "redis://", "redis://narrow:pw@", 1)
	})
	all := said()
	has(t, all, "problem instance stage it is stopped", "NOPERM", "ACL SETUSER narrow +client|setname", "its Redis could not be asked")
	if strings.Contains(all, "what Sett starts itself is durable") {
		t.Error("the Redis was not asked")
	}
}

// A right that is taken while work goes on, and that a script misses behind its first write, leaves a goal that may be posted:
// the error says so in plain words, and the doctor names the right.
func TestHalfMadeGoal(t *testing.T) {
	s := newStage(t, "--maxclients", "1000") // a Redis with users
	s.staff()
	s.Send("ACL", "SETUSER", "narrow", "on", ">pw", "~*", "&*", "+@all", "-xadd")
	s.change(func(state *instance.State) {
		state.URL = strings.Replace(state.URL, "redis://", "redis://narrow:pw@", 1)
	})
	_, _, err := s.run("forage", "the goal")
	if role.CodeOf(err) != role.Environment || err.Error() != "the user of blackboard "+s.Server.Addr()+" lacks a right that a script of Sett needs: a move may be half made" {
		t.Errorf("forage: %v, code %d", err, role.CodeOf(err))
	}
	has(t, hint(err), "sett doctor names the right", "sett goals")
	stdout, _, _ := s.run("doctor")
	has(t, strings.Join(strings.Fields(stdout), " "), "it may not: xadd", "ACL SETUSER narrow +xadd")
	_, stderr, err := s.run("list")
	s.Must(err)
	if strings.Contains(stderr, "user_script") {
		t.Errorf("list: %s", stderr)
	}
}

// A goal whose record is lost is named by the doctor, and sett why has a hint.
func TestLostGoal(t *testing.T) {
	for _, kind := range []string{"workflow", "artifact"} {
		t.Run(kind, func(t *testing.T) {
			s := newStage(t)
			s.staff()
			goal := s.Goal("the goal")
			s.open(goal, s.all("writer", blackboard.BidExclusive)...)
			s.Send("DEL", "sett:{stage}:"+kind+":"+goal)
			if kind == "workflow" {
				s.Send("HINCRBY", "sett:{stage}:workflow:"+goal, "outstanding", "1") // as work that goes on leaves it
			}
			stdout, _, err := s.run("doctor")
			if role.CodeOf(err) == role.OK {
				t.Error("the doctor finds nothing")
			}
			has(t, strings.Join(strings.Fields(stdout), " "), "problem instance stage", goal)
			if kind == "workflow" {
				_, _, err = s.run("why", goal)
				if err == nil || !strings.Contains(err.Error(), "corrupt record") {
					t.Errorf("why: %v", err)
				}
				has(t, hint(err), "sett ledger export")
			}
		})
	}
}

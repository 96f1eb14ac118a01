package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

// settled is a stage whose blackboard has its mark, which the instance knows.
func settled(t *testing.T) (*stage, *instance.Instance) {
	t.Helper()
	s := newStage(t)
	_, err := s.board.Settle(s.Ctx, "mine", false, "test")
	s.Must(err)
	in, err := instance.LoadInstance(filepath.Join(s.home, "sett", "stage"))
	s.Must(err)
	s.Must(in.SetMark(blackboard.Mark{ID: "mine"}))
	return s, in
}

// lose are the ways in which a blackboard stops being the one of before, with the words
// about it.
var lose = map[string]struct {
	do         func(s *stage)
	loss, says string
	hint       string
}{
	"flushed": {func(s *stage) { s.Send("FLUSHALL") }, "unmarked", "the ledger is gone", "sett --name stage ledger import FILE"},
	"another": {func(s *stage) { s.Send("HSET", "sett:{stage}:instance", "mark", "other") }, "foreign", "it has another ledger", "redis.url"},
	"older": {func(s *stage) { s.Send("DEL", "sett:{stage}:events") }, "older", "an older copy, with 0 entries in its ledger of ",
		"bring the newer data back"},
}

// An older copy is exported all the same, and the export says what it is.
func TestLedgerOlder(t *testing.T) {
	s, _ := settled(t)
	s.Goal("the goal")
	_, _, err := s.run("goals")
	s.Must(err)
	lose["older"].do(s)
	_, stderr, err := s.run("ledger", "export", "--file", "x")
	if role.CodeOf(err) != role.Failed || !strings.Contains(stderr, "warning: the blackboard at ") || !strings.Contains(stderr, lose["older"].says) {
		t.Errorf("it ended with %v, and said %q", err, stderr)
	}
	if _, err := os.Stat(filepath.Join(s.root, "x")); err != nil {
		t.Error(err)
	}
}

// Commands that meet a blackboard that is not the one of before end with 7, say so with
// the ways on, and change nothing there; list and doctor name it.
func TestLostLedger(t *testing.T) {
	for name, tc := range lose {
		t.Run(name, func(t *testing.T) {
			s, in := settled(t)
			s.staff()
			goal := s.Goal("the goal")
			_, _, err := s.run("goals")
			s.Must(err)
			if seen := in.Mark(); seen.Entries < 5 || seen.ID != "mine" {
				t.Errorf("seen: %+v", seen)
			}
			tc.do(s)
			for _, args := range [][]string{{"goals"}, {"forage", "another goal"}, {"show", goal}, {"questions"}, {"ledger", "export", "--file", "x"}} {
				if name == "older" && args[0] == "ledger" {
					continue // see TestLedgerOlder
				}
				_, _, err := s.run(args...)
				if role.CodeOf(err) != role.Environment {
					t.Errorf("%v: %v", args, err)
					continue
				}
				has(t, err.Error(), "the blackboard at "+s.Server.Addr()+" is not the one that stage had: ", tc.says)
				has(t, hint(err), tc.hint, "up --adopt-empty")
			}
			stdout, stderr, err := s.run("list")
			s.Must(err)
			has(t, stdout, "degraded")
			has(t, stderr, tc.says, tc.hint)
			if r := s.detailed(); r.NoLedger != tc.loss {
				t.Errorf("%+v", r)
			}
			stdout, _, _ = s.run("doctor")
			has(t, stdout, tc.says, tc.hint)
			if n := s.Send("LLEN", "sett:{stage}:artefacts"); n != ":1" && (n != ":0" || name != "flushed") {
				t.Errorf("%s goals", n)
			}
		})
	}
}

// A goal that is waited for on a blackboard that was emptied ends the wait with 3, and
// with the reason; on an older copy that has the goal, with 7.
func TestWaitOnLostLedger(t *testing.T) {
	for name, want := range map[string]role.Code{"flushed": role.NotFound, "older": role.Environment, "another": role.Environment} {
		t.Run(name, func(t *testing.T) {
			s, _ := settled(t)
			posted := s.start("forage", "--wait", "the goal")
			goal := posted.goalOf()
			calls := []*call{posted, s.start("wait", goal), s.start("watch", "--workflow", goal)}
			all := s.start("watch")
			s.Until("all follow the ledger", func() bool { return s.Server.Followers() == len(calls)+1 })
			lose[name].do(s)
			for _, c := range calls {
				err := c.wait()
				if role.CodeOf(err) != want {
					t.Errorf("%v", err)
				}
				has(t, err.Error(), "cannot be found any more: the blackboard at ", lose[name].says)
				has(t, hint(err), lose[name].hint)
				if want == role.NotFound {
					has(t, err.Error(), "goal "+words.Short(goal))
				}
			}
			if err := all.wait(); role.CodeOf(err) != role.Environment {
				t.Errorf("watch: %v", err)
			}
		})
	}
}

// An import brings a ledger back, and with it the instance's mark: commands go on.
func TestImportAfterLoss(t *testing.T) {
	s, in := settled(t)
	goal := s.Goal("the goal")
	_, _, err := s.run("ledger", "export", "--file", "backup")
	s.Must(err)
	for range 3 {
		s.Goal("later")
	}
	_, _, err = s.run("goals")
	s.Must(err)
	before := in.Mark()
	s.Send("FLUSHALL")
	_, stderr, err := s.run("ledger", "import", "backup")
	s.Must(err)
	has(t, stderr, "imported")
	if after := in.Mark(); after.ID != before.ID || after.Adopted != before.Adopted+1 || after.Entries >= before.Entries+3 {
		t.Errorf("%+v after %+v", after, before)
	}
	stdout, _, err := s.run("goals")
	s.Must(err)
	has(t, stdout, words.Short(goal))
}

// A blackboard that has never been marked, as an older sett left it, is used without a
// word; so is a broken file of marks.
func TestUnmarkedBlackboard(t *testing.T) {
	s := newStage(t)
	s.Goal("the goal")
	for _, file := range []string{"", "{", "[]"} {
		s.Must(os.WriteFile(filepath.Join(s.home, "sett", "stage", "board.json"), []byte(file), 0o600))
		stdout, stderr, err := s.run("goals")
		if err != nil || stderr != "" || !strings.Contains(stdout, "the goal") {
			t.Errorf("%q: %v, %s", file, err, stderr)
		}
	}
}

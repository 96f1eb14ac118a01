package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/roles/role"
)

// dawdling has an agent whose tool waits for a file.
func dawdling() clan {
	return clan{agents: []agent{{name: "doer", bids: "GoalDefined: exclusive", tool: `
case $in in *slow*) until [ -e "$gates/go" ]; do sleep 0.05; done;; esac
say Terminal Done done`}}}
}

// ledgerLosses are the ways in which a Redis loses what it acknowledged, and what is
// said then. A copy is of the time before the last goal.
var ledgerLosses = map[string]struct {
	lose  func(t *testing.T, s *redistest.Server, instance, copied string)
	says  string
	waits int // the exit code of a wait for a goal
}{
	"flushed": {func(t *testing.T, s *redistest.Server, _, _ string) { call(t, s, "FLUSHALL") }, "the ledger is gone", 3},
	"back without its data": {func(t *testing.T, s *redistest.Server, _, _ string) {
		s.Kill()
		if err := os.RemoveAll(filepath.Join(s.Dir, "appendonlydir")); err != nil {
			t.Fatal(err)
		}
		s.Restart()
	}, "the ledger is gone", 3},
	"the board of another": {func(t *testing.T, s *redistest.Server, name, _ string) {
		call(t, s, "FLUSHALL")
		call(t, s, "HSET", "sett:{"+name+"}:instance", "mark", "another")
	}, "it has another ledger", 3},
	"an older copy": {func(t *testing.T, s *redistest.Server, _, copied string) {
		s.Kill()
		aof := filepath.Join(s.Dir, "appendonlydir")
		if err := os.RemoveAll(aof); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(aof, os.DirFS(copied)); err != nil {
			t.Fatal(err)
		}
		s.Restart()
	}, "it is an older copy, with ", 3},
}

// A Redis that lost the ledger under a running instance is not worked on: a wait ends
// with the reason, commands and another up end with 7, nothing is granted. up
// --adopt-empty goes on with what is there, and epochs go on, too.
func TestLostLedger(t *testing.T) {
	for name, tc := range ledgerLosses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, redistest.Durable...)
			in := start(t, options{clan: dawdling(), url: s.URL})
			in.must("forage", "--wait", "one")
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(filepath.Join(s.Dir, "appendonlydir"))); err != nil {
				t.Fatal(err)
			}
			epoch, inCopy := in.epoch(s), entriesOf(t, s, in.name)
			in.must("forage", "--wait", "two")
			var said bytes.Buffer
			waiting := in.command("forage", "--wait", "slow")
			waiting.Stderr = &said
			if err := waiting.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, enough, "the slow goal is being worked on", func() bool { _, out := in.sett("list", "-v"); return strings.Contains(out, "doer is running") })
			if name == "an older copy" {
				in.sees(inCopy + 1)
			}
			began := time.Now()
			tc.lose(t, s, in.name, copied)

			_ = waiting.Wait()
			if code := waiting.ProcessState.ExitCode(); code != tc.waits || !strings.Contains(said.String(), tc.says) {
				t.Errorf("the wait ended with %d after %s: %s", code, time.Since(began), said.String())
			}
			for _, args := range [][]string{{"goals"}, {"forage", "three"}, {"up"}} {
				code, out := in.sett(args...)
				if code != 7 || !strings.Contains(out, tc.says) || !strings.Contains(out, "sett up --adopt-empty") {
					t.Errorf("sett %v ended with %d: %s", args, code, out)
				}
			}
			in.says("orchestrator", "this is not the blackboard of before: nothing is granted")
			if name != "an older copy" { // which has all that a cub sees before its first heartbeat
				in.says("doer", "this is not the blackboard that the cub worked on: it ends")
			}
			goal := in.post("not yet")
			in.gate("go")
			if claims := in.claims(goal); len(claims) != 0 {
				t.Errorf("a claim was opened: %v", claims)
			}
			if name == "the board of another" {
				if code, out := in.sett("up", "--adopt-empty"); code != 7 || !strings.Contains(out, "sett down, then sett up --adopt-empty") {
					t.Errorf("adopting another's while the instance runs ended with %d: %s", code, out)
				}
				in.must("down")
			}
			out := in.must("up", "--adopt-empty")
			if !strings.Contains(out, "adopted as it is") {
				t.Errorf("said %s", out)
			}
			in.await(goal, enough)
			in.must("goals")
			if later := in.epoch(s); later <= epoch {
				t.Errorf("epoch %d after %d", later, epoch)
			}
			if out := in.must("up", "--adopt-empty"); strings.Contains(out, "adopted") {
				t.Errorf("adopted again: %s", out)
			}
			in.must("down", "--purge", "--yes")
			in.up() // it begins anew, without a word about a loss
		})
	}
}

// entriesOf is the number of a ledger's entries.
func entriesOf(t *testing.T, s *redistest.Server, name string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.Join(call(t, s, "XLEN", "sett:{"+name+"}:events"), ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sees waits until the orchestrator has kept a sight of a ledger with so many entries: an older copy is one
// only to somebody that saw more.
func (in *instance) sees(entries int) {
	in.t.Helper()
	eventually(in.t, enough, "the orchestrator's sight of the ledger is kept", func() bool {
		text, err := os.ReadFile(filepath.Join(in.stateDir(), role.SightFile))
		if err != nil {
			return false
		}
		m, err := blackboard.ParseMark(string(text))
		return err == nil && m.Entries >= int64(entries)
	})
}

// claims returns the claims of a goal.
func (in *instance) claims(goal string) []string {
	in.t.Helper()
	ids, err := in.board.Index.WorkflowClaims(in.t.Context(), goal)
	if err != nil {
		in.t.Fatal(err)
	}
	return ids
}

// epoch is the number of the newest epoch.
func (in *instance) epoch(s *redistest.Server) int {
	in.t.Helper()
	number, _, _ := strings.Cut(call(in.t, s, "GET", "sett:{"+in.name+"}:epoch")[0], " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		in.t.Fatal(err)
	}
	return n
}

// says waits for a line in the log of a part.
func (in *instance) says(part, line string) {
	in.t.Helper()
	eventually(in.t, enough, part+" says "+line, func() bool {
		_, out := in.sett("logs", part)
		return strings.Contains(out, line)
	})
}

// An adopted copy names a leader that is gone, whose lease ends far ahead: the clock was
// set back since. Nobody waits for that.
func TestAdoptedCopyOfAnotherTime(t *testing.T) {
	t.Parallel()
	s := redistest.StartWithClock(t, redistest.Durable...)
	in := start(t, options{clan: dawdling(), url: s.URL})
	s.Shift(time.Hour)
	in.must("forage", "--wait", "one")
	eventually(t, enough, "a lease by the new clock", func() bool {
		l, err := in.board.Roster.Leader(t.Context())
		return err == nil && l.Until.After(time.Now().Add(50*time.Minute))
	})
	s.Kill()
	aof := filepath.Join(s.Dir, "appendonlydir")
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(aof)); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	in.kill("orchestrator")
	in.must("forage", "--wait", "two")

	s.Shift(0)
	ledgerLosses["an older copy"].lose(t, s, in.name, copied)
	in.must("up", "--adopt-empty")
	in.await(in.post("three"), enough)
}

// An orchestrator that saw nothing of what a copy lacks works on it, and takes the newer
// data for the wrong ones when they come back, also after a restart. Commands do not, so a
// person says which ones are right.
func TestOrchestratorWorkedOnACopy(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Durable...)
	in := start(t, options{clan: dawdling(), url: s.URL})
	in.must("forage", "--wait", "one")
	aof := filepath.Join(s.Dir, "appendonlydir")
	put := func(from, to string) {
		t.Helper()
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	copied, newer := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "newer")
	in.signal("orchestrator", syscall.SIGSTOP)
	put(aof, copied)
	goal := in.post("of the newer data")
	s.Kill()
	put(aof, newer)
	put(copied, aof)
	s.Restart()
	in.signal("orchestrator", syscall.SIGCONT)
	in.await(in.post("of the copy"), enough)
	eventually(t, enough, "a sight of the copy", func() bool {
		seen, err := os.ReadFile(filepath.Join(in.stateDir(), "sight"))
		now, unread := in.board.Look(t.Context())
		return err == nil && unread == nil && string(seen) == now.String()
	})
	s.Kill()
	put(newer, aof)
	s.Restart()
	in.says("orchestrator", "nothing is granted")
	in.kill("orchestrator")
	eventually(t, enough, "the new orchestrator says so, too", func() bool {
		_, out := in.sett("logs", "orchestrator")
		return strings.Count(out, "nothing is granted") > 1
	})
	in.must("up", "--adopt-empty")
	in.await(goal, enough)
}

// Local mode's own blackboard, put back or gone while the instance was down, is met
// with the same words.
func TestLostLocalLedger(t *testing.T) {
	t.Parallel()
	in := start(t, options{clan: dawdling()})
	in.must("forage", "--wait", "one")
	in.must("down")
	data, copied := filepath.Join(in.stateDir(), "blackboard"), filepath.Join(t.TempDir(), "copy")
	swap := func(from, to string) {
		t.Helper()
		if out, err := exec.Command("sh", "-c", `rm -rf "$2" && cp -a "$1" "$2"`, "sh", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	swap(data, copied)
	in.up()
	in.must("forage", "--wait", "two")
	in.must("down")
	swap(copied, data)
	code, out := in.sett("up")
	if code != 7 || !strings.Contains(out, "it is an older copy, with ") || !strings.Contains(out, "sett up --adopt-empty") {
		t.Errorf("up ended with %d: %s", code, out)
	}
	if _, runs := in.running("orchestrator"); runs {
		t.Error("the orchestrator runs")
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if code, out = in.sett("up"); code != 7 || !strings.Contains(out, "the ledger is gone") {
		t.Errorf("up ended with %d: %s", code, out)
	}
	in.must("up", "--adopt-empty")
	in.must("forage", "--wait", "three")
	in.must("down", "--purge", "--yes")
	in.up()
}

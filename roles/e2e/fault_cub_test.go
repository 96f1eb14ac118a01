package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
)

// marks is a directory outside of everything where tools leave word.
func marks(t testing.TB) (dir, more string) {
	t.Helper()
	dir = t.TempDir()
	return dir, "environment: [\"MARKS=" + dir + "\"]\n"
}

// marked waits for a file that a tool writes, and returns what is in it.
func marked(t testing.TB, path string) string {
	t.Helper()
	var text []byte
	eventually(t, enough, "mark "+filepath.Base(path), func() bool {
		text, _ = os.ReadFile(path)
		return strings.HasSuffix(string(text), "\n")
	})
	return strings.TrimSpace(string(text))
}

// gone says whether a process ended. One that init was slow to reap did, too: it is
// no more than its number and exit code.
func gone(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return false
	}
	if syscall.Kill(n, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return syscall.Kill(n, 0) != nil // reaped just now; or there is no /proc
	}
	_, state, _ := strings.Cut(string(stat), ") ") // after the program's name
	return strings.HasPrefix(state, "Z")
}

// failure returns the one Failure of a goal.
func (in *instance) failure(goal string) (blackboard.Artefact, blackboard.FailureReport) {
	in.t.Helper()
	all, err := in.artefacts(goal)
	if err != nil {
		in.t.Fatal(err)
	}
	var found []blackboard.Artefact
	for _, a := range all {
		if a.StructuralType == blackboard.Failure {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		in.t.Fatalf("%d failures, want 1", len(found))
	}
	var r blackboard.FailureReport
	if err := json.Unmarshal([]byte(found[0].Payload), &r); err != nil {
		in.t.Fatal(err)
	}
	return found[0], r
}

func (in *instance) grant(goal, agent string) blackboard.Grant {
	in.t.Helper()
	g, err := in.board.Records.Grant(context.Background(), blackboard.BiddingClaimID(goal), agent)
	if err != nil {
		in.t.Fatal(err)
	}
	return g
}

func (in *instance) status(goal string) blackboard.WorkflowStatus {
	in.t.Helper()
	w, err := in.board.Records.Workflow(context.Background(), goal)
	if err != nil {
		in.t.Fatal(err)
	}
	return w.Status
}

// hangs is a tool that never ends for goals that say so, with a child.
const hangs = `
if [ "$SETT_TARGET_PAYLOAD" = hang ]; then
	echo "began" >&2
	sleep 1000 & echo $! >"$MARKS/child"; echo $$ >"$MARKS/tool"
	wait
fi
say Terminal Done done`

// TestCubKilledWhileToolRuns ends the claim with a Failure within five seconds and
// the tool with it, and the next claim runs.
func TestCubKilledWhileToolRuns(t *testing.T) {
	t.Parallel()
	dir, more := marks(t)
	in := start(t, options{clan: solo(hangs, more)})
	goal := in.post("hang")
	tool, child := marked(t, filepath.Join(dir, "tool")), marked(t, filepath.Join(dir, "child"))
	began := time.Now()
	in.kill("agent-solo")
	in.await(goal, 5*time.Second)
	t.Logf("the claim ended %s after the death", time.Since(began).Round(time.Millisecond))
	a, report := in.failure(goal)
	if a.Type != blackboard.TypeAgentCrashed || report.Agent != "solo" || report.Attempt != 1 || in.status(goal) != blackboard.WorkflowFailed {
		t.Errorf("failure: %s %+v", a.Type, report)
	}
	eventually(t, enough, "end of the tool", func() bool { return gone(tool) && gone(child) })
	next := in.post("quick")
	in.await(next, enough)
	if in.status(next) != blackboard.WorkflowAchieved {
		t.Errorf("next goal: %s", in.status(next))
	}
	in.atRest()
}

// TestCubStoppedLosesNothing stops a cub with SIGTERM while its tool runs: within
// the grace the work is finished, beyond it it is handed back and done again.
func TestCubStoppedLosesNothing(t *testing.T) {
	t.Parallel()
	dir, more := marks(t)
	slow := `
echo $$ >"$MARKS/$SETT_TARGET_PAYLOAD-$SETT_ATTEMPT"
case $SETT_TARGET_PAYLOAD-$SETT_ATTEMPT in
short-1) until [ -e "$MARKS/told" ]; do sleep 0.02; done ;;
long-1) sleep 1000 ;;
esac
say Terminal Done "attempt $SETT_ATTEMPT"`
	in := start(t, options{clan: solo(slow, more+"stop_grace_period: 3s\n")})
	for _, c := range []struct {
		goal    string
		attempt int
	}{{"short", 1}, {"long", 2}} {
		in.settled()
		goal := in.post(c.goal)
		tool := marked(t, filepath.Join(dir, c.goal+"-1"))
		in.signal("agent-solo", syscall.SIGTERM)
		file(t, filepath.Join(dir, "told"), "\n", 0o600)
		in.await(goal, enough)
		if g := in.grant(goal, "solo"); in.status(goal) != blackboard.WorkflowAchieved || g.Attempt != c.attempt || g.Crashes != 0 {
			t.Errorf("%s: %s %+v", c.goal, in.status(goal), g)
		}
		eventually(t, enough, "end of the tool", func() bool { return gone(tool) })
	}
	in.settled()
	in.atRest()
}

// TestSilentBidScript has a bid that is never made: it delays its claim and no
// other, and is named.
func TestSilentBidScript(t *testing.T) {
	t.Parallel()
	dir, more := marks(t)
	c := solo(finished, "")
	c.agents = append(c.agents, agent{name: "mute", script: `
case $in in *'"hang"'*) until [ -e "$MARKS/speak" ]; do sleep 0.05; done ;; esac
echo ignore`, tool: finished, more: more})
	in := start(t, options{clan: c})
	delayed := in.post("hang")
	in.afterEntries(delayed, 3) // posted, opened, solo's bid
	for range 3 {
		goal := in.post("other")
		in.await(goal, enough)
	}
	if in.status(delayed) != blackboard.WorkflowActive {
		t.Errorf("the delayed goal is %s", in.status(delayed))
	}
	if out := in.must("show", delayed); !strings.Contains(out, "mute") || !strings.Contains(out, "bid") {
		t.Errorf("sett show does not name who is waited for:\n%s", out)
	}
	file(t, filepath.Join(dir, "speak"), "\n", 0o600)
	in.await(delayed, enough)
	in.atRest()
}

// TestFrozenCub stops a cub in its tracks. It is named, and in the end taken for
// hung and replaced, without anyone's help.
func TestFrozenCub(t *testing.T) {
	t.Parallel()
	c := solo(finished, "")
	c.agents = append(c.agents, agent{name: "frozen", bids: "Nothing: review", tool: finished})
	in := start(t, options{clan: c})
	in.signal("agent-frozen", syscall.SIGSTOP)
	goal := in.post("x")
	in.afterEntries(goal, 3)
	if out := in.must("show", goal); !strings.Contains(out, "frozen") {
		t.Errorf("sett show does not name who is waited for:\n%s", out)
	}
	eventually(t, enough, "sett list names it", func() bool {
		return strings.Contains(in.must("list"), "agent frozen is not ready")
	})
	began := time.Now()
	in.await(goal, 75*time.Second)
	t.Logf("replaced and done %s later", time.Since(began).Round(time.Second))
	in.settled()
	in.atRest()
	// An auditor reads that Sett itself ended it, why, and that another one came.
	events, err := in.board.Ledger.History(t.Context(), "0-0", 500)
	if err != nil {
		t.Fatal(err)
	}
	var story []string
	for _, e := range events {
		if e.Kind == blackboard.EventAgent && e.Agent == "frozen" {
			story = append(story, e.To+" "+e.Reason)
		}
	}
	if len(story) != 3 || !strings.HasPrefix(story[1], "gone silent for ") || !strings.HasPrefix(story[2], "ready") {
		t.Errorf("the ledger tells of the frozen agent: %q", story)
	}
}

// TestKillKeeperAndAll kills the keeper alone, which is started again, and then
// everything at once, after which sett up goes on.
func TestKillKeeperAndAll(t *testing.T) {
	t.Parallel()
	in := start(t, options{clan: reviewed(drafter, "retries: 1\n")})
	goal := in.post("x")
	in.await(goal, enough)
	want := in.outcome(goal)
	in.bounce("keeper")
	for _, entries := range []int{2, 20, 45} {
		goal := in.post("x")
		in.afterEntries(goal, entries)
		in.killAll()
		in.up()
		in.await(goal, enough)
		if got := in.outcome(goal); got != want {
			t.Errorf("all died after %d entries, and it ended otherwise:\n%s", entries, diff(want, got))
		}
	}
	in.atRest()
}

// TestTwoUps starts an instance twice at the same time: one of them does it.
func TestTwoUps(t *testing.T) {
	t.Parallel()
	in := prepare(t, options{clan: solo(finished, "")})
	type end struct {
		code int
		out  string
	}
	ends := make(chan end)
	for range 2 {
		go func() { code, out := in.sett("up"); ends <- end{code, out} }()
	}
	done := 0
	for range 2 {
		if e := <-ends; e.code == 0 {
			done++
		} else if !strings.Contains(e.out, "another sett up") {
			t.Errorf("sett up ended with %d:\n%s", e.code, e.out)
		}
	}
	if done == 0 {
		t.Error("neither sett up succeeded")
	}
	in.open()
	in.settled()
	units, err := in.at.List(context.Background(), nil)
	if err != nil || len(units) != 5 { // with the repository
		t.Errorf("units: %+v %v", units, err)
	}
	in.await(in.post("x"), enough)
	in.atRest()
}

package e2e

import (
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
)

// TestDockerPortTaken has somebody else take the blackboard's port while the
// instance is down: it comes back at another one, with its ledger.
func TestDockerPortTaken(t *testing.T) {
	t.Parallel()
	in := start(t, inContainers(solo(finished, "")))
	goal := in.post("x")
	in.await(goal, enough)
	addr := in.board.Addr()
	in.must("down")
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	in.up()
	if in.status(goal) != blackboard.WorkflowAchieved || in.board.Addr() == addr {
		t.Errorf("goal %s at %s, before at %s", in.status(goal), in.board.Addr(), addr)
	}
}

// TestDockerDown ends instances as they should not be found: once more, half
// killed, without their workspace, without their state, and all there are.
func TestDockerDown(t *testing.T) {
	t.Parallel()
	in := start(t, inContainers(solo(finished, "")))
	goal := in.post("x")
	in.await(goal, enough)
	in.must("down")
	in.must("down")
	if got, want := in.leftOnEngine(), []string{"volume sett-" + in.name + ".ledger"}; !slices.Equal(got, want) {
		t.Errorf("after down there is %v, want %v", got, want)
	}
	in.up()
	if in.status(goal) != blackboard.WorkflowAchieved {
		t.Errorf("after down and up the goal is %s", in.status(goal))
	}
	in.docker("rm", "--force", in.container("orchestrator"), in.container("agent-solo"))
	in.must("down", "--purge", "--yes")
	in.purged("down of half an instance")

	t.Run("without its workspace", func(t *testing.T) {
		t.Parallel()
		in := start(t, inContainers(solo(finished, "")))
		away := in.repo + "-away"
		if err := os.Rename(in.repo, away); err != nil {
			t.Fatal(err)
		}
		in.elsewhere("down", "--purge", "--yes", "--name", in.name)
		in.purged("down without the workspace")
		if err := os.Rename(away, in.repo); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("without its state", func(t *testing.T) {
		t.Parallel()
		in := start(t, inContainers(solo(finished, "")))
		in.board.Close()
		in.board = nil
		if err := os.RemoveAll(in.stateDir()); err != nil {
			t.Fatal(err)
		}
		if out := in.elsewhere("list", "--all"); !strings.Contains(out, in.name) {
			t.Errorf("sett list --all does not know %s:\n%s", in.name, out)
		}
		in.elsewhere("down", "--purge", "--yes", "--name", in.name)
		in.purged("down without the state")
	})
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		// Of the engine's instances all but one are hidden from sett.
		o := inContainers(solo(finished, ""))
		o.name = "e2e-all-" + strings.TrimPrefix(static.version, "e2e-")
		o.host = newEngineProxy(t, o.name).host()
		in := start(t, o)
		if out := in.elsewhere("list", "--all"); !strings.Contains(out, in.name) {
			t.Errorf("sett list --all does not know %s:\n%s", in.name, out)
		}
		in.elsewhere("down", "--all", "--purge", "--yes")
		in.purged("down --all")
	})
}

// elsewhere runs a command from another directory, which has to succeed.
func (in *instance) elsewhere(args ...string) string {
	in.t.Helper()
	cmd := in.command(args...)
	cmd.Dir = in.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		in.t.Fatalf("sett %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestDockerAgainAndAgain goes through up, a workflow and down --purge again and
// again, interrupted now and then. Afterwards all is as it was.
func TestDockerAgainAndAgain(t *testing.T) {
	t.Parallel()
	in := prepare(t, inContainers(solo(finished, "")))
	parts := []string{"network ", "container " + in.container("blackboard"), "container " + in.container("orchestrator")}
	times := 12
	if full() {
		times = 20
	}
	began := time.Now()
	for i := range times {
		if i%4 == 3 {
			in.upUntil(parts[i/4%len(parts)], syscall.SIGINT)
			in.nothing("an interrupted sett up")
			continue
		}
		in.up()
		in.must("forage", "--goal", "x", "--wait=60s")
		in.board.Close()
		in.board = nil
		in.must("down", "--purge", "--yes")
		in.purged("sett down --purge")
		if t.Failed() {
			return
		}
	}
	t.Logf("%d times in %s", times, time.Since(began).Round(time.Second))
}

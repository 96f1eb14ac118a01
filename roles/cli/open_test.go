package cli

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"

	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/docker"
)

// asks is a tool that asks before it does anything.
const asks = `#!/bin/sh
if grep -q '"structural_type":"Answer"'; then
  echo '{"structural_type":"Terminal","artefact_type":"Done","artefact_payload":"done"}'
else
  echo '{"structural_type":"Question","artefact_type":"Question","artefact_payload":"Which colour?"}'
fi
`

// mainProcesses are those of the instance's containers, as this machine numbers them.
func mainProcesses(t *testing.T, r *docker.Runtime, only ...string) []int {
	t.Helper()
	pool, err := dockertest.NewPool("")
	if err != nil {
		t.Fatal(err)
	}
	units, err := r.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, u := range units {
		if len(only) > 0 && !slices.Contains(only, u.Name) {
			continue
		}
		c, err := pool.Client.InspectContainer(u.ID)
		if err == nil && c.State.Pid > 0 {
			pids = append(pids, c.State.Pid)
		}
	}
	return pids
}

func killAll(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // one that is gone is as good
	}
}

// TestKilledContainers: everything dies at once, and the engine starts it again. Who
// answers a question meanwhile is heard, and nothing says that the instance is not
// running.
func TestKilledContainers(t *testing.T) {
	t.Parallel()
	e, engine, name, _ := containerWorkspace(t)
	if os.Geteuid() != 0 {
		t.Skip("killing what runs in containers takes root\nhint: sudo env PATH=\"$PATH\" make test")
	}
	writeAsking(t, e.Args[1])
	must := func(args ...string) string {
		t.Helper()
		out, err := invoke(t.Context(), e, args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	must("up")
	if _, err := invoke(t.Context(), e, "forage", "--wait", "--goal", "Paint"); role.CodeOf(err) != role.Waiting {
		t.Fatal(err)
	}
	r := docker.New(engine, docker.Options{Instance: name, Labels: runtime.Labels{}})
	killAll(mainProcesses(t, r))
	id := question(t, e)
	killAll(mainProcesses(t, r))
	must("answer", id, "Green.")
	must("wait", "@last", "--timeout", "180s")

	// The more often it ends, the longer the engine waits.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for !killedOften(ctx, t, r) {
		killAll(mainProcesses(t, r, runtime.ComponentBlackboard, runtime.ComponentOrchestrator))
	}
	doctor, _ := invoke(t.Context(), e, "doctor")
	for out, text := range map[string]string{
		must("list", "-o", "json"): `"parts_restarting": [`,
		doctor:                     "blackboard, orchestrator being restarted by the engine",
	} {
		if !strings.Contains(out, text) {
			t.Errorf("%q is not in\n%s", text, out)
		}
	}
}

// killedOften says whether the engine lets blackboard and orchestrator wait for seconds.
func killedOften(ctx context.Context, t *testing.T, r *docker.Runtime) bool {
	t.Helper()
	units, err := r.List(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, u := range units {
		if u.Restarting && !u.Running && u.Restarts >= 7 {
			n++
		}
	}
	return n == 2
}

// TestKilledBlackboard: in local mode the keeper brings it back, and who types a command
// meanwhile is heard.
func TestKilledBlackboard(t *testing.T) {
	e, dir := workspace(t)
	if _, err := invoke(t.Context(), e, "up"); err != nil {
		t.Fatal(err)
	}
	for range 4 { // the keeper waits longer with each
		killUnit(t, dir, runtime.ComponentBlackboard)
		if out, err := invoke(t.Context(), e, "goals", "-o", "json"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// TestBlackboardThatDoesNotComeBack: a keeper that starts it again and again in vain is
// waited for, but not for ever, and it says so.
func TestBlackboardThatDoesNotComeBack(t *testing.T) {
	e, dir := workspace(t)
	if _, err := invoke(t.Context(), e, "up"); err != nil {
		t.Fatal(err)
	}
	release := hold(t, dir, runtime.ComponentBlackboard) // the keeper waits for that
	defer release()
	killUnit(t, dir, runtime.ComponentBlackboard)
	if out, err := invoke(t.Context(), e, "list"); err != nil || !strings.Contains(out, "degraded") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := invoke(t.Context(), e, "goals"); role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "is being restarted by its keeper") {
		t.Errorf("%v\n%s", err, out)
	}
}

func killUnit(t *testing.T, dir, unit string) {
	t.Helper()
	in, err := instance.LoadInstance(dir)
	if err != nil {
		t.Fatal(err)
	}
	units, err := in.Processes().List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range units {
		if pid, err := strconv.Atoi(u.ID); err == nil && u.Name == unit && u.Running {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
	t.Fatalf("%s does not run: %+v", unit, units)
}

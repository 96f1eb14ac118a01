package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sett/blackboard"
	"sett/runtime"
	"sett/runtime/docker"
)

// containers is the place where units are containers, and with an orchestrator on
// the host some of them processes.
type containers struct {
	*docker.Runtime
	host processes
	name string
}

func newContainers(t testing.TB, in *instance) place {
	needEngine(t)
	c := containers{Runtime: docker.New(static.engine, docker.Options{Instance: in.name}), name: in.name}
	if in.o.onHost {
		c.host, _ = in.at.(processes)
	}
	return c
}

func (c containers) List(ctx context.Context, l runtime.Labels) ([]runtime.Unit, error) {
	units, err := c.Runtime.List(ctx, l)
	if err != nil || c.host.Runtime == nil {
		return units, err
	}
	more, err := c.host.List(ctx, l)
	return append(units, more...), err
}

func (c containers) isProcess(u runtime.Unit) bool { return len(u.ID) < 12 }

func (c containers) pid(u runtime.Unit) int {
	if u.ID == "" || c.isProcess(u) {
		return c.host.pid(u)
	}
	one, err := static.engine.API().ContainerInspect(context.Background(), u.ID)
	if err != nil || one.State == nil {
		return 0
	}
	return one.State.Pid
}

// kill kills the container's process, which the engine cannot tell from its own
// end. From where it is not to be seen only the engine can kill it; it takes that
// for a wish, and so is told to start again what it would have.
func (c containers) kill(u runtime.Unit) error {
	if c.isProcess(u) {
		return c.host.kill(u)
	}
	pid := c.pid(u)
	if pid <= 0 {
		return fmt.Errorf("container %s has no process", u.Name)
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err == nil && bytes.Contains(groups, []byte(u.ID)) && os.Geteuid() == 0 {
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	if _, err := dockerSays("kill", u.ID); err != nil {
		return err
	}
	if policy, _ := dockerSays("inspect", "--format", "{{.HostConfig.RestartPolicy.Name}}", u.ID); policy != "" && policy != "no" {
		_, err = dockerSays("start", u.ID)
	}
	return err
}

// container is the engine's name for a unit.
func (in *instance) container(unit string) string { return "sett-" + in.name + "." + unit }

// began waits until the agent's tool works on the goal.
func (in *instance) began(goal, agent string) {
	in.t.Helper()
	eventually(in.t, enough, "start of "+agent+"'s grant", func() bool {
		g, err := in.board.Records.Grant(context.Background(), blackboard.BiddingClaimID(goal), agent)
		return err == nil && g.State == blackboard.GrantRunning
	})
}

// logged waits until a unit's container has logged a text.
func (in *instance) logged(unit, text string) {
	in.t.Helper()
	eventually(in.t, enough, fmt.Sprintf("%q in the log of %s", text, unit), func() bool {
		out, err := dockerSays("logs", in.container(unit))
		return err == nil && strings.Contains(out, text)
	})
}

// waits is a tool's wait for leave to go on, by the goal's payload.
const waits = `
echo "last words of $SETT_TARGET_PAYLOAD" >&2
until [ -e "$gates/leave" ] || [ -e "$gates/leave-$SETT_TARGET_PAYLOAD" ]; do sleep 0.05; done
`

// allow lets the tools of a goal go on; all of them for "".
func (in *instance) allow(payload string) {
	in.t.Helper()
	if payload != "" {
		payload = "-" + payload
	}
	in.gate("leave" + payload)
}

// gate makes a file that all tools see.
func (in *instance) gate(name string) {
	in.t.Helper()
	file(in.t, filepath.Join(in.storeDir(), "objects", name), "\n", 0o644)
}

// stored runs git in the instance's store.
func (in *instance) stored(args ...string) string {
	in.t.Helper()
	return in.git(append([]string{"--git-dir=" + in.storeDir()}, args...)...)
}

func (in *instance) storeDir() string { return filepath.Join(in.stateDir(), "store") }

// objectsInside is where containers have the objects of the store.
const objectsInside = "/.sett-objects"

// prelude is the beginning of a tool. The objects of the store are the one directory that
// every tool with a tree sees.
func (in *instance) prelude() string {
	gates := filepath.Join(in.storeDir(), "objects")
	if in.o.docker {
		gates = objectsInside
	}
	return strings.Replace(prelude, "GATES", "'"+gates+"'", 1)
}

// starts returns how often grants of a goal's claims began to be worked on, by
// claim and agent.
func (in *instance) starts(goal string) map[string]int {
	in.t.Helper()
	counts := map[string]int{}
	for _, e := range in.ledger() {
		if e.Kind == blackboard.EventStart && e.Workflow == goal {
			counts[e.Claim+" "+e.Agent]++
		}
	}
	return counts
}

// atOnce returns how many grants of an agent were worked on at the same time, at
// most.
func (in *instance) atOnce(agent string) (most int) {
	in.t.Helper()
	n := 0
	for _, e := range in.ledger() {
		if e.Agent != agent {
			continue
		}
		switch e.Kind {
		case blackboard.EventStart:
			n++
		case blackboard.EventResult, blackboard.EventRequeue:
			n--
		default:
		}
		most = max(most, n)
	}
	return most
}

// ledger returns all entries there are.
func (in *instance) ledger() (all []blackboard.Event) {
	in.t.Helper()
	for after := "0-0"; ; after = all[len(all)-1].ID {
		events, err := in.board.Ledger.History(context.Background(), after, 500)
		if err != nil {
			in.t.Fatal(err)
		}
		if len(events) == 0 {
			return all
		}
		all = append(all, events...)
	}
}

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestDockerTwoUps starts an instance twice at the same time: one does it, and the
// other harms nothing.
func TestDockerTwoUps(t *testing.T) {
	t.Parallel()
	in := prepare(t, inContainers(solo(finished, "")))
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
	in.await(in.post("x"), enough)
	in.atRest()
}

// TestDockerUpInterrupted interrupts sett up, or kills it, as soon as a part of the
// instance is there. The one leaves nothing; after the other sett down does.
func TestDockerUpInterrupted(t *testing.T) {
	t.Parallel()
	in := prepare(t, inContainers(reviewed(drafter, "")))
	at := []string{"container " + in.container("agent-"), "container " + in.container("orchestrator"),
		"container " + in.container("blackboard"), "network "}
	for i, part := range at {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
			if !full() && s == syscall.SIGKILL && i%2 == 1 {
				continue
			}
			in.upUntil(part, s)
			if s == syscall.SIGKILL {
				in.must("down")
				in.must("down", "--purge", "--yes")
			}
			in.nothing(fmt.Sprintf("sett up that got a %s when there was %s", s, part))
		}
	}
	in.up()
	in.settled()
}

// upUntil begins to start the instance and sends a signal when a part is there.
func (in *instance) upUntil(part string, s syscall.Signal) {
	in.t.Helper()
	for range 5 {
		if in.signalled(part, s) {
			return
		}
		in.must("down", "--purge", "--yes") // it was ready before the test had seen the part
	}
	in.t.Errorf("sett up is always ready before %s is seen", part)
}

// signalled is upUntil, once. It says whether the signal came before the end.
func (in *instance) signalled(part string, s syscall.Signal) bool {
	in.t.Helper()
	cmd := in.command("up")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		in.t.Fatal(err)
	}
	eventually(in.t, enough, "a part "+part, func() bool {
		return slices.ContainsFunc(in.onEngine(), func(p string) bool { return strings.HasPrefix(p, part) })
	})
	signalled := cmd.Process.Signal(s)
	err := cmd.Wait()
	if signalled != nil || err == nil {
		return false
	}
	var exit *exec.ExitError
	if s == syscall.SIGINT && (!errors.As(err, &exit) || exit.ExitCode() != 130) {
		in.t.Errorf("interrupted when there was %s, sett up ended with %v:\n%s", part, err, out.String())
	}
	return true
}

// nothing checks that nothing is there of the instance, here or on the engine.
func (in *instance) nothing(after string) {
	in.t.Helper()
	if left := in.leftOnEngine(); len(left) > 0 {
		in.t.Errorf("%s left on the engine: %s", after, strings.Join(left, "; "))
		in.wipe(left)
	}
	if left := in.processes(); len(left) > 0 {
		in.t.Errorf("%s left processes: %s", after, strings.Join(left, "; "))
	}
}

// purged checks that nothing at all is there of the instance, not even the logs
// that a failed start leaves to be read.
func (in *instance) purged(after string) {
	in.t.Helper()
	in.nothing(after)
	if _, err := os.Stat(in.stateDir()); err == nil {
		in.t.Errorf("%s left a state directory", after)
	}
}

// TestDockerUpFailed has sett up fail for want of images, by an image that cannot
// run: each says so, and leaves nothing.
func TestDockerUpFailed(t *testing.T) {
	t.Parallel()
	needEngine(t)
	broken := brokenImage(t)
	for name, c := range map[string]struct {
		agents []agent
		code   int
		says   []string
	}{
		"missing images": {
			agents: []agent{
				{name: "one", image: "127.0.0.1:1/sett-e2e-nowhere:1", bids: "GoalDefined: exclusive", tool: finished},
				{name: "two", image: "127.0.0.1:1/sett-e2e-nowhere:2", bids: "GoalDefined: exclusive", tool: finished},
			},
			code: 7, says: []string{"sett-e2e-nowhere:1", "sett-e2e-nowhere:2"},
		},
		"an image that cannot run": {
			agents: []agent{
				{name: "good", bids: "GoalDefined: exclusive", tool: finished},
				{name: "bad", image: broken, bids: "GoalDefined: exclusive", tool: finished},
			},
			code: 1, says: []string{"bad: not started in 6 tries", "/volume is a link to /.sett"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := prepare(t, inContainers(clan{agents: c.agents}))
			code, out := in.sett("up")
			if code != c.code {
				t.Errorf("sett up ended with %d, want %d:\n%s", code, c.code, out)
			}
			for _, s := range c.says {
				if !strings.Contains(out, s) {
					t.Errorf("sett up does not say %q:\n%s", s, out)
				}
			}
			in.nothing("a failed sett up")
		})
	}
}

// brokenImage has a volume that would lie over Sett's binary, with another sett.
func brokenImage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file(t, filepath.Join(dir, "sett"), "#!/bin/sh\nexec sleep 1000\n", 0o755)
	file(t, filepath.Join(dir, "Dockerfile"), "FROM "+baseImage+"\nCOPY sett /.sett/sett\nRUN ln -s /.sett /volume\nVOLUME /volume\n", 0o644)
	image := "sett-e2e-broken:" + static.version
	if _, err := dockerSays("build", "--quiet", "--tag", image, dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := dockerSays("image", "rm", image); err != nil {
			t.Error(err)
		}
	})
	return image
}

// TestDockerUnfit: sett up names an agent whose program cannot be run in its image, and
// the others start.
func TestDockerUnfit(t *testing.T) {
	t.Parallel()
	needEngine(t)
	c := solo(finished, "")
	c.agents = append(c.agents, agent{name: "python", bids: "Nothing: review", tool: "never"}, agent{name: "windows", bids: "Nothing: review", tool: "never"})
	in := prepare(t, inContainers(c))
	file(t, filepath.Join(in.repo, "tools", "python"), "#!/usr/bin/env python9\n", 0o755)
	file(t, filepath.Join(in.repo, "tools", "windows"), "#!/bin/sh\r\necho x\r\n", 0o755)
	in.git("commit", "-q", "-a", "-m", "programs")
	said := in.must("up")
	for _, want := range []string{
		"agent python in " + baseImage + ": tools/python cannot be run: its interpreter python9 is not in the PATH; every goal that reaches it will fail",
		"agent windows in " + baseImage + ": tools/windows cannot be run: its lines end as on Windows",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("sett up does not say %q:\n%s", want, said)
		}
	}
	if !regexp.MustCompile(`(?m)^  python +unfit `).MatchString(said) || !regexp.MustCompile(`(?m)^  solo +ready `).MatchString(said) {
		t.Errorf("the parts:\n%s", said)
	}
	in.open()
	in.await(in.post("x"), enough)
}

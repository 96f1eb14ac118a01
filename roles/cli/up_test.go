package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/process"
)

// workspace makes a repository with a clan of one, whose rights are agreed to, and the
// world of commands that work in it. What they start is ended with the test.
func workspace(t *testing.T) (e role.Env, dir string) {
	t.Helper()
	binary, err := buildSett()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(home, realSett)); err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(home, "clan")
	if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	yml := "version: \"1.0\"\nruntime: process\nagents:\n  one:\n    command: [\"/bin/cat\"]\n"
	if err := os.WriteFile(filepath.Join(repo, instance.ConfigName), []byte(yml), 0o600); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(home, ".local", "state", "sett")
	t.Cleanup(func() { endAll(state) })
	vars := map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}
	e = role.OS(nil, role.Build{})
	e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), io.Discard, io.Discard
	e.Lookup = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	e.Environ = func() []string { return []string{"HOME=" + home, "PATH=" + vars["PATH"]} }
	e.Args = []string{"-C", repo}
	agree(t, e)
	return e, filepath.Join(state, "clan")
}

func invoke(ctx context.Context, e role.Env, args ...string) (string, error) {
	var out bytes.Buffer
	e.Stdout = &out
	e.Args = append(e.Args[:len(e.Args):len(e.Args)], args...)
	err := Run(ctx, e)
	return out.String(), err
}

// hold keeps a unit from being started, until release.
func hold(t *testing.T, dir, unit string) (release func()) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "units"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "units", unit+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

func runningUnits(t *testing.T, dir string) []string {
	t.Helper()
	units, err := process.New(process.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}).List(context.Background(), runtime.Labels{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range units {
		if u.Running {
			names = append(names, u.Name)
		}
	}
	return names
}

// TestUpInterrupted: Ctrl-C while an agent is waited for leaves nothing running,
// and the time that is over does neither.
func TestUpInterrupted(t *testing.T) {
	e, dir := workspace(t)
	release := hold(t, dir, "agent-one")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, w := io.Pipe()
	e.Stdout = w
	e.Args = append(e.Args, "up")
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, e); w.Close() }()
	var seen strings.Builder
	for buf := make([]byte, 256); !strings.Contains(seen.String(), "orchestrator"); {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatalf("up ended early: %v\n%s", <-ended, seen.String())
		}
		seen.Write(buf[:n])
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	cancel()
	release() // also its end waits for the agent's lock
	if err := <-ended; role.CodeOf(err) != role.Interrupted {
		t.Errorf("interrupted: %v", err)
	}
	if left := runningUnits(t, dir); left != nil {
		t.Errorf("left running: %q", left)
	}
}

// TestUpTimesOut: what was not ready in time is an error, and nothing is left running.
func TestUpTimesOut(t *testing.T) {
	e, dir := workspace(t)
	release := hold(t, dir, "agent-one")
	time.AfterFunc(1500*time.Millisecond, release)
	_, err := invoke(context.Background(), e, "up", "--timeout", "1s")
	if role.CodeOf(err) != role.TimedOut || !strings.Contains(err.Error(), "not ready after 1s") {
		t.Errorf("timed out: %v", err)
	}
	if left := runningUnits(t, dir); left != nil {
		t.Errorf("left running: %q", left)
	}
}

// TestUpMeetsAStranger: another program was faster to take the blackboard's port. It answers as
// a server without a password, or says nothing of use.
func TestUpMeetsAStranger(t *testing.T) {
	for name, says := range map[string]string{
		"a server without a password": "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?\r\n",
		"a server with another one":   "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
		"another kind of server":      "HTTP/1.1 400 Bad Request\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			e, dir := workspace(t)
			t.Parallel()
			release := hold(t, dir, "blackboard")
			ended := make(chan error, 1)
			go func() {
				_, err := invoke(t.Context(), e, "up")
				ended <- err
			}()
			addr := chosenPort(t, dir)
			l, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go answer(l, says)
			release()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if now := chosenPort(t, dir); now == addr {
				t.Errorf("the blackboard is at %s, which is the stranger's", now)
			}
			if _, err := invoke(t.Context(), e, "list"); err != nil {
				t.Error(err)
			}
		})
	}
}

// chosenPort returns where the blackboard is to be, once sett up has written it down.
func chosenPort(t *testing.T, dir string) string {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		var state struct{ URL string }
		raw, err := os.ReadFile(filepath.Join(dir, "instance.json"))
		if err == nil && json.Unmarshal(raw, &state) == nil && state.URL != "" {
			at, err := url.Parse(state.URL)
			if err != nil {
				t.Fatal(err)
			}
			return at.Host
		}
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("no port: %v", err)
		}
	}
}

// answer says the same to each command.
func answer(l net.Listener, says string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			b := make([]byte, 4096)
			for {
				n, err := c.Read(b)
				if err != nil {
					return
				}
				if _, err := io.WriteString(c, strings.Repeat(says, max(1, bytes.Count(b[:n], []byte("*"))))); err != nil {
					return
				}
			}
		}()
	}
}

// TestOneAtATime: while one up or down works on an instance, another says so and
// touches nothing; a down waits.
func TestOneAtATime(t *testing.T) {
	e, dir := workspace(t)
	if _, err := invoke(context.Background(), e, "up"); err != nil {
		t.Fatal(err)
	}
	before := runningUnits(t, dir)
	release, _, err := process.New(process.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}).TryLock(instance.UpLock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := invoke(context.Background(), e, "up"); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "another sett up or down") {
		t.Errorf("a second up: %v", err)
	}
	if now := runningUnits(t, dir); strings.Join(now, " ") != strings.Join(before, " ") {
		t.Errorf("the second up changed %q to %q", before, now)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := invoke(context.Background(), e, "down")
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Errorf("down did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	release()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left := runningUnits(t, dir); left != nil {
		t.Errorf("left running: %q", left)
	}
}

// TestUpAfterKill: with every process but the agents' dead, commands say that the
// instance is not running, list why, and up brings it back. The ledger has each start, with its person; an up that starts
// nothing, or only an agent, is none.
func TestUpAfterKill(t *testing.T) {
	e, dir := workspace(t)
	up := func(person string) {
		t.Helper()
		lookup, by := e.Lookup, e
		by.Lookup = func(name string) (string, bool) {
			if name == "SETT_USER" {
				return person, true
			}
			return lookup(name)
		}
		if _, err := invoke(context.Background(), by, "up"); err != nil {
			t.Fatal(err)
		}
	}
	kill := func(units ...string) {
		t.Helper()
		var pids []int
		for _, unit := range units {
			var rec struct{ PID int }
			if err := instance.ReadFile(filepath.Join(dir, "units", unit+".json"), &rec); err != nil {
				t.Fatal(err)
			}
			_ = syscall.Kill(rec.PID, syscall.SIGKILL)
			pids = append(pids, rec.PID)
		}
		// They run until the kernel has ended them, and a sett up meanwhile keeps them.
		runs := func(pid int) bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err == nil && !strings.Contains(string(text), ") Z ")
		}
		for end := time.Now().Add(patience); slices.ContainsFunc(pids, runs) && time.Now().Before(end); {
			<-time.After(time.Millisecond)
		}
	}
	up("ann")
	kill("keeper", "orchestrator", "keeper", "blackboard")
	if _, err := invoke(context.Background(), e, "goals"); role.CodeOf(err) != role.NotFound && role.CodeOf(err) != role.Environment {
		t.Errorf("goals of a dead instance: %v", err)
	}
	if out, err := invoke(context.Background(), e, "list"); err != nil || strings.Contains(out, " running ") {
		t.Errorf("list: %v\n%s", err, out)
	}
	up("bob")
	if out, err := invoke(context.Background(), e, "list"); err != nil || !strings.Contains(out, "1/1 ready") {
		t.Errorf("list: %v\n%s", err, out)
	}
	up("mallory")
	kill(runtime.AgentUnit("one"))
	up("mallory")
	kill("keeper", "orchestrator", "keeper", "blackboard", runtime.AgentUnit("one"))
	up("eve")
	out, err := invoke(context.Background(), e, "watch", "--since", "all", "--until", "0s")
	var starts []string
	for _, line := range strings.Split(out, "\n") {
		if _, what, yes := strings.Cut(line, "instance  "); yes {
			starts = append(starts, strings.Join(strings.Fields(what), " "))
		}
	}
	want := []string{"ann instance running", "bob instance running; it had ended without a stop", "eve instance running; it had ended without a stop"}
	if err != nil || !slices.Equal(starts, want) {
		t.Errorf("starts in the ledger: %v %q\n%s", err, starts, out)
	}
	if _, err := invoke(context.Background(), e, "down"); err != nil {
		t.Error(err)
	}
}

// TestUpWaitsForPolicy: what has to be approved from now on is so when up says that
// the instance is ready, however slow its orchestrator is.
func TestUpWaitsForPolicy(t *testing.T) {
	e, dir := workspace(t)
	if _, err := invoke(context.Background(), e, "up"); err != nil {
		t.Fatal(err)
	}
	yml := filepath.Join(e.Args[1], instance.ConfigName)
	raw, err := os.ReadFile(yml)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(yml, append(raw, "approve: [GoalDefined]\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	var rec struct{ PID int }
	if err := instance.ReadFile(filepath.Join(dir, "units", "orchestrator.json"), &rec); err != nil {
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(rec.PID, s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	_, err = invoke(context.Background(), e, "up", "--timeout", "2s")
	signal(syscall.SIGCONT)
	if role.CodeOf(err) != role.TimedOut || !strings.Contains(err.Error(), "not ready after 2s") {
		t.Errorf("up before the policy is in force: %v", err)
	}
	if _, err := invoke(context.Background(), e, "up"); err != nil {
		t.Error(err)
	}
	if _, err := invoke(context.Background(), e, "down"); err != nil {
		t.Error(err)
	}
}

// TestFitsContainer: what a container cannot run is refused with the reason.
func TestFitsContainer(t *testing.T) {
	static, err := buildSett()
	if err != nil {
		t.Fatal(err)
	}
	binary := func(path, arch string) error {
		e := role.OS(nil, role.Build{})
		e.Lookup = func(name string) (string, bool) { return path, name == deploy.LinuxBinary }
		_, err := deploy.LinuxExecutable(e, arch)
		return err
	}
	if err := binary(static, goruntime.GOARCH); err != nil {
		t.Errorf("our own binary: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := "arm64"
	if goruntime.GOARCH == other {
		other = "amd64"
	}
	for _, c := range []struct{ path, arch, says string }{
		{static, other, "for another architecture"}, {text, other, "not a program for Linux"}, {text + ".none", other, "no such file"},
	} {
		if err := binary(c.path, c.arch); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s for %s: %v, want %q", c.path, c.arch, err, c.says)
		}
	}
}

package toolrun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWhatAToolLeavesBehindIsGone(t *testing.T) {
	for name, body := range map[string]string{
		"in the background, holding stdout": `sleep 60 & echo $! >pid`,
		"in the background, silent":         `sleep 60 >/dev/null 2>&1 & echo $! >pid`,
		"ignoring TERM and HUP":             `(trap '' TERM HUP; exec sleep 60) >/dev/null 2>&1 & echo $! >pid`,
		"stopped":                           `sleep 60 >/dev/null 2>&1 & kill -STOP $!; echo $! >pid`,
		"own session, silent":               `setsid -f sh -c 'echo $$ >pid; exec sleep 60 >/dev/null 2>&1'`,
		"own session, holding stdout":       `setsid -f sh -c 'echo $$ >pid; exec sleep 60'`,
		"own session, unmarked":             `env -i setsid -f sh -c 'echo $$ >pid; exec sleep 60 >/dev/null 2>&1'`,
		"a tree of sessions": `setsid -f sh -c '
			setsid -f sh -c "echo \$\$ >pid; exec sleep 60 >/dev/null 2>&1"
			exec sleep 60 >/dev/null 2>&1'`,
		"own session, parent alive": `setsid sh -c 'setsid sleep 60 >/dev/null 2>&1 & echo $! >pid; wait' >/dev/null 2>&1 &`,
	} {
		t.Run(name, func(t *testing.T) {
			cmd := leaving(t, body)
			begin := time.Now()
			res := runTool(t, cmd)
			took := time.Since(begin)
			if pid := leftPID(t, cmd); alive(pid) {
				t.Errorf("process %d is alive", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if res.ExitCode != 0 || res.TimedOut || took > 10*time.Second {
				t.Errorf("took %v, %+v", took, res)
			}
			if left := leftBehind(); left != "" {
				t.Errorf("processes are left: %s", left)
			}
		})
	}
}

func TestTimeoutEndsOtherSessionsToo(t *testing.T) {
	cmd := leaving(t, `setsid -f sh -c 'trap "" TERM; echo $$ >pid; exec sleep 60'; sleep 60`)
	cmd.Timeout = time.Second
	res := runTool(t, cmd)
	if pid := leftPID(t, cmd); alive(pid) || !res.TimedOut {
		t.Errorf("process %d alive %t, %+v", pid, alive(pid), res)
	}
}

// A run's sweep takes its own daemons, not those of a run that goes on, and leaves
// what it cannot attribute to the last run.
func TestSweepBesideAnotherRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	said := make(lines, 4)
	cmd := sh(`(sleep 60 >/dev/null 2>&1 &); setsid -f sh -c 'echo $$ >&2; exec sleep 60 >/dev/null 2>&1'; exec sleep 60`)
	cmd.Stderr = said
	done := make(chan Result, 1)
	go func() {
		res, err := New().Run(ctx, cmd)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	theirs := pidIn(t, []byte(<-said))

	const daemon = `setsid -f sh -c 'echo $$ >pid; exec sleep 60 >/dev/null 2>&1'`
	left := func(body string) int {
		cmd := leaving(t, body)
		runTool(t, cmd)
		return leftPID(t, cmd)
	}
	if alive(left(daemon)) {
		t.Error("the run's own daemon is alive")
	}
	if alive(left(`set -m; env -i sleep 60 >/dev/null 2>&1 & echo $! >pid`)) {
		t.Error("an unmarked process in the run's own session is alive")
	}
	unmarked := left("env -i " + daemon)
	if !alive(unmarked) {
		t.Error("a process that may belong to the other run was killed")
	}
	if !alive(theirs) {
		t.Error("the other run's daemon was killed")
	}
	select {
	case res := <-done:
		t.Fatalf("the other run was ended: %+v", res)
	default:
	}
	cancel()
	if res := <-done; !res.Cancelled || res.Signal != "SIGTERM" {
		t.Errorf("the other run: %+v", res)
	}
	if alive(theirs) || alive(unmarked) {
		t.Errorf("alive after the last run: its daemon %t, the unmarked one %t", alive(theirs), alive(unmarked))
	}
}

// Children that other code starts are not ours to kill or to reap.
func TestSweepLeavesOtherCodesChildrenAlone(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x; exit 5")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	runTool(t, sh("setsid -f sleep 60"))
	children.reapZombies()
	_ = stdin.Close()
	until(t, "it has ended", func() bool { _, zombie := peek(); return zombie })
	children.reapZombies()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("it ended with %v", err)
	}
}

func TestReapOrphans(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); ReapOrphans(ctx) }()
	for range 3 {
		// Through os/exec: this child is in our group, and not a Run.
		out, err := exec.Command("sh", "-c", `setsid -f sh -c 'echo $$'`).Output()
		if err != nil {
			t.Fatal(err)
		}
		pid := pidIn(t, out)
		until(t, "the orphan is reaped", func() bool { return !alive(pid) })
	}
	cancel()
	<-done
}

func TestExitWatchWithoutPidfd(t *testing.T) {
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "exit 3"}, &syscall.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := watchExitByThread(pid)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if n, err := syscall.Read(w.fd, b[:]); n != 0 || err != nil { // blocks until the end
		t.Errorf("read %d, %v", n, err)
	}
	if status := w.reap(); status.ExitStatus() != 3 {
		t.Errorf("status %v", status)
	}
	w.close()
}

func TestParseStat(t *testing.T) {
	c, parent, ok := parseStat([]byte("12 (a) b) 1 (S) Z 3 4 5 6\n"))
	if !ok || c != (child{12, 4, 5, true}) || parent != 3 {
		t.Errorf("%+v, %d, %t", c, parent, ok)
	}
	for _, broken := range []string{"", "12", "(", ")(", "x (a) S 1 2 3", "1 (a) S 1 2", "1 (a) S 1 x 3"} {
		if _, _, ok := parseStat([]byte(broken)); ok {
			t.Errorf("%q was accepted", broken)
		}
	}
}

func TestAllPIDs(t *testing.T) {
	if !slices.Contains(allPIDs(), os.Getpid()) {
		t.Error("this process is not listed")
	}
}

// A tool must not outlive a cub that is killed.
func TestToolDiesWithItsCub(t *testing.T) {
	cub := exec.Command("/proc/self/exe")
	cub.Env = append(os.Environ(), roleVariable+"=cub")
	out, err := cub.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cub.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 32)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	tool := pidIn(t, line[:n])
	if err := cub.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cub.Wait()
	// It falls to this process, which is a reaper.
	until(t, "the tool is dead", func() bool {
		status, err := wait(tool, syscall.WNOHANG)
		return err == nil && status.Signal() == syscall.SIGKILL
	})
}

// leftBehind describes the children of this process; empty when there are none.
func leftBehind() string {
	if exists, _ := peek(); !exists {
		return ""
	}
	return fmt.Sprintf("orphans %+v, or others", children.orphans())
}

// playRole is the main function of the helper processes.
func playRole(role string) int {
	switch role {
	case "cub":
		cmd := sh("echo $$ >&2; exec sleep 60")
		cmd.Stderr = os.Stdout
		_, _ = New().Run(context.Background(), cmd)
	case "protect":
		return playProtect()
	case "cub of nobody", "cub of root without capabilities":
		return playCubOf(strings.TrimPrefix(role, "cub of "))
	case "hostile":
		return playHostile()
	case "secretive cub":
		return playSecretive()
	case "litterer":
		return playLitterer()
	case "meddler":
		return playMeddler()
	case "process 1":
		return playProcessOne()
	case "noexec":
		return playNoexec()
	case "sockets":
		return playSockets()
	case "sockets of a child":
		trySockets()
		return 0
	case "nobody without network":
		return playNobody()
	case "no seccomp":
		return playNoSeccomp()
	}
	return 1
}

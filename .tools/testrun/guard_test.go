package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for an expected condition.
const patience = 5 * time.Minute

// The test binary is also the guard, of the command in this variable: whoever adopts
// needs a process of its own.
const guardVariable = "TESTRUN_TEST_GUARD"

func TestMain(m *testing.M) {
	if command := os.Getenv(guardVariable); command != "" {
		g := guard{args: []string{"/bin/sh", "-c", command}, environ: os.Environ(), grace: time.Second, say: os.Stderr}
		os.Exit(g.runInFolder())
	}
	os.Exit(m.Run())
}

// guarding is a guard at work in a folder.
type guarding struct {
	t   *testing.T
	cmd *exec.Cmd
	dir string
}

// startGuard starts a guard, below a shell that does not pass signals on where one is wanted.
func startGuard(t *testing.T, command string, below bool) *guarding {
	g := &guarding{t: t, dir: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g.cmd = exec.Command(self)
	if below {
		g.cmd = exec.Command("/bin/sh", "-c", `"$0" & wait`, self)
	}
	g.cmd.Dir, g.cmd.Env = g.dir, append(os.Environ(), guardVariable+"="+command)
	out, err := os.Create(filepath.Join(g.dir, "out")) // a pipe would be awaited as long as any process has it
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	g.cmd.Stdout, g.cmd.Stderr = out, out
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) })
	return g
}

// pid returns the number that a process of the guard has written, once it has.
func (g *guarding) pid(name string) (pid int) {
	g.t.Helper()
	g.until(name+" is there", func() bool {
		text, err := os.ReadFile(filepath.Join(g.dir, name))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	g.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

func (g *guarding) until(what string, done func() bool) {
	g.t.Helper()
	for began := time.Now(); !done(); <-time.After(10 * time.Millisecond) {
		if time.Since(began) > patience {
			g.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// family is a test with a child of its group, and with a process of its own session whose parent has ended.
const family = `echo $$ >inner; sleep 900 & echo $! >child; setsid sh -c 'setsid sh -c "echo \$\$ >unit; exec sleep 900" & exit'; `

// TestGuard: no end of a run leaves a process of its tests behind.
func TestGuard(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || adoptsNot() {
		t.Skip("no process can adopt others on this system")
	}
	for name, c := range map[string]struct {
		first string // of the command: set before anybody can know that the test is there
		rest  string
		send  syscall.Signal
		below bool // the guard is told by the end of its parent alone
		code  int
		says  string
	}{
		"terminated":              {rest: "wait", send: syscall.SIGTERM, code: 143, says: "terminated: ends the tests"},
		"interrupted":             {rest: "wait", send: syscall.SIGINT, code: 130, says: "interrupt: ends the tests"},
		"ends by itself, slowly":  {first: "trap 'echo tidied; exit 1' INT; ", rest: "while :; do wait; done", send: syscall.SIGTERM, code: 143, says: "tidied\n"},
		"does not end by itself":  {first: "trap '' INT TERM; ", rest: "while :; do wait; sleep 1; done", send: syscall.SIGTERM, code: 143},
		"the parent ended":        {rest: "wait", send: syscall.SIGTERM, below: true, code: -1},
		"a run to its end":        {rest: "exit 3", code: 3, says: "(sleep), which a test left behind"},
		"a run that was all well": {rest: "exit 0", code: 0, says: "(sleep), which a test left behind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGuard(t, c.first+family+"while [ ! -s unit ]; do sleep 0.01; done; "+c.rest, c.below)
			pids := []int{g.pid("inner"), g.pid("child"), g.pid("unit")}
			if c.send != 0 {
				if err := g.cmd.Process.Signal(c.send); err != nil {
					t.Fatal(err)
				}
			}
			_ = g.cmd.Wait()
			for _, pid := range pids {
				g.until("process "+strconv.Itoa(pid)+" has ended", func() bool { return syscall.Kill(pid, 0) != nil })
			}
			out, _ := os.ReadFile(filepath.Join(g.dir, "out"))
			if code := g.cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("it ended with %d: %s", code, out)
			}
		})
	}
}

// adoptsNot says whether this system has no adoption.
func adoptsNot() bool {
	_, err := os.Stat("/proc/self/stat")
	return err != nil
}

// TestFolder: a run's temporary files go with it, however it ends; those in a TMPDIR of the person's own stay.
func TestFolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the run has no folder of its own on this system")
	}
	const tests = `mktemp >file && echo $$ >inner; read -r file <file; [ -w "$file" ]; printf $? >alive`
	for name, c := range map[string]struct {
		more string
		kept bool
		kill bool
	}{"a run to its end": {}, "killed": {more: "; exec sleep 900", kill: true}, "a folder of the person's": {kept: true}} {
		t.Run(name, func(t *testing.T) {
			own := ""
			if c.kept {
				own = t.TempDir()
			}
			t.Setenv("TMPDIR", own)
			g := startGuard(t, tests+c.more, false)
			g.pid("inner")
			g.until("the file was looked at", func() bool {
				alive, _ := os.ReadFile(filepath.Join(g.dir, "alive"))
				return string(alive) == "0"
			})
			if c.kill {
				if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			_ = g.cmd.Wait()
			name, err := os.ReadFile(filepath.Join(g.dir, "file"))
			if err != nil {
				t.Fatal(err)
			}
			file := strings.TrimSpace(string(name))
			if _, err := os.Stat(file); (err == nil) != c.kept || c.kept && filepath.Dir(file) != own {
				t.Errorf("%s: %v", file, err)
			}
			if _, err := os.Stat(filepath.Dir(file)); (err == nil) != c.kept {
				t.Errorf("its folder: %v", err)
			}
		})
	}
}

// TestGuardSparesOthers: a process that is not below the guard is none of its own, be it of its group.
func TestGuardSparesOthers(t *testing.T) {
	g := startGuard(t, "echo $$ >inner; exec sleep 900", false)
	g.pid("inner")
	other := exec.Command("sleep", "900")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.cmd.Process.Pid}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = g.cmd.Wait()
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(other.Process.Pid, &status, syscall.WNOHANG, nil); pid != 0 || err != nil {
		t.Errorf("another process ended: %v %v", status, err)
	}
}

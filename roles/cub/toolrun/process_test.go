package toolrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRunOutcome(t *testing.T) {
	for _, c := range []struct {
		name, body, stdin string
		timeout, grace    time.Duration
		code              int
		signal            string
		timedOut          bool
		stdout, stderr    string
	}{
		{name: "success", body: `cat; echo log >&2`, stdin: `{"a":1}`, stdout: `{"a":1}`, stderr: "log\n"},
		{name: "no output", body: `:`},
		{name: "non-zero exit", body: `echo '{"artefact_'; echo broken >&2; exit 7`, code: 7, stdout: "{\"artefact_\n", stderr: "broken\n"},
		{name: "killed by a signal", body: `echo begun; kill -SEGV $$`, code: -1, signal: "SIGSEGV", stdout: "begun\n"},
		{name: "timeout", body: `echo begun; exec sleep 60`, timeout: time.Second, code: -1, signal: "SIGTERM", timedOut: true, stdout: "begun\n"},
		{name: "timeout with children", body: `sleep 60; echo no`, timeout: 100 * time.Millisecond, code: -1, signal: "SIGTERM", timedOut: true},
		{name: "TERM handled", body: `trap 'echo bye; exit 3' TERM; echo begun; sleep 60 & wait`, timeout: time.Second,
			code: 3, timedOut: true, stdout: "begun\nbye\n"},
		{name: "TERM ignored", body: `trap '' TERM; while :; do sleep 0.05; done`, timeout: time.Second, grace: 100 * time.Millisecond,
			code: -1, signal: "SIGKILL", timedOut: true},
		{name: "stopped", body: `kill -STOP $$`, timeout: 100 * time.Millisecond, code: -1, signal: "SIGTERM", timedOut: true},
		{name: "stdin ends", body: `read a; read b; echo "$a,$b"`, stdin: "one\n", stdout: "one,\n"},
		{name: "stdin not read", body: `exec </dev/null; echo x`, stdin: strings.Repeat("x", 1<<20), stdout: "x\n"},
		{name: "stdin read in part", body: `head -c 3`, stdin: strings.Repeat("x", 1<<20), stdout: "xxx"},
		{name: "within the timeout", body: `echo x`, timeout: time.Hour, stdout: "x\n"},
		{name: "closes its outputs early", body: `exec >&- 2>&-; sleep 0.05; exit 4`, code: 4},
		{name: "own session", body: `test "$(ps -o sid= -p $$ | tr -d ' ')" = $$ && echo yes`, stdout: "yes\n"},
		{name: "no terminal", body: `exec 2>/dev/null; (: </dev/tty) || echo none`, stdout: "none\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := sh(c.body)
			cmd.Stdin, cmd.Timeout, cmd.Grace = []byte(c.stdin), c.timeout, c.grace
			begin := time.Now()
			res := runTool(t, cmd)
			if res.ExitCode != c.code || res.Signal != c.signal || res.TimedOut != c.timedOut || res.Cancelled {
				t.Errorf("code %d signal %q timed out %t cancelled %t, want %d %q %t false",
					res.ExitCode, res.Signal, res.TimedOut, res.Cancelled, c.code, c.signal, c.timedOut)
			}
			if string(res.Stdout) != c.stdout || string(res.Stderr) != c.stderr {
				t.Errorf("stdout %q stderr %q, want %q %q", res.Stdout, res.Stderr, c.stdout, c.stderr)
			}
			if res.StdoutSize != int64(len(c.stdout)) || res.StderrSize != int64(len(c.stderr)) || res.StdoutTruncated {
				t.Errorf("sizes %d %d truncated %t", res.StdoutSize, res.StderrSize, res.StdoutTruncated)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if left := leftBehind(); left != "" {
				t.Errorf("processes are left: %s", left)
			}
		})
	}
}

func TestBigStdinIsWhole(t *testing.T) {
	stdin := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	cmd := sh("cat")
	cmd.Stdin = stdin
	if res := runTool(t, cmd); !bytes.Equal(res.Stdout, stdin) {
		t.Errorf("%d bytes of %d came back, or others", len(res.Stdout), len(stdin))
	}
}

func TestBigOutputIsDrainedInBoundedMemory(t *testing.T) {
	const size, limit = 100 << 20, 1 << 20
	cmd := sh(fmt.Sprintf("head -c %d /dev/zero; head -c %d /dev/zero >&2", size, limit))
	cmd.Limit = limit
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := runTool(t, cmd)
	runtime.ReadMemStats(&after)
	if len(res.Stdout) > limit || len(res.Stdout) < limit-gapRoom || res.StdoutSize != size || !res.StdoutTruncated {
		t.Errorf("kept %d of %d, truncated %t", len(res.Stdout), res.StdoutSize, res.StdoutTruncated)
	}
	if len(res.Stderr) != limit || res.StderrSize != limit {
		t.Errorf("kept %d of %d bytes of stderr", len(res.Stderr), res.StderrSize)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 20*limit {
		t.Errorf("allocated %d bytes", used)
	}
}

func TestDefaultLimit(t *testing.T) {
	res := runTool(t, sh("head -c 11000000 /dev/zero"))
	if len(res.Stdout) > 10<<20 || len(res.Stdout) < 10<<20-gapRoom || res.StdoutSize != 11000000 || !res.StdoutTruncated {
		t.Errorf("kept %d of %d, truncated %t", len(res.Stdout), res.StdoutSize, res.StdoutTruncated)
	}
}

func TestEnvironmentAndDirectoryAreWhatWasGiven(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	res := runTool(t, Command{Args: []string{"/usr/bin/env"}, Env: []string{"A=b", "C="}})
	got := strings.Split(strings.TrimSpace(string(res.Stdout)), "\n")
	if len(got) != 3 || got[0] != "A=b" || got[1] != "C=" || !strings.HasPrefix(got[2], MarkVariable+"=") {
		t.Errorf("environment %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\npwd; echo \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Relative to Dir; and arguments see no shell.
	res = runTool(t, Command{Args: []string{"./tool", "$(id) *"}, Dir: dir})
	if want := dir + "\n$(id) *\n"; string(res.Stdout) != want {
		t.Errorf("stdout %q, want %q", res.Stdout, want)
	}
	// By the PATH of the tool's own environment, relative directories aside.
	res = runTool(t, Command{Args: []string{"tool"}, Dir: dir, Env: []string{"PATH=.:/nowhere:" + dir}})
	if want := dir + "\n\n"; string(res.Stdout) != want {
		t.Errorf("stdout %q, want %q", res.Stdout, want)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	plain := write(t, "plain", "hello", 0o644)
	garbage := write(t, "garbage", "hello", 0o755)
	noInterpreter := write(t, "script", "#!/no/such/bash -e\n", 0o755)
	windows := write(t, "script", "#!/bin/sh\r\necho x\r\n", 0o755)
	for _, c := range []struct {
		name string
		cmd  Command
		want string
	}{
		{"no command", Command{}, "start tool: the command is empty"},
		{"empty program", Command{Args: []string{""}}, "start tool: the command is empty"},
		{"missing", Command{Args: []string{"/nonexistent/binary"}}, "start tool /nonexistent/binary: no such file or directory"},
		{"missing, relative", Command{Args: []string{"./x"}, Dir: dir}, "start tool ./x: no such file or directory"},
		{"not in PATH", Command{Args: []string{"frobnicate"}, Env: []string{"PATH=/bin"}}, "start tool frobnicate: no such program in PATH (/bin)"},
		{"no PATH", Command{Args: []string{"frobnicate"}}, "no such program in PATH (/usr/local/sbin:"},
		{"directory", Command{Args: []string{dir}}, "start tool " + dir + ": is a directory, not a program"},
		{"not executable", Command{Args: []string{plain}}, ": permission denied: the file is not executable (chmod +x)"},
		{"no program", Command{Args: []string{garbage}}, ": exec format error: neither a program for this machine nor a script"},
		{"interpreter", Command{Args: []string{noInterpreter}}, `: the file exists, but its interpreter "/no/such/bash" does not`},
		{"line endings", Command{Args: []string{windows}}, `the script's lines end as on Windows, so that its first line names "/bin/sh\r": sed -i 's/\r$//' mends it`},
		{"no directory", Command{Args: []string{"/bin/true"}, Dir: dir + "/x"}, "start tool /bin/true: working directory " + dir + "/x: no such file or directory"},
		{"file as directory", Command{Args: []string{"/bin/true"}, Dir: plain}, "working directory " + plain + ": not a directory"},
		{"too long", Command{Args: []string{"/bin/true", strings.Repeat("x", 1<<20)}}, "start tool /bin/true: argument list too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := openFiles(t)
			res, err := New().Run(context.Background(), c.cmd)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "start tool") {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if res.ExitCode != -1 || !res.Started.IsZero() {
				t.Errorf("result %+v", res)
			}
			if after := openFiles(t); after != before {
				t.Errorf("%d files were open, now %d", before, after)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	cause := errors.New("told to")
	ctx, cancel := context.WithCancelCause(context.Background())
	stderr := make(lines, 1)
	cmd := sh("echo begun >&2; exec sleep 60")
	cmd.Stderr, cmd.Timeout = stderr, time.Hour
	go func() { <-stderr; cancel(cause) }()
	res, err := New().Run(ctx, cmd)
	if err != nil || !res.Cancelled || res.TimedOut || res.Signal != "SIGTERM" || res.ExitCode != -1 {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = New().Run(ctx, cmd)
	if err != nil || !res.Cancelled || !res.Started.IsZero() || res.ExitCode != -1 {
		t.Errorf("with a context that was done before: %+v, %v", res, err)
	}
}

func TestCancelDuringGrace(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stderr := make(lines, 1)
	cmd := sh("trap 'echo got >&2' TERM; while :; do sleep 0.02; done")
	cmd.Stderr, cmd.Timeout, cmd.Grace = stderr, time.Second, 500*time.Millisecond
	go func() { <-stderr; cancel() }()
	res, err := New().Run(ctx, cmd)
	if err != nil || !res.TimedOut || !res.Cancelled || res.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestConcurrentRuns(t *testing.T) {
	p := New()
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			in := bytes.Repeat([]byte{byte('a' + i)}, 100_000*(i%3)+i)
			cmd := sh(fmt.Sprintf("sleep 60 >/dev/null 2>&1 & cat; echo %d >&2; exit %d", i, i))
			cmd.Stdin = in
			res, err := p.Run(context.Background(), cmd)
			if err != nil || res.ExitCode != i || !bytes.Equal(res.Stdout, in) || string(res.Stderr) != fmt.Sprintln(i) {
				t.Errorf("run %d: code %d, %d bytes, stderr %q, %v", i, res.ExitCode, len(res.Stdout), res.Stderr, err)
			}
		})
	}
	all.Wait()
}

func TestNothingLeaks(t *testing.T) {
	p := New()
	round := func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cmd := sh("echo x; echo y >&2")
		cmd.Stderr = make(lines, 1)
		if res, err := p.Run(ctx, cmd); err != nil || res.ExitCode != 0 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	round() // whatever is opened once
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for range 200 {
		round()
	}
	if now := openFiles(t); now != files {
		t.Errorf("%d files were open, now %d", files, now)
	}
	until(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	if left := leftBehind(); left != "" {
		t.Errorf("processes are left: %s", left)
	}
}

func TestCallersEnvIsNotTouched(t *testing.T) {
	env := make([]string, 1, 4)
	env[0] = "A=b"
	runTool(t, Command{Args: []string{"/bin/true"}, Env: env})
	if got := env[:2][1]; got != "" || !slices.Equal(env, []string{"A=b"}) {
		t.Errorf("environment %q, then %q", env, got)
	}
}

// openFiles counts this process's descriptors.
func openFiles(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sett/roles/role/hosttest"
)

// A try that was killed leaves its directories and its tool's processes; the next one clears them
// away, and nothing else: not those of a try that runs, of one with --keep, or of nobody.
func TestTryAfterAKilledOne(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("another system finds no processes by their mark")
	}
	s := newStage(t)
	binary, err := buildSett()
	s.Must(err)
	pids := t.TempDir()
	tmp, err := os.MkdirTemp("", "sett") // short: the path of a socket has a bound
	s.Must(err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	hosttest.Removable(t, tmp)
	s.write("key", "key")
	s.write("sett.yml", "runtime: process\nmodels: {m: {api: chat, model: x, base_url: \"http://127.0.0.1:9\", api_key_file: "+filepath.Join(s.root, "key")+"}}\n"+
		"agents:\n  stays: {llm: {model: m}, command: [./stays.sh], adapter: text, makes: [Draft], bids: {GoalDefined: exclusive}, workspace: {mode: none}, timeout: 10m}\n"+
		"  ends: {command: [echo, done], adapter: text, makes: [Draft], bids: {GoalDefined: exclusive}, workspace: {mode: none}}\n")
	s.write("stays.sh", "#!/bin/sh\nsetsid sleep 900 </dev/null >/dev/null 2>&1 &\necho $! > "+pids+"/$$.part\nmv "+pids+"/$$.part "+pids+"/$$.pid\nwait\n")
	s.Must(os.Chmod(filepath.Join(s.root, "stays.sh"), 0o755)) //nolint:gosec // a program
	try := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"-C", s.root, "try", "--yes", "--goal", "x"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "XDG_STATE_HOME=" + s.home, "TMPDIR=" + tmp, "DOCKER_HOST=unix:///nonexistent"}
		return cmd
	}
	known := map[string]bool{}
	// begun starts a try, and returns it with the process that its tool has started.
	begun := func(args ...string) (*exec.Cmd, int) {
		t.Helper()
		cmd := try(append([]string{"stays"}, args...)...)
		s.Must(cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		pid := 0
		s.Until("the tool runs", func() bool {
			files, _ := filepath.Glob(filepath.Join(pids, "*.pid"))
			for _, file := range files {
				if text, err := os.ReadFile(file); err == nil && !known[file] {
					known[file] = true
					pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
					return err == nil
				}
			}
			return false
		})
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		return cmd, pid
	}
	kill := func(cmd *exec.Cmd) {
		t.Helper()
		s.Must(cmd.Process.Kill())
		_ = cmd.Wait()
	}
	lives := func(pid int) bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		_, state, _ := strings.Cut(string(text), ") ")
		return err == nil && !strings.HasPrefix(state, "Z")
	}
	made := func() map[string]bool {
		all, _ := filepath.Glob(filepath.Join(tmp, "sett-try-*"))
		of := map[string]bool{}
		for _, dir := range all {
			of[dir] = true
		}
		return of
	}
	killed, left := begun()
	ofKilled := made()
	kill(killed)
	kept, leftByKept := begun("--keep")
	kill(kept)
	_, runs := begun()
	foreign := filepath.Join(tmp, "sett-try-foreign")
	s.Must(os.Mkdir(foreign, 0o700))
	before := made()
	if len(ofKilled) == 0 || !lives(runs) {
		t.Fatalf("made %v", ofKilled)
	}
	if out, err := try("ends").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	after := made()
	if doors, _ := filepath.Glob(filepath.Join(tmp, "sett-door-*")); len(doors) != 0 {
		t.Errorf("the doors of killed tries stay: %v", doors)
	}
	for dir := range ofKilled {
		if after[dir] {
			t.Errorf("the killed try's %s stays", dir)
		}
	}
	if lives(left) || lives(leftByKept) {
		t.Errorf("processes of killed tries live: %v, %v", lives(left), lives(leftByKept))
	}
	if !lives(runs) || !after[foreign] {
		t.Errorf("it cleared away too much: the other try's process lives: %v; directories %v", lives(runs), after)
	}
	stay := 0
	for dir := range after {
		if before[dir] && dir != foreign {
			stay++
		}
	}
	if stay != 3 { // that which was to be kept, and those of the try that runs
		t.Errorf("of %v there is %v", before, after)
	}
}

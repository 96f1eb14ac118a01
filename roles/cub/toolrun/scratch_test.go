package toolrun

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What tools leave in /tmp stays until a run fails; then all of it goes, whatever
// they made of it, but not while another one runs.
func TestScratchAfterFailure(t *testing.T) {
	dir := t.TempDir()
	outside := write(t, "outside", "x", 0o600)
	p := New()
	p.scratch = &scratch{dir: dir}
	run := func(body string) Result {
		t.Helper()
		cmd := sh(body)
		cmd.Dir, cmd.Timeout, cmd.Grace = dir, 300*time.Millisecond, time.Millisecond
		res, err := p.Run(t.Context(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	const litter = `mkdir -p .cache/mod && echo x >.cache/mod/file && ln -s ` + `"$OLDPWD/x" link; `
	for _, end := range []string{"exit 1", "kill -9 $$", "sleep 60", "ln -s " + filepath.Dir(outside) + " dir; chmod 0500 .cache/mod; chmod 0 .cache; exit 3"} {
		if res := run(litter); res.EmptiedTmp != "" || res.ExitCode != 0 {
			t.Errorf("after a good run: %+v", res)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".cache/mod/file")); err != nil {
			t.Errorf("after a good run: %v", err)
		}
		res := run(end)
		if left, err := os.ReadDir(dir); res.EmptiedTmp != "a run failed" || len(left) > 0 || err != nil {
			t.Errorf("after %s: %v %v %+v", end, left, err, res)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("what a link leads to: %v", err)
	}
	if _, err := p.Run(t.Context(), Command{Args: []string{"/nonexistent"}}); err == nil || p.scratch.users != 0 || p.scratch.spoilt {
		t.Errorf("what was not started: %v %+v", err, p.scratch)
	}
}

func TestScratchWhileAnotherRuns(t *testing.T) {
	dir := t.TempDir()
	p := New()
	p.scratch = &scratch{dir: dir}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan Result)
	go func() {
		long := sh("echo mine >long; sleep 60")
		long.Dir, long.Grace = dir, time.Millisecond
		res, _ := p.Run(ctx, long)
		ended <- res
	}()
	mine := filepath.Join(dir, "long")
	until(t, "it runs", func() bool { b, _ := os.ReadFile(mine); return len(b) > 0 })
	failing := sh("exit 1")
	if res, err := p.Run(t.Context(), failing); err != nil || res.EmptiedTmp != "" {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("taken away from under it: %v", err)
	}
	cancel()
	if res := <-ended; res.EmptiedTmp != "a run failed" {
		t.Errorf("the last one: %+v", res)
	}
}

// This is process 1 of no container: /tmp is not ours.
func TestNoScratchElsewhere(t *testing.T) {
	if p := New(); p.scratch != nil || os.Getpid() == 1 {
		t.Errorf("%+v of process %d", p.scratch, syscall.Getpid())
	}
}

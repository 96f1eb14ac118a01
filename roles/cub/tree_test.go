package cub

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// faultyGit puts a git on the PATH that is killed the given number of times, then
// does its work. These tests cannot be parallel: the PATH is the process's.
func faultyGit(t *testing.T, times string) {
	t.Helper()
	git, err := exec.LookPath("git")
	must(t, err)
	dir := t.TempDir()
	script := "#!/bin/sh\necho x >>" + dir + "/runs\nif test $(wc -l <" + dir + "/runs) -le " + times + "; then kill -9 $$; fi\nexec " + git + " \"$@\"\n"
	must(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700)) //nolint:gosec // it is to be run
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// That git itself fails once is nobody's fault; when it keeps failing, the work
// fails, and not as the tool's breach of contract.
func TestGitThatFails(t *testing.T) {
	dir, commit := repository(t)
	for times, fails := range map[string]bool{"1": false, "2": false, "1000": true} {
		t.Run(times, func(t *testing.T) {
			c := newClan(t)
			faultyGit(t, times)
			c.start("worker", vars{env.Workspace: dir,
				env.Command: says(`{"artefact_type":"CodeCommit","artefact_payload":"` + commit + `","summary":""}`)})
			claim := c.work("worker", blackboard.PhaseExclusive, "goal")
			if !fails {
				if a := c.result(claim, "worker"); a.Type != blackboard.TypeCodeCommit {
					t.Errorf("got %+v", a)
				}
				return
			}
			a, r := c.failure(claim, "worker")
			if a.Type != blackboard.TypeToolExecutionFailure || !strings.Contains(r.Reason, "hold the commit of the result") {
				t.Errorf("got %s because %q", a.Type, r.Reason)
			}
		})
	}
}

// A writer whose tree cannot be read is not let loose on it; where there is no
// git, there is nothing to look after.
func TestWriterWithoutGit(t *testing.T) {
	dir, _ := repository(t)
	t.Run("broken", func(t *testing.T) {
		c := newClan(t)
		faultyGit(t, "1000")
		c.start("worker", vars{env.Workspace: dir, env.WorkspaceMode: "rw"})
		_, r := c.failure(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
		if !strings.Contains(r.Reason, "read working tree") {
			t.Errorf("reason %q", r.Reason)
		}
	})
	t.Run("absent", func(t *testing.T) {
		c := newClan(t)
		v := vars{env.Workspace: dir, env.WorkspaceMode: "rw", "PATH": os.Getenv("PATH")}
		t.Setenv("PATH", t.TempDir())
		c.start("worker", v)
		c.await(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker", blackboard.GrantDone)
	})
	t.Run("no commit yet", func(t *testing.T) {
		c := newClan(t)
		empty := t.TempDir()
		git(t, empty, "init", "-q")
		c.start("worker", vars{env.Workspace: empty, env.WorkspaceMode: "rw"})
		c.await(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker", blackboard.GrantDone)
	})
}

package cub

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// withoutGit takes git from the PATH of this process, as in an image that has
// none. The tool of the returned variables still finds its programs. These tests
// cannot be parallel: the PATH is the process's.
func withoutGit(t *testing.T, more vars) vars {
	t.Helper()
	more["PATH"] = os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	return more
}

// A reader needs no git at all, and nothing is said about it.
func TestReaderWithoutGit(t *testing.T) {
	dir, _ := repository(t)
	c := newClan(t)
	r := c.start("worker", withoutGit(t, vars{env.Workspace: dir}))
	c.await(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker", blackboard.GrantDone)
	if said := r.log.find(t, noGitSaid); len(said) > 0 {
		t.Errorf("it says %v", said)
	}
}

const noGitSaid = "no git: a half-changed working tree cannot be restored"

// A CodeCommit that cannot be checked breaks the contract: nothing that anybody
// relies on comes of it. Everything else is as good as with git.
func TestCodeCommitWithoutGit(t *testing.T) {
	dir, commit := repository(t)
	c := newClan(t)
	c.start("worker", withoutGit(t, vars{env.Workspace: dir,
		env.Command: says(`{"artefact_type":"CodeCommit","artefact_payload":"` + commit + `","summary":""}`)}))
	a, r := c.failure(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
	if a.Type != blackboard.TypeContractViolation || r.Reason != "check tool output: CodeCommit: cannot be checked, because the agent's image has no git" {
		t.Errorf("got %s because %q", a.Type, r.Reason)
	}
}

// A writer works, and what it left half done stays; that is said once.
func TestWriterWithoutGitFails(t *testing.T) {
	dir, _ := repository(t)
	c := newClan(t)
	r := c.start("worker", withoutGit(t, vars{env.Workspace: dir, env.WorkspaceMode: "rw", env.Command: shell("echo half >file; exit 1")}))
	for range 2 {
		c.failure(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
	}
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(b) != "half\n" {
		t.Errorf("the file has %q, error %v", b, err)
	}
	if said := r.log.find(t, noGitSaid); len(said) != 1 {
		t.Errorf("it says %v", said)
	}
}

// A tree that a dead writer left is left to somebody who has git.
func TestDeadWriterWithoutGit(t *testing.T) {
	dir, commit := repository(t)
	gitPath, err := exec.LookPath("git")
	must(t, err)
	c := newClan(t)
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	s, err := c.board.Cub.Start(c.ctx, blackboard.StartRequest{Claim: claim, Agent: "worker", Holder: "dead", Mode: blackboard.ReadWrite})
	must(t, err)
	ref := blackboard.GrantRef{Claim: claim, Agent: "worker", Attempt: s.Grant.Attempt, Holder: "dead"}
	must(t, c.board.Cub.NoteBase(c.ctx, ref, commit, "main"))
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("half\n"), 0o600))
	must(t, c.board.Leader.RetryGrant(c.ctx, c.lead.Epoch, ref, "it died"))
	v := withoutGit(t, vars{env.Workspace: dir, env.WorkspaceMode: "rw", env.Incarnation: "i1"})
	r := c.start("worker", v)
	r.log.await(t, noGitSaid)
	c.awaitBid(c.open(c.goal("bid").ID, "worker"), "worker") // enough time to try
	r.stop()
	must(t, r.end())
	if tried := r.log.find(t, "working tree not restored, trying again"); len(tried) > 0 {
		t.Errorf("it tried: %v", tried)
	}
	uses, err := c.board.Roster.Workspace(c.ctx)
	if err != nil || len(uses) == 0 || !uses[0].Restore {
		t.Fatalf("workspace %+v, error %v", uses, err)
	}
	t.Setenv("PATH", filepath.Dir(gitPath))
	c.start("worker", vars{env.Workspace: dir, env.WorkspaceMode: "rw"})
	c.await(claim, "worker", blackboard.GrantDone)
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(b) != "original\n" {
		t.Errorf("the file has %q, error %v", b, err)
	}
}

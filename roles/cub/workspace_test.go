package cub

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/env"
)

// git runs git in a directory and returns its output.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes one with a commit and returns its directory and the commit.
func repository(t testing.TB) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("original\n"), 0o600))
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir, git(t, dir, "rev-parse", "HEAD")
}

func TestCodeCommit(t *testing.T) {
	c := newClan(t)
	dir, commit := repository(t)
	for name, tc := range map[string]struct {
		dir, payload, structural string
		reason                   string // empty: it is good
	}{
		"whole hash":       {dir, commit, "Standard", ""},
		"short hash":       {dir, commit[:7], "Standard", ""},
		"with a line end":  {dir, commit + `\n`, "Standard", ""},
		"too short a hash": {dir, commit[:6], "Standard", "is not a commit hash"},
		"branch":           {dir, "main", "Standard", "is not a commit hash"},
		"option":           {dir, "--version", "Standard", "is not a commit hash"},
		"missing commit":   {dir, strings.Repeat("0123456789", 4), "Standard", "no object"},
		"tree":             {dir, git(t, dir, "rev-parse", "HEAD^{tree}"), "Standard", "is a tree"},
		"empty":            {dir, "", "Standard", "is not a commit hash"},
		"terminal":         {dir, "nothing", "Terminal", "is not a commit hash"},
		"failure":          {dir, "no hash to check", "Failure", ""},
		"no repository":    {t.TempDir(), commit, "Standard", "not a git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			c := c.in(t)
			agent := strings.ReplaceAll(name, " ", "-")
			says := says(`{"structural_type":"` + tc.structural + `","artefact_type":"CodeCommit","payload":"` + tc.payload + `"}`)
			c.start(agent, vars{env.Command: says, env.Workspace: tc.dir})
			claim := c.work(agent, blackboard.PhaseExclusive, "goal")
			if tc.reason == "" {
				if a := c.result(claim, agent); string(a.StructuralType) != tc.structural || a.Type != "CodeCommit" {
					t.Errorf("got %+v", a)
				} else if work := tc.structural == "Standard"; work && (a.Payload != commit || held(t, dir, a.ID) != commit) {
					t.Errorf("the payload is %q, held is %q", a.Payload, held(t, dir, a.ID))
				} else if !work && held(t, dir, a.ID) != "" {
					t.Error("a ref holds what no tool made")
				}
				return
			}
			if a, r := c.failure(claim, agent); a.Type != blackboard.TypeContractViolation || !strings.Contains(r.Reason, tc.reason) {
				t.Errorf("got %s because %q, want a reason like %q", a.Type, r.Reason, tc.reason)
			}
		})
	}
}

// A result of any type may have a commit: its type is declared, or the hash is beside the payload.
// Each is held, also when nothing else is named so.
func TestCommitOfAnyType(t *testing.T) {
	c := newClan(t)
	dir, commit := repository(t)
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
	other := git(t, dir, "rev-parse", "HEAD")
	for name, tc := range map[string]struct {
		output  string
		payload string
		commit  string
		reason  string // empty: it is good
	}{
		"declared":          {`{"artefact_type":"TerraformCode","artefact_payload":"` + commit[:9] + `"}`, commit, commit, ""},
		"declared terminal": {`{"structural_type":"Terminal","artefact_type":"TerraformCode","payload":"` + commit + `"}`, commit, commit, ""},
		"declared and bad":  {`{"artefact_type":"TerraformCode","artefact_payload":"main"}`, "", "", "TerraformCode: "},
		"beside":            {`{"artefact_type":"Plan","artefact_payload":{"a":1},"commit":"` + commit[:9] + `"}`, `{"a":1}`, commit, ""},
		"beside a question": {`{"structural_type":"Question","payload":"so?","commit":"` + commit + `"}`, "so?", commit, ""},
		"beside and bad":    {`{"artefact_type":"Plan","artefact_payload":"p","commit":"0123456789"}`, "", "", "commit: no such commit: the repository has no object"},
		"another":           {`{"artefact_type":"CodeCommit","artefact_payload":"` + commit + `","commit":"` + other + `"}`, "", "", "is another one than that of the payload"},
		"none":              {`{"artefact_type":"Plan","artefact_payload":"` + commit + `"}`, commit, "", ""},
		"code":              {`{"artefact_type":"CodeCommit","artefact_payload":"` + commit + `"}`, commit, commit, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := c.in(t)
			agent := strings.ReplaceAll(name, " ", "-")
			c.start(agent, vars{env.Command: says(tc.output), env.Workspace: dir, env.Commits: `["TerraformCode"]`})
			claim := c.work(agent, blackboard.PhaseExclusive, "goal")
			if tc.reason != "" {
				if a, r := c.failure(claim, agent); a.Type != blackboard.TypeContractViolation || !strings.Contains(r.Reason, tc.reason) {
					t.Errorf("got %s because %q, want a reason like %q", a.Type, r.Reason, tc.reason)
				}
				return
			}
			state := blackboard.GrantDone
			if strings.Contains(name, "question") {
				state = blackboard.GrantAwaitingAnswer
			}
			a := c.artefact(c.await(claim, agent, state).ResultID)
			if a.Payload != tc.payload || a.Commit != tc.commit || held(t, dir, a.ID) != tc.commit {
				t.Errorf("payload %q, commit %q, held %q", a.Payload, a.Commit, held(t, dir, a.ID))
			}
		})
	}
}

// held is the commit that a ref holds for an artefact, empty without one.
func held(t testing.TB, dir, artefact string) string {
	t.Helper()
	return git(t, dir, "for-each-ref", "--format=%(objectname)", "refs/sett/artefacts/*/"+artefact)
}

// A commit on no branch outlives git's cleaning up, as artefact and as what the next
// tool works on.
func TestCommitOutlivesGC(t *testing.T) {
	c := newClan(t)
	dir, _ := repository(t)
	c.start("worker", vars{env.Workspace: dir, env.WorkspaceMode: "rw", env.Command: shell(`cat >/dev/null
git checkout -q --detach; echo more >file; git -c user.name=t -c user.email=t@t commit -qam more
echo '{"artefact_type":"CodeCommit","artefact_payload":"'$(git rev-parse --short HEAD)'","summary":""}'
git checkout -q main`)})
	a := c.result(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
	git(t, dir, "reflog", "expire", "--expire=all", "--all")
	git(t, dir, "gc", "-q", "--prune=now")
	if kind := git(t, dir, "cat-file", "-t", a.Payload); kind != "commit" {
		t.Errorf("%s is %s", a.Payload, kind)
	}
}

const messing = `cat >/dev/null; echo changed >file; echo new >leftover; git -c user.name=t -c user.email=t@t commit -qam mess;
git checkout -q -b elsewhere; echo staged >file; git add file; `

// What a tool leaves behind that failed, was cancelled or was stopped is kept
// under refs/sett/, and the tree is put back.
func TestLeftovers(t *testing.T) {
	for name, ends := range map[string]func(c *clan, r *running, claim string){
		"failed": func(_ *clan, r *running, _ string) { r.letToolEnd() },
		"cancelled": func(c *clan, _ *running, claim string) {
			c.terminate(claim, "test", nil)
		},
		"stopped": func(_ *clan, r *running, _ string) { r.stop(); r.hurry(); _ = r.end() },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClan(t)
			dir, commit := repository(t)
			must(t, os.WriteFile(filepath.Join(dir, ".git/info/exclude"), []byte("tool\nend\n"), 0o600))
			r := c.start("worker", vars{env.Workspace: dir, env.WorkspaceMode: "rw",
				env.Command: shell(messing + "echo $$ >tool; until test -e end; do sleep 0.01; done; exit 1")})
			claim := c.work("worker", blackboard.PhaseExclusive, "goal")
			r.awaitTool()
			ends(c, r, claim)
			until(t, "the workspace is free", func() bool {
				uses, err := c.board.Roster.Workspace(c.ctx)
				must(t, err)
				return len(uses) == 0
			})
			if head, branch := git(t, dir, "rev-parse", "HEAD"), git(t, dir, "branch", "--show-current"); head != commit || branch != "main" {
				t.Errorf("HEAD is at %s on %q", head, branch)
			}
			if status := git(t, dir, "status", "--porcelain"); status != "" {
				t.Errorf("the tree has\n%s", status)
			}
			ref := "refs/sett/" + leftoverRef(claim, "worker", 1)
			if kept := git(t, dir, "show", ref+":file") + git(t, dir, "show", ref+":leftover"); kept != "stagednew" {
				t.Errorf("kept %q", kept)
			}
		})
	}
}

// A tool that ends well leaves the tree as it wants it.
func TestGoodToolKeepsItsTree(t *testing.T) {
	c := newClan(t)
	dir, _ := repository(t)
	c.start("worker", vars{env.Workspace: dir, env.WorkspaceMode: "rw", env.Command: shell(messing + "echo '" + good + "'")})
	c.await(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker", blackboard.GrantDone)
	if branch := git(t, dir, "branch", "--show-current"); branch != "elsewhere" {
		t.Errorf("on branch %q", branch)
	}
}

// A tree that a dead writer left is put back by the agent's next cub, whether it
// starts later or hears of it while it runs; also by one that only bids.
func TestDeadWriter(t *testing.T) {
	for name, tc := range map[string]struct {
		fresh string
		early bool
	}{
		"before the start": {"reuse", false}, "while it runs": {"reuse", true},
		"before a bidder": {"fresh_per_call", false}, "while a bidder runs": {"fresh_per_call", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClan(t)
			dir, commit := repository(t)
			claim := c.work("worker", blackboard.PhaseExclusive, "goal")
			s, err := c.board.Cub.Start(c.ctx, blackboard.StartRequest{Claim: claim, Agent: "worker", Holder: "dead", Mode: blackboard.ReadWrite})
			must(t, err)
			ref := blackboard.GrantRef{Claim: claim, Agent: "worker", Attempt: s.Grant.Attempt, Holder: "dead"}
			must(t, c.board.Cub.NoteBase(c.ctx, ref, commit, "main"))
			must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("half\n"), 0o600))
			start := func() *running {
				return c.start("worker", vars{env.Workspace: dir, env.WorkspaceMode: "rw", env.Strategy: tc.fresh})
			}
			if tc.early {
				start().log.await(t, "cub started")
			}
			must(t, c.board.Leader.FailGrant(c.ctx, c.lead.Epoch, ref, "it died", blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure,
				Type: blackboard.TypeAgentCrashed, Payload: "{}", SourceArtefacts: []string{s.Claim.ArtefactID}, WorkflowID: s.Claim.WorkflowID,
				ClaimID: claim, ProducedByRole: blackboard.RoleOrchestrator}))
			began := time.Now()
			if !tc.early {
				start()
			}
			until(t, "the workspace is free", func() bool {
				uses, err := c.board.Roster.Workspace(c.ctx)
				must(t, err)
				return len(uses) == 0
			})
			if took := time.Since(began); took > tick-time.Second {
				t.Errorf("it took %s: nobody told the cub", took)
			}
			if kept := git(t, dir, "show", "refs/sett/"+leftoverRef(claim, "worker", 1)+":file"); kept != "half" {
				t.Errorf("kept %q", kept)
			}
			if status := git(t, dir, "status", "--porcelain"); status != "" {
				t.Errorf("the tree has\n%s", status)
			}
		})
	}
}

// Writers have the tree alone. That one waits, and for whom, is on the
// blackboard, in the ledger and in the log.
func TestTwoWriters(t *testing.T) {
	c := newClan(t)
	dir, _ := repository(t)
	v := vars{env.Workspace: dir, env.WorkspaceMode: "rw", env.Command: shell(waiting)}
	first := c.start("first", v)
	holds := c.work("first", blackboard.PhaseExclusive, "goal")
	first.awaitTool()
	second := c.start("second", vars{env.Workspace: dir, env.WorkspaceMode: "rw"})
	waits := c.work("second", blackboard.PhaseExclusive, "goal")
	second.log.await(t, "waiting for the workspace", "claim", waits)
	uses, err := c.board.Roster.Workspace(c.ctx)
	must(t, err)
	if len(uses) != 2 || uses[0].Claim != holds || uses[0].Waiting || uses[1].Claim != waits || !uses[1].Waiting {
		t.Errorf("workspace %+v", uses)
	}
	if all := c.events(blackboard.EventWait); len(all) != 1 || all[0].Claim != waits || all[0].Attributes["held_by"] != holds+":first" {
		t.Errorf("ledger %+v", all)
	}
	if g := c.await(waits, "second", blackboard.GrantQueued); g.Attempt != 1 {
		t.Errorf("grant %+v", g)
	}
	first.letToolEnd()
	c.await(holds, "first", blackboard.GrantDone)
	c.await(waits, "second", blackboard.GrantDone)
}

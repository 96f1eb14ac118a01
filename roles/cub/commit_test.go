package cub

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role/store"
)

// changing are the variables of an agent whose changes are committed.
func changing(f *forge, agent, script string, more string) vars {
	return f.writer(agent, vars{env.Role: "Scribe", env.Command: shell(script), env.Adapter: `{"adapter":"commit","stdin":"none"` + more + `}`})
}

// TestChangesAreCommitted: the changes of a tool that knows neither the contract nor git
// are its result; without any, the grant fails.
func TestChangesAreCommitted(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	for name, tc := range map[string]struct {
		script, more string
		phase        blackboard.Phase
		failure      string // the type; empty: it is good
		reason       string
		kind         string
		summary      string
	}{
		"changes":       {"echo; echo 'two files'; echo rest; echo x >'new ü'; echo y >>file", "", blackboard.PhaseExclusive, "", "", "CodeCommit", "two files"},
		"silent":        {"echo x >new", "", blackboard.PhaseParallel, "", "", "CodeCommit", "ran sh -c echo x >new"},
		"own commit":    {"echo x >new; git add new; git commit -qm own", `,"makes":["Code"]`, blackboard.PhaseExclusive, "", "", "Code", "ran sh -c"},
		"nothing":       {"echo done", "", blackboard.PhaseExclusive, "NothingChanged", "changed nothing in its tree", "", ""},
		"fails":         {"echo x >new; echo no luck >&2; exit 3", "", blackboard.PhaseExclusive, "ToolExecutionFailure", "exit code 3: no luck", "", ""},
		"no program":    {"exit 127", "", blackboard.PhaseExclusive, "ToolExecutionFailure", "exit code 127", "", ""},
		"killed":        {"echo x >new; kill -9 $$", "", blackboard.PhaseExclusive, "ToolExecutionFailure", "ended by", "", ""},
		"review":        {"echo x >new", "", blackboard.PhaseReview, "ContractViolation", "cannot review", "", ""},
		"git refuses":   {`printf '[submodule "x"]\n\tpath = x\n\turl = -u./evil\n' >.gitmodules`, "", blackboard.PhaseExclusive, "ContractViolation", "adapter: commit: ", "", ""},
		"in a merge":    {"echo b >file; git commit -qam b; git checkout -q -b a HEAD~1; echo a >file; git commit -qam a; git merge -q - >new; true", "", blackboard.PhaseExclusive, "ContractViolation", "in the middle of a merge, and file has git's marks", "", ""},
		"more than 10M": {"echo x >new; head -c 11000000 /dev/zero", "", blackboard.PhaseExclusive, "", "", "CodeCommit", "ran sh -c"},
		"refused":       {"mkdir -p .GIT d/.Git; echo x >.GIT/config; echo y >new", "", blackboard.PhaseExclusive, "", "", "CodeCommit", "ran sh -c"},
		"embedded":      {"git init -q sub; echo x >sub/x; echo y >new", "", blackboard.PhaseExclusive, "", "", "CodeCommit", "ran sh -c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			agent := strings.ReplaceAll(name, " ", "-")
			c.start(agent, changing(f, agent, tc.script, tc.more))
			claim := c.work(agent, tc.phase, "goal")
			if tc.failure != "" {
				a, r := c.failure(claim, agent)
				if a.Type != tc.failure || !strings.Contains(r.Reason, tc.reason) {
					t.Errorf("got %s because %q", a.Type, r.Reason)
				}
				if kept := r.Leftovers != ""; kept != strings.Contains(tc.script, ">new") && name != "git refuses" {
					t.Errorf("leftovers %q", r.Leftovers)
				}
				return
			}
			a := c.result(claim, agent)
			if a.StructuralType != blackboard.Standard || a.Type != tc.kind || a.Payload != a.Commit || f.held(a.ID) != a.Commit || a.Commit == "" {
				t.Errorf("got %+v, held %q", a, f.held(a.ID))
			}
			if !strings.HasPrefix(a.Summary, tc.summary) {
				t.Errorf("the summary is %q", a.Summary)
			}
			message := "own"
			if name != "own commit" {
				message = "[sett-agent: Scribe] " + a.Summary + "\n\nClaim-ID: " + claim
			}
			if got := f.git("log", "-1", "--format=%an %P %B", a.Commit); got != agent+" "+f.base+" "+message && name != "own commit" {
				t.Errorf("the commit: %s", got)
			}
			if got := f.git("diff-tree", "-r", "-z", "--name-only", f.base, a.Commit); !strings.Contains(got, "new") {
				t.Errorf("it has %q", got)
			}
			if name == "refused" && string(a.Metadata) != `{"refused_paths":[".GIT","d/.Git"]}` {
				t.Errorf("the metadata is %s", a.Metadata)
			}
			if name == "embedded" && string(a.Metadata) != `{"embedded_repositories":["sub"]}` {
				t.Errorf("the metadata is %s", a.Metadata)
			}
		})
	}
}

// The message of a commit names the program by its path in the repository, also where a pinned copy ran.
func TestPinnedProgramIsNamed(t *testing.T) {
	t.Parallel()
	c, f, pin := newClan(t), newForge(t), t.TempDir()
	program := filepath.Join(pin, "tools", "make-it")
	must(t, os.Mkdir(filepath.Dir(program), 0o755))
	must(t, os.WriteFile(program, []byte("echo x >new\n"), 0o600))
	v := changing(f, "worker", "", "")
	v[env.Command], v[env.Pin] = `["sh","`+program+`","`+pin+`"]`, pin
	c.start("worker", v)
	a := c.result(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
	v = changing(f, "broken", "", "")
	v[env.Command], v[env.Pin] = `["`+pin+`/tools/gone"]`, pin
	c.start("broken", v)
	if _, r := c.failure(c.work("broken", blackboard.PhaseExclusive, "goal"), "broken"); !strings.HasPrefix(r.Reason, "start tool tools/gone: no such file") {
		t.Errorf("it failed: %q", r.Reason)
	}
	if want := "ran sh tools/make-it " + pin; a.Summary != want || !strings.Contains(f.git("log", "-1", "--format=%B", a.Commit), want) {
		t.Errorf("the summary is %q, want %q", a.Summary, want)
	}
}

// TestReworkOfChanges: a rework starts at the rejected version, and its changes are the next.
func TestReworkOfChanges(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	c.start("worker", changing(f, "worker", "echo line >>file", ""))
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	first := c.result(claim, "worker")
	bidding := c.open(first.ID, "reviewer")
	rework := blackboard.ReworkClaimID(bidding)
	c.terminate(bidding, "feedback", &blackboard.Rework{ClaimID: rework, Agent: "worker"})
	second := c.result(rework, "worker")
	if second.LogicalID != first.LogicalID || f.git("rev-parse", second.Commit+"^") != first.Commit {
		t.Errorf("first %+v, second %+v", first, second)
	}
	if got := f.git("show", second.Commit+":file"); got != "original\nline\nline" {
		t.Errorf("it has %q", got)
	}
}

// TestLostCommit: a cub that loses the repository's answer, before or after the commit was
// made, records exactly one.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			c, f := newClan(t), newForge(t)
			lost := false
			f.fail(func(what string, _ *http.Request) error {
				if what != "commit" || lost {
					return nil
				}
				lost = true
				if when == "after" {
					return errUnheard
				}
				return errGone
			})
			c.start("worker", changing(f, "worker", "echo x >new", ""))
			a := c.result(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
			if refs := f.git("for-each-ref", "--format=%(objectname) %(refname)", store.Artefact("")); refs != a.Commit+" "+store.Artefact(a.ID) {
				t.Errorf("held:\n%s\nfor %+v", refs, a)
			}
			// A cub that sees the grant as it was before its result prepares a tree for it once more.
			if got := f.requests(); !slices.Equal(got[:min(3, len(got))], []string{"prepare", "commit", "commit"}) || slices.Contains(got[3:], "commit") {
				t.Errorf("asked for %v", got)
			}
		})
	}
}

// TestChangesBesideAResult: a tool of the contract has its changes committed by a word.
func TestChangesBesideAResult(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	for name, tc := range map[string]struct {
		script, output string
		phase          blackboard.Phase
		failure        string // the type; empty: it is good
		payload        string // "": the commit
		changed        bool
	}{
		"a commit":        {"echo x >new", `{"artefact_type":"CodeCommit","artefact_payload":"","summary":"s","commit":"changes","metadata":{"steps":3}}`, blackboard.PhaseExclusive, "", "", true},
		"beside a plan":   {"echo x >new", `{"artefact_type":"Plan","artefact_payload":"go","summary":"s","commit":"changes"}`, blackboard.PhaseParallel, "", "go", true},
		"nothing":         {"true", `{"artefact_type":"CodeCommit","artefact_payload":"","summary":"s","commit":"changes"}`, blackboard.PhaseExclusive, "NothingChanged", "", false},
		"nothing, a plan": {"true", `{"artefact_type":"Plan","artefact_payload":"go","summary":"s","commit":"changes"}`, blackboard.PhaseExclusive, "", "go", false},
		"a question":      {"echo x >new", `{"structural_type":"Question","payload":"?","commit":"changes"}`, blackboard.PhaseExclusive, "ContractViolation", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			agent := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			c.start(agent, f.writer(agent, vars{env.Role: "Coder", env.Command: shell("cat >/dev/null; " + tc.script + "; echo '" + tc.output + "'")}))
			claim := c.work(agent, tc.phase, "goal")
			if tc.failure != "" {
				if a, r := c.failure(claim, agent); a.Type != tc.failure {
					t.Errorf("got %s because %q", a.Type, r.Reason)
				}
				return
			}
			a := c.result(claim, agent)
			if (a.Commit != "") != tc.changed || tc.payload == "" && a.Payload != a.Commit || tc.payload != "" && a.Payload != tc.payload || a.Commit != f.held(a.ID) {
				t.Errorf("got %+v", a)
			}
			if name == "a commit" && string(a.Metadata) != `{"steps":3}` {
				t.Errorf("its metadata is %s", a.Metadata)
			}
		})
	}
}

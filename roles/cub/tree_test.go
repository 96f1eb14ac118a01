package cub

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
	"sett/contract/tool"
	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// commits is a tool that says where it starts, commits a file and prints its hash.
const commits = `cat >stdin; cp stdin "$SEEN/$SETT_CLAIM_ID-$SETT_ATTEMPT"; echo "$SETT_CLAIM_ID" >>made; git add made; git commit -qm "$SETT_CLAIM_ID"
echo '{"artefact_type":"CodeCommit","artefact_payload":"'$(git rev-parse --short HEAD)'"}'`

// seen is the part of a tool's stdin that says where its tree starts; nil: nothing does.
func seen(t testing.TB, dir, claim string) *tool.Workspace {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, claim+"-1"))
	must(t, err)
	var in struct{ Workspace *tool.Workspace }
	must(t, json.Unmarshal(b, &in))
	return in.Workspace
}

// A grant starts in a clean tree at the commit that its target stands for, and its own
// commit is in the store, under the name of its artefact.
func TestPrivateTree(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	dir := t.TempDir()
	c.start("worker", f.writer("worker", vars{env.Command: shell(commits), "SEEN": dir}))
	id := newID()
	must(t, c.board.People.PostGoal(c.ctx, blackboard.Artefact{ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		ProducedByRole: blackboard.RoleUser, WorkflowID: id, Metadata: json.RawMessage(`{"base":"` + f.base + `","branch":"topic"}`)}, "ann"))
	claim := c.open(id, somebody)
	c.grant(claim, blackboard.PhaseExclusive, "worker")
	first := c.result(claim, "worker")
	if w := seen(t, dir, claim); w == nil || w.Commit != f.base || w.Base != f.base || w.Branch != "topic" || w.Unmerged != nil {
		t.Errorf("the tool starts at %+v", w)
	}
	if first.Commit == "" || first.Payload != first.Commit || f.held(first.ID) != first.Commit || f.git("rev-parse", first.Commit+"^") != f.base {
		t.Errorf("%+v, held %q", first, f.held(first.ID))
	}
	if author := f.git("log", "-1", "--format=%an", first.Commit); author != "worker" {
		t.Errorf("the commit is by %q", author)
	}

	next := c.open(first.ID, somebody)
	c.grant(next, blackboard.PhaseExclusive, "worker")
	second := c.result(next, "worker")
	if w := seen(t, dir, next); w == nil || w.Commit != first.Commit {
		t.Errorf("the next tool starts at %+v, want %s", w, first.Commit)
	}
	if made := f.git("show", second.Commit+":made"); made != claim+"\n"+next {
		t.Errorf("it made %q", made)
	}
	if got := f.prepared(); got.Goal != id || !slices.Equal(got.Artefacts, []string{first.ID}) || got.Branch != "topic" || got.ReadOnly || got.Resumes != 0 {
		t.Errorf("asked for %+v", got)
	}
}

// The exclusive grant starts from all that the parallel phase made.
func TestTreeOfParallelResults(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	dir := t.TempDir()
	for _, agent := range []string{"a", "b", "z"} {
		c.start(agent, f.writer(agent, vars{env.Command: shell(`cat >/dev/null; echo ` + agent + ` >file-` + agent + `; git add -A; git commit -qm x
echo '{"artefact_type":"Piece","artefact_payload":"","commit":"'$(git rev-parse HEAD)'"}'`)}))
	}
	c.start("joiner", f.writer("joiner", vars{env.Command: shell(commits), "SEEN": dir}))
	claim := c.open(c.goal("goal").ID, somebody)
	c.grant(claim, blackboard.PhaseParallel, "a", "b", "z")
	var ids []string
	for _, agent := range []string{"a", "b", "z"} {
		ids = append(ids, c.result(claim, agent).ID)
	}
	c.grant(claim, blackboard.PhaseExclusive, "joiner")
	sum := c.result(claim, "joiner")
	if got := f.git("show", sum.Commit+":file-a", sum.Commit+":file-b", sum.Commit+":file-z"); got != "a\nb\nz" {
		t.Errorf("the joined tree has %q in %+v", got, sum)
	}
	if w := seen(t, dir, claim); w == nil || len(w.Unmerged) != 0 {
		t.Errorf("the tool reads %+v", w)
	}
	got := slices.Sorted(slices.Values(f.prepared().Artefacts))
	if slices.Sort(ids); !slices.Equal(got, ids) {
		t.Errorf("asked to start from %v, want %v", got, ids)
	}
}

// An agent without a tree asks the repository nothing, and cannot name a commit.
func TestNoTree(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	dir := t.TempDir()
	c.start("worker", vars{env.RepositoryURL: f.door.URL, "SEEN": dir,
		env.Command: shell(`cat >"$SEEN/$SETT_CLAIM_ID-1"; echo '{"artefact_type":"CodeCommit","artefact_payload":"` + f.base + `"}'`)})
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	if a, r := c.failure(claim, "worker"); a.Type != blackboard.TypeContractViolation || !strings.Contains(r.Reason, "workspace: {mode: none}") {
		t.Errorf("%s because %q", a.Type, r.Reason)
	}
	if w := seen(t, dir, claim); w != nil || len(f.requests()) > 0 {
		t.Errorf("it reads %+v and asked for %v", w, f.requests())
	}
}

func TestCodeCommit(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	for name, tc := range map[string]struct {
		payload, structural string
		reason              string // empty: it is good
		more                string // fields of the output
	}{
		"whole hash":       {"$HEAD", "Standard", "", ""},
		"short hash":       {"$(echo $HEAD | cut -c-7)", "Standard", "", ""},
		"with a line end":  {`$HEAD\n`, "Standard", "", ""},
		"too short a hash": {"$(echo $HEAD | cut -c-6)", "Standard", "is not a commit hash", ""},
		"branch":           {"main", "Standard", "is not a commit hash", ""},
		"option":           {"--version", "Standard", "is not a commit hash", ""},
		"missing commit":   {strings.Repeat("0123456789", 4), "Standard", "no object", ""},
		"tree":             {"$(git rev-parse HEAD^{tree})", "Standard", "no such commit", ""},
		"unrelated":        {"$(git commit-tree -m x HEAD^{tree})", "Standard", "does not build on", ""},
		"rebased":          {"$(git commit-tree -m x HEAD^{tree})", "Standard", "", `,"rebased":true`},
		"empty":            {"", "Standard", "is not a commit hash", ""},
		"terminal":         {"nothing", "Terminal", "is not a commit hash", ""},
		"failure":          {"no hash to check", "Failure", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			agent := strings.ReplaceAll(name, " ", "-")
			c.start(agent, f.writer(agent, vars{env.Command: shell(`cat >/dev/null; echo ` + agent + ` >new; git add new; git commit -qm new; HEAD=$(git rev-parse HEAD)
printf '%s' '{"structural_type":"` + tc.structural + `","artefact_type":"CodeCommit","payload":"'"` + tc.payload + `"'"` + tc.more + `}'`)}))
			claim := c.work(agent, blackboard.PhaseExclusive, "goal")
			if tc.reason != "" {
				if a, r := c.failure(claim, agent); a.Type != blackboard.TypeContractViolation || !strings.Contains(r.Reason, tc.reason) ||
					!strings.Contains(r.Reason, "CodeCommit: ") || f.git("show", r.Leftovers+":new") != agent {
					t.Errorf("got %s because %q, leftovers %q; want a reason like %q", a.Type, r.Reason, r.Leftovers, tc.reason)
				}
				return
			}
			a := c.result(claim, agent)
			if string(a.StructuralType) != tc.structural || a.Type != "CodeCommit" {
				t.Errorf("got %+v", a)
			}
			if work := tc.structural == "Standard"; work && (a.Payload != a.Commit || f.held(a.ID) != a.Commit || f.git("show", a.Commit+":new") != agent) {
				t.Errorf("the payload is %q, the commit %q, held %q", a.Payload, a.Commit, f.held(a.ID))
			} else if !work && f.held(a.ID) != "" {
				t.Error("a ref holds what is no result")
			}
		})
	}
}

// A result of any type may have a commit: its type is declared, or the hash is beside the
// payload. Each is held.
func TestCommitOfAnyType(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	base := f.base
	for name, tc := range map[string]struct {
		output  string
		payload string
		commit  string
		reason  string // empty: it is good
	}{
		"declared":          {`{"artefact_type":"TerraformCode","artefact_payload":"` + base[:9] + `"}`, base, base, ""},
		"declared terminal": {`{"structural_type":"Terminal","artefact_type":"TerraformCode","payload":"` + base + `"}`, base, base, ""},
		"declared and bad":  {`{"artefact_type":"TerraformCode","artefact_payload":"main"}`, "", "", "TerraformCode: "},
		"beside":            {`{"artefact_type":"Plan","artefact_payload":{"a":1},"commit":"` + base[:9] + `"}`, `{"a":1}`, base, ""},
		"beside a question": {`{"structural_type":"Question","payload":"so?","commit":"` + base + `"}`, "so?", base, ""},
		"beside and bad":    {`{"artefact_type":"Plan","artefact_payload":"p","commit":"0123456789"}`, "", "", "commit: "},
		"another":           {`{"artefact_type":"CodeCommit","artefact_payload":"` + base + `","commit":"'$(echo x >x; git add x; git commit -qm x; git rev-parse HEAD)'"}`, "", "", "is another one than that of the payload"},
		"none":              {`{"artefact_type":"Plan","artefact_payload":"` + base + `"}`, base, "", ""},
		"code":              {`{"artefact_type":"CodeCommit","artefact_payload":"` + base + `"}`, base, base, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			agent := strings.ReplaceAll(name, " ", "-")
			c.start(agent, f.writer(agent, vars{env.Command: says(tc.output), env.Commits: `["TerraformCode"]`}))
			claim := c.work(agent, blackboard.PhaseExclusive, "goal")
			if tc.reason != "" {
				if a, r := c.failure(claim, agent); a.Type != blackboard.TypeContractViolation || !strings.Contains(r.Reason, tc.reason) {
					t.Errorf("got %s because %q, want a reason like %q", a.Type, r.Reason, tc.reason)
				}
				return
			}
			a := c.result(claim, agent)
			if a.Payload != tc.payload || a.Commit != tc.commit || f.held(a.ID) != tc.commit {
				t.Errorf("payload %q, commit %q, held %q", a.Payload, a.Commit, f.held(a.ID))
			}
		})
	}
}

// A reader's commit is held, too, and nothing is kept of its tree.
func TestReadOnlyTree(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	c.start("worker", f.writer("worker", vars{env.WorkspaceMode: "ro",
		env.Command: shell(`cat >/dev/null; test "$(cat file)" = original; echo '{"structural_type":"Review","payload":"{}","commit":"'$(git rev-parse HEAD)'"}'`)}))
	a := c.result(c.work("worker", blackboard.PhaseReview, "goal"), "worker")
	if a.StructuralType != blackboard.Review || a.Commit != f.base || f.held(a.ID) != f.base || !f.prepared().ReadOnly {
		t.Errorf("got %+v, held %q", a, f.held(a.ID))
	}
	c.start("failing", f.writer("failing", vars{env.WorkspaceMode: "ro", env.Command: shell("exit 1")}))
	c.failure(c.work("failing", blackboard.PhaseReview, "goal"), "failing")
	var got []string
	until(t, "both trees are given back", func() bool { got = f.requests(); return len(got) == 5 })
	if slices.Sort(got); !slices.Equal(got, []string{"prepare", "prepare", "settle", "settle", "take"}) {
		t.Errorf("asked for %v", got)
	}
}

// When the blackboard has an artefact with a commit, the store has held it before.
func TestHeldBeforeItIsRecorded(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	taken := make(chan struct{})
	f.fail(func(what string, _ *http.Request) error {
		if what != "take" {
			return nil
		}
		if g, err := c.board.Records.Grant(c.ctx, claim, "worker"); err != nil || g.State != blackboard.GrantRunning {
			t.Errorf("before the commit is held: %+v %v", g, err)
		}
		close(taken)
		return nil
	})
	c.start("worker", f.writer("worker", vars{env.Command: shell(commits), "SEEN": t.TempDir()}))
	if a := c.result(claim, "worker"); f.held(a.ID) != a.Commit {
		t.Errorf("%+v", a)
	}
	<-taken
}

// messing is a tool's way of leaving commits, changes and new files.
const messing = `cat >/dev/null; echo changed >file; git commit -qam mess; git checkout -q -b elsewhere; echo staged >file; git add file; echo new >leftover; `

// The changes of a tool that failed, was cancelled, was stopped or asked are kept, and
// those of a tool that ended well are not.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	question := `echo '{"structural_type":"Question","payload":"so?"}'`
	for name, tc := range map[string]struct {
		end   string // of the tool
		ends  func(c *clan, r *running, claim string)
		state blackboard.GrantState
	}{
		"failed":     {"exit 1", nil, blackboard.GrantFailed},
		"own report": {`echo '{"structural_type":"Failure","artefact_type":"Flood","payload":"p","summary":"wet"}'`, nil, blackboard.GrantFailed},
		"violation":  {`echo '{"structural_type":"Review","payload":"p"}'`, nil, blackboard.GrantFailed},
		"asked":      {question, nil, blackboard.GrantAwaitingAnswer},
		"cancelled":  {"", func(c *clan, _ *running, claim string) { c.terminate(claim, "test", nil) }, blackboard.GrantCancelled},
		"stopped":    {"", func(_ *clan, r *running, _ string) { r.stop(); r.hurry(); _ = r.end() }, blackboard.GrantQueued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, f := newClan(t), newForge(t)
			if tc.ends != nil {
				tc.end = "echo $$ >tool; exec sleep 300"
			}
			r := c.start("worker", f.writer("worker", vars{env.Command: shell(messing + tc.end)}))
			claim := c.work("worker", blackboard.PhaseExclusive, "goal")
			if tc.ends != nil {
				until(t, "the tool runs", func() bool { _, err := os.Stat(filepath.Join(r.dir, "tool")); return err == nil })
				tc.ends(c, r, claim)
			}
			g := c.await(claim, "worker", tc.state)
			said := r.log.await(t, "the tool's changes kept", "claim", claim)
			commit := f.git("rev-parse", store.Leftover(claim, "worker", 1))
			if said.text("commit") != commit || said.text("leftovers") != store.Leftover(claim, "worker", 1) {
				t.Errorf("logged %v, kept %s", said, commit)
			}
			if kept := f.git("show", commit+":file", commit+":leftover"); kept != "staged\nnew" {
				t.Errorf("kept %q", kept)
			}
			if tc.state != blackboard.GrantFailed {
				return
			}
			a := c.artefact(g.ResultID)
			if !strings.HasSuffix(a.Summary, " (its changes are kept: "+commit[:12]+")") {
				t.Errorf("the summary is %q", a.Summary)
			}
			if report := reportOf(a); name != "own report" && report.Leftovers != commit {
				t.Errorf("the report has %q", report.Leftovers)
			}
		})
	}
	t.Run("beside HEAD", func(t *testing.T) {
		t.Parallel()
		c, f := newClan(t), newForge(t)
		c.start("worker", f.writer("worker", vars{env.Command: shell("echo work >new; git add -A; git stash -q; exit 3")}))
		a, report := c.failure(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
		stash := "stash " + f.git("rev-parse", report.Leftovers+"^2")[:12]
		if !slices.Equal(report.Beside, []string{stash}) || !strings.HasSuffix(a.Summary, " (its changes are kept: "+report.Leftovers[:12]+"; also kept: "+stash+")") {
			t.Errorf("the summary is %q, the report has %q", a.Summary, report.Beside)
		}
	})
	t.Run("too large", func(t *testing.T) {
		t.Parallel()
		c, f := newClan(t), newForge(t)
		c.start("worker", f.writer("worker", vars{env.Command: shell("echo work >new; head -c 3000000 /dev/zero >big; exit 3"), env.MaxSize: "1048576"}))
		a, report := c.failure(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
		if f.git("show", "--name-only", "--format=", report.Leftovers) != "new" ||
			!strings.Contains(a.Summary, "; not kept: big (3.0 MB): the changes are above workspace.max_size (1.0 MB))") || len(report.LeftOut) != 1 {
			t.Errorf("the summary is %q, the report has %q", a.Summary, report.LeftOut)
		}
	})
	t.Run("nothing fits", func(t *testing.T) {
		t.Parallel()
		c, f := newClan(t), newForge(t)
		c.start("worker", f.writer("worker", vars{env.Command: shell("for i in $(seq 1200); do echo 12345678 >new$i; done; exit 3"), env.MaxSize: "100"}))
		a, report := c.failure(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
		if report.Leftovers != "" || !strings.Contains(a.Summary, "its changes are not kept: the commit brings too much: 1200 files, the largest of them new") {
			t.Errorf("the summary is %q", a.Summary)
		}
	})
	t.Run("ended well", func(t *testing.T) {
		t.Parallel()
		c, f := newClan(t), newForge(t)
		c.start("worker", f.writer("worker", vars{env.Command: shell(messing + "echo '" + good + "'")}))
		c.await(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker", blackboard.GrantDone)
		if got := f.requests(); !slices.Equal(got, []string{"prepare", "settle"}) {
			t.Errorf("asked for %v", got)
		}
	})
	t.Run("nothing left", func(t *testing.T) {
		t.Parallel()
		c, f := newClan(t), newForge(t)
		c.start("worker", f.writer("worker", vars{env.Command: shell("exit 1")}))
		a, report := c.failure(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
		if report.Leftovers != "" || a.Summary != report.Reason {
			t.Errorf("%q %+v", a.Summary, report)
		}
	})
}

// A grant that goes on after its Question starts from what its tree held then, also when
// its cub is stopped in between.
func TestTreeAfterAQuestion(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	v := f.writer("worker", vars{env.Command: shell(`cat >/dev/null
case $SETT_ATTEMPT in
1) echo half >half; echo '{"structural_type":"Question","payload":"so?"}' ;;
2) echo other >half; echo $$ >tool; exec sleep 300 ;;
*) cat half file >both; git add -A; git commit -qm both; echo '{"artefact_type":"CodeCommit","artefact_payload":"'$(git rev-parse HEAD)'"}' ;;
esac`)})
	r := c.start("worker", v)
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	g := c.await(claim, "worker", blackboard.GrantAwaitingAnswer)
	c.answer(c.artefact(g.ResultID), "yes")
	until(t, "the second attempt runs", func() bool { _, err := os.Stat(filepath.Join(r.dir, "tool")); return err == nil })
	r.stop()
	r.hurry()
	must(t, r.end())
	if g := c.await(claim, "worker", blackboard.GrantQueued); g.Attempt != 3 || g.AskedIn != 1 {
		t.Errorf("grant %+v", g)
	}
	c.start("worker", v)
	if a := c.result(claim, "worker"); a.Commit == "" || f.git("show", a.Commit+":both") != "half\noriginal" {
		t.Errorf("it made %+v", a)
	}
	if got := f.prepared(); got.Attempt != 3 || got.Resumes != 1 {
		t.Errorf("asked for %+v", got)
	}
}

// TestResultFromBeforeAQuestion: what a tool changed before it asked is in its result, also where it changes nothing more.
func TestResultFromBeforeAQuestion(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	const changes = `"artefact_payload":"","commit":"changes"}`
	for name, tc := range map[string]struct {
		questions int
		end, kind string
		failure   string
	}{
		"commit":     {1, `{"artefact_type":"CodeCommit",` + changes, "CodeCommit", ""},
		"other type": {1, `{"artefact_type":"Tested",` + changes, "Tested", ""},
		"terminal":   {1, `{"structural_type":"Terminal","artefact_type":"Done",` + changes, "Done", ""},
		"twice":      {2, `{"artefact_type":"Tested",` + changes, "Tested", ""},
		"own commit": {1, `{"artefact_type":"CodeCommit","artefact_payload":"'$(git rev-parse HEAD)'"}`, "CodeCommit", ""},
		"taken back": {1, `{"artefact_type":"CodeCommit",` + changes, "", blackboard.TypeNothingChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, agent, seenIn := c.in(t), strings.ReplaceAll(name, " ", "-"), t.TempDir()
			undo := ""
			if tc.failure != "" {
				undo = "rm half; "
			}
			c.start(agent, f.writer(agent, vars{env.Role: "Writer", "SEEN": seenIn, env.Command: shell(`cat >$SEEN/$SETT_ATTEMPT
if test $SETT_ATTEMPT = 1; then echo half >half; fi
if test $SETT_ATTEMPT -le ` + strconv.Itoa(tc.questions) + `; then echo '{"structural_type":"Question","payload":"so?"}'
else ` + undo + `echo '` + tc.end + `'; fi`)}))
			claim := c.work(agent, blackboard.PhaseExclusive, "goal")
			for range tc.questions {
				c.answer(c.artefact(c.await(claim, agent, blackboard.GrantAwaitingAnswer).ResultID), "yes")
			}
			if tc.failure != "" {
				if a, r := c.failure(claim, agent); a.Type != tc.failure {
					t.Errorf("got %s because %q", a.Type, r.Reason)
				}
				return
			}
			a := c.result(claim, agent)
			if a.Type != tc.kind || a.Commit == "" || f.held(a.ID) != a.Commit {
				t.Fatalf("got %+v, held %q", a, f.held(a.ID))
			}
			if got := f.git("log", "--format=%an %s", f.base+".."+a.Commit); got != agent+" [sett-agent: Writer] work before a question" || f.git("show", a.Commit+":half") != "half" {
				t.Errorf("the commits: %s", got)
			}
			for i := range tc.questions + 1 {
				text, err := os.ReadFile(filepath.Join(seenIn, strconv.Itoa(i+1)))
				must(t, err)
				var in tool.Input
				must(t, json.Unmarshal(text, &in))
				if want := map[bool]string{true: f.base}[i > 0]; in.Workspace.Before != want {
					t.Errorf("attempt %d began with %q, want %q", i+1, in.Workspace.Before, want)
				}
			}
		})
	}
}

// A commit of an older Sett is in no store. The Failure says so, and what to do.
func TestMissingCommit(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	old := c.artefactBy("coder", blackboard.TypeCodeCommit, f.base)
	c.start("worker", f.writer("worker", nil))
	claim := c.open(old.ID, somebody)
	c.grant(claim, blackboard.PhaseExclusive, "worker")
	a, r := c.failure(claim, "worker")
	if a.Type != blackboard.TypeMissingCommit || !strings.Contains(r.Reason, old.ID) || !strings.Contains(r.Reason, "sett forage --base COMMIT") || strings.Contains(r.Reason, "\n") {
		t.Errorf("%s because %q", a.Type, r.Reason)
	}
	c.await(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker", blackboard.GrantDone)
}

// Faults of a repository, each of which passes.
var faults = map[string]func(r *http.Request) error{
	"gone":  func(*http.Request) error { return errGone },
	"error": func(*http.Request) error { return errors.New("no space left on device") },
	"slow":  func(r *http.Request) error { <-r.Context().Done(); return errGone },
}

// While the repository is away, a grant waits for it, whatever it wants of it. The wait
// has a name, and then the grant goes on.
func TestRepositoryAway(t *testing.T) {
	t.Parallel()
	for request, tool := range map[string]string{"prepare": commits, "take": commits, "keep": messing + "exit 1", "settle": "echo '" + good + "'"} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			c, f := newClan(t), newForge(t)
			f.fail(func(what string, r *http.Request) error {
				if what == request {
					return errors.New("no space left on device")
				}
				return nil
			})
			r := c.start("worker", f.writer("worker", vars{env.Command: shell(tool), "SEEN": t.TempDir()}))
			claim := c.work("worker", blackboard.PhaseExclusive, "goal")
			if said := r.log.await(t, "waiting for the repository", "claim", claim); !strings.Contains(said.text("reason"), "no space left") {
				t.Errorf("logged %v", said)
			}
			until(t, "the wait is on the blackboard, and why", func() bool {
				g := c.await(claim, "worker", blackboard.GrantRunning)
				return !g.WaitsSince.IsZero() && g.WaitsFor == "" && g.WaitsWhy == "no space left on device"
			})
			f.fail(nil)
			g := c.await(claim, "worker", blackboard.GrantDone, blackboard.GrantFailed)
			if done := request != "keep"; done != (g.State == blackboard.GrantDone) || !g.WaitsSince.IsZero() {
				t.Errorf("grant %+v", g)
			}
			if a := c.artefact(g.ResultID); request == "keep" && f.git("rev-parse", store.Leftover(claim, "worker", 1)) == "" || request == "take" && f.held(a.ID) != a.Commit {
				t.Errorf("%+v", a)
			}
			began, over := r.log.find(t, "waiting for the repository"), r.log.find(t, "waiting for the repository no longer")
			if len(began) == 0 || len(over) != len(began) {
				t.Fatalf("logged %v %v", began, over)
			}
			for _, later := range began[1:] { // on a busy machine the repository may take its time
				if later.text("reason") != "it works on the request" {
					t.Errorf("logged %v", later)
				}
			}
			all := c.events(blackboard.EventWait)
			if len(all) != 2*len(began) {
				t.Errorf("ledger %+v, logged %v", all, began)
			}
			for i, e := range all {
				if e.Reason != "repository" || e.To != []string{"", "over"}[i%2] || e.Claim != claim || e.Agent != "worker" {
					t.Errorf("ledger %+v", all)
				}
			}
		})
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, f := newClan(t), newForge(t)
			f.fail(func(_ string, r *http.Request) error { return fault(r) })
			r := c.start("worker", f.writer("worker", vars{env.Command: shell(commits), "SEEN": t.TempDir()}))
			claim := c.work("worker", blackboard.PhaseExclusive, "goal")
			r.log.await(t, "waiting for the repository", "claim", claim)
			f.fail(nil)
			f.door.CloseClientConnections() // of a request that would hang for ever
			if a := c.result(claim, "worker"); a.Type != blackboard.TypeCodeCommit {
				t.Errorf("got %+v", a)
			}
		})
	}
}

// A wait for the repository ends with the grant. At the first request to stop, a grant
// whose tool has not begun goes back; a finished tool's has a moment.
func TestGrantEndsWhileRepositoryIsAway(t *testing.T) {
	t.Parallel()
	for name, fault := range faults {
		for _, request := range []string{"prepare", "take"} {
			for _, how := range []string{"stop", "cancel"} {
				t.Run(strings.Join([]string{name, request, how}, " "), func(t *testing.T) {
					t.Parallel()
					c, f := newClan(t), newForge(t)
					f.fail(func(what string, r *http.Request) error {
						if what == "prepare" && request != what {
							return nil
						}
						return fault(r)
					})
					r := c.start("worker", f.writer("worker", vars{env.Command: shell(commits), "SEEN": t.TempDir(), env.Grace: "1m"}))
					claim := c.work("worker", blackboard.PhaseExclusive, "goal")
					until(t, "the request is made", func() bool { return slices.Contains(f.requests(), request) })
					if how == "cancel" {
						c.terminate(claim, "test", nil)
						r.log.await(t, "tool stopped: grant cancelled", "claim", claim)
						return
					}
					r.stop()
					if request == "take" {
						r.log.await(t, "stopping: the running tool may finish")
						r.hurry()
					}
					must(t, r.end())
					if g := c.await(claim, "worker", blackboard.GrantQueued); g.Attempt != 2 {
						t.Errorf("grant %+v", g)
					}
				})
			}
		}
	}
}

// A cub that lost the answer asks again, and has the same.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	lost := map[string]bool{}
	f.fail(func(what string, r *http.Request) error {
		if lost[what] {
			return nil
		}
		lost[what] = true
		return errGone
	})
	c.start("worker", f.writer("worker", vars{env.Command: shell(commits), "SEEN": t.TempDir()}))
	if a := c.result(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker"); f.held(a.ID) != a.Commit || a.Commit == "" {
		t.Errorf("got %+v", a)
	}
	if got := f.requests(); !slices.Equal(got, []string{"prepare", "prepare", "take", "take"}) {
		t.Errorf("asked for %v", got)
	}
}

// A worker has a tree of its own name, and the token of its agent.
func TestTreeOfAWorker(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	must(t, f.tree("worker.2").Make())
	r := c.start("worker", f.writer("worker", vars{env.Strategy: "fresh_per_call", env.Tree: "worker.2", env.Workspace: f.tree("worker.2").Dir(),
		env.Command: shell(commits), "SEEN": t.TempDir()}), "--execute-claim", claim)
	must(t, r.end())
	if a := c.result(claim, "worker"); f.held(a.ID) != a.Commit || a.Commit == "" {
		t.Errorf("got %+v", a)
	}
	if _, err := os.Stat(filepath.Join(f.tree("worker").Dir(), "file")); err == nil {
		t.Error("the agent's own tree was prepared")
	}
}

// The interface is met by the client of the role.
var _ trees = (*line.Client)(nil)

// A grant that asked, got its Answer and failed is tried again from what its tree held at the Question.
func TestTreeOfARetryAfterAQuestion(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	c.start("worker", f.writer("worker", vars{env.Command: shell(`cat >/dev/null
case $SETT_ATTEMPT in
1) echo half >half; echo '{"structural_type":"Question","payload":"so?"}' ;;
2) echo other >half; exit 1 ;;
*) cat half file >both; git add -A; git commit -qm both; echo '{"artefact_type":"CodeCommit","artefact_payload":"'$(git rev-parse HEAD)'"}' ;;
esac`)}))
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	c.answer(c.artefact(c.await(claim, "worker", blackboard.GrantAwaitingAnswer).ResultID), "yes")
	c.failure(claim, "worker")
	c.terminate(claim, "failed", nil)
	again := newID()
	must(t, c.board.People.Retry(c.ctx, claim, again, "ann", ""))
	if a := c.result(again, "worker"); a.Commit == "" || f.git("show", a.Commit+":both") != "half\noriginal" {
		t.Errorf("it made %+v", a)
	}
	if got := f.prepared(); got.Claim != again || got.Resumes != 1 || got.ResumesOf != claim {
		t.Errorf("asked for %+v", got)
	}
}

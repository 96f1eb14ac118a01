package cub

import (
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// dispute is a claim whose exclusive grant waits: two agents wrote the same line.
type dispute struct {
	*clan
	f        *forge
	claim    string
	pieces   []blackboard.Artefact // the earlier one first
	conflict blackboard.Artefact
}

func newDispute(t *testing.T, joiner vars) dispute {
	t.Helper()
	return newDisputeOver(t, joiner, `echo $me >file`)
}

// newDisputeOver has the two agents change something by a script, in which $me is the agent's name.
func newDisputeOver(t *testing.T, joiner vars, change string) dispute {
	t.Helper()
	d := dispute{clan: newClan(t), f: newForge(t)}
	for _, agent := range []string{"a", "b"} {
		d.start(agent, d.f.writer(agent, vars{env.Command: shell(`cat >/dev/null; me=` + agent + `; ` + change + `; git add -A; git commit -qm x
echo '{"artefact_type":"Piece","artefact_payload":"","commit":"'$(git rev-parse HEAD)'"}'`)}))
	}
	d.start("joiner", d.f.writer("joiner", joiner))
	d.claim = d.open(d.goal("goal").ID, somebody)
	for _, agent := range []string{"b", "a"} { // the order of time is not that of the names
		d.grant(d.claim, blackboard.PhaseParallel, agent)
		d.pieces = append(d.pieces, d.result(d.claim, agent))
	}
	// A phase is granted once: the record names both.
	d.do("HSET", "sett:{"+instance+"}:claim:"+d.claim, "granted_parallel_agents", `["a","b"]`)
	d.grant(d.claim, blackboard.PhaseExclusive, "joiner")
	d.conflict = d.artefact(d.waits().Conflict)
	return d
}

// waits returns the joiner's grant once it waits for a Conflict.
func (d dispute) waits() (g blackboard.Grant) {
	d.t.Helper()
	until(d.t, "the grant waits for a conflict", func() bool {
		var err error
		g, err = d.board.Records.Grant(d.ctx, d.claim, "joiner")
		must(d.t, err)
		return g.Waiting()
	})
	return g
}

// settles has the joiner go on.
func (d dispute) settles(with string) {
	d.t.Helper()
	must(d.t, d.board.Leader.Unclash(d.ctx, blackboard.Unclash{Epoch: d.lead.Epoch, Claim: d.claim, Agent: "joiner", Conflict: d.conflict.ID, Settled: with}))
}

const joins = `cat >stdin; git log --format=%s >log; git add -A; git commit -qm join; echo '{"artefact_type":"CodeCommit","artefact_payload":"'$(git rev-parse HEAD)'"}'`

// A grant whose commits do not merge waits. The Conflict names both sides, and its commit has
// git's marks. Nobody starts the grant before another artefact takes the place of both.
func TestClash(t *testing.T) {
	t.Parallel()
	d := newDispute(t, vars{env.Command: shell(joins)})
	c, ok := d.conflict.Conflict()
	if b, a := d.pieces[0], d.pieces[1]; !ok || !slices.Equal(c.Ours.Artefacts, []string{b.ID}) || c.Ours.Commit != b.Commit ||
		!slices.Equal(c.Theirs.Artefacts, []string{a.ID}) || c.Theirs.Commit != a.Commit || c.Base != d.f.base || !slices.Equal(c.Files, []string{"file"}) {
		t.Errorf("the conflict is %s, want the later one second", d.conflict.Payload)
	}
	if got := d.f.git("show", d.conflict.Commit+":file"); !strings.HasPrefix(got, "<<<<<<< ") || !strings.Contains(got, "b\n=======\na\n") {
		t.Errorf("the file is %q", got)
	}
	if got := d.f.git("rev-parse", d.conflict.Commit+"^1", d.conflict.Commit+"^2"); got != c.Ours.Commit+"\n"+c.Theirs.Commit {
		t.Errorf("its parents are %q", got)
	}
	if held := d.f.held(blackboard.ConflictReviewID(d.conflict.ID, "")); held != c.Ours.Commit || d.f.held(d.conflict.ID) != d.conflict.Commit {
		t.Errorf("held for the Review: %q", held)
	}
	_, err := d.board.Cub.Start(d.ctx, blackboard.StartRequest{Claim: d.claim, Agent: "joiner", Holder: "other"})
	if err == nil || !strings.Contains(err.Error(), "waits for Conflict") {
		t.Errorf("it was started: %v", err)
	}

	settler := newID()
	d.start("settler", d.f.writer("settler", vars{env.Command: shell(`cat >stdin; grep -q '^<<<<<<< ' file; printf 'a\nb\n' >file; echo '{"artefact_type":"Merged","artefact_payload":"` + settler + `","commit":"changes"}'`)}))
	claim := d.open(d.conflict.ID, somebody)
	d.grant(claim, blackboard.PhaseExclusive, "settler")
	merged := d.result(claim, "settler")
	if got := d.f.git("rev-list", "--parents", "-n1", merged.Commit); got != strings.Join([]string{merged.Commit, c.Ours.Commit, c.Theirs.Commit}, " ") {
		t.Errorf("the merge has the parents %q, want both sides", got)
	}
	d.settles(merged.ID)
	sum := d.result(d.claim, "joiner")
	if got := d.f.git("show", sum.Commit+":file"); got != "a\nb" || !slices.Contains(sum.SourceArtefacts, merged.ID) {
		t.Errorf("the file is %q in %+v", got, sum)
	}
	if got := d.f.prepared().Artefacts; !slices.Equal(got, []string{merged.ID, d.pieces[0].ID, d.pieces[1].ID}) {
		t.Errorf("it starts from %v", got)
	}
	if g := d.await(d.claim, "joiner", blackboard.GrantDone); g.Attempt != 2 || g.Conflict != "" {
		t.Errorf("the grant: %+v", g)
	}
}

// A result that does not settle its conflict is refused, with the reason; the changes are kept.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	d := newDispute(t, vars{env.Command: shell(joins)})
	claim := d.open(d.conflict.ID, somebody)
	made := func(more string) string {
		return `git add -A; git commit -qm x; echo '{"artefact_type":"Merged","artefact_payload":"","commit":"'$(git rev-parse HEAD)'"` + more + `}'`
	}
	tools := map[string]string{
		"left":    `sed -i /^======/d file; printf 'one\n' | cat - file >new; mv new file; echo '{"artefact_type":"Merged","artefact_payload":"","commit":"changes"}'`,
		"half":    `grep -v -e '^<' -e '^>' file >new; mv new file; ` + made(""),
		"nothing": `echo '{"artefact_type":"Merged","artefact_payload":"","commit":"changes"}'`,
		"aside":   `git checkout -q ` + d.pieces[0].Commit + `; echo mine >file; ` + made(`,"rebased":true`),
	}
	want := map[string]string{
		"left": "file:2 still has a mark", "half": "file:2 still has a mark", "nothing": "file:1 still has a mark", "aside": "it does not build on",
	}
	for agent, tool := range tools {
		d.start(agent, d.f.writer(agent, vars{env.Command: shell("cat >/dev/null; " + tool)}))
	}
	d.grant(claim, blackboard.PhaseParallel, "left", "half", "nothing", "aside")
	for agent := range tools {
		if a, r := d.failure(claim, agent); a.Type != blackboard.TypeContractViolation || !strings.Contains(r.Reason, want[agent]) {
			t.Errorf("%s: %s because %q, want %q", agent, a.Type, r.Reason, want[agent])
		}
	}
}

// TestUndecided: of a conflict that git cannot mark in a file both versions are beside it, and its kind is in the
// payload. An agent that decides about it settles it, with git and without; one that did nothing is refused.
func TestUndecided(t *testing.T) {
	t.Parallel()
	d := newDisputeOver(t, vars{env.Command: shell(joins)}, `printf "\\0$me" >file; echo n >n; case $me in a) chmod +x n;; esac`)
	c, ok := d.conflict.Conflict()
	if !ok || len(c.Conflicts) != 2 || c.Conflicts[0].Kind != "binary" || c.Conflicts[1].Kind != "distinct modes" || c.Conflicts[1].Theirs.Mode != "100755" || len(c.Conflicts[0].Decisions()) != 2 {
		t.Fatalf("the conflict is %s", d.conflict.Payload)
	}
	if want := "in file (binary), n (distinct modes)"; !strings.HasSuffix(d.conflict.Summary, want) {
		t.Errorf("the summary is %q, want %q", d.conflict.Summary, want)
	}
	if got := d.f.git("rev-parse", d.conflict.Commit+":file~"+c.Ours.Commit); got != c.Conflicts[0].Ours.Object {
		t.Errorf("beside the file is %s", got)
	}
	const changes, own = `echo '{"artefact_type":"Merged","artefact_payload":"","commit":"changes"}'`,
		`git add -A; git commit -qm x; echo '{"artefact_type":"Merged","artefact_payload":"","commit":"'$(git rev-parse HEAD)'"}'`
	takes := func(file string) string {
		return `mv ` + file + `~` + c.Theirs.Commit + ` ` + file + `; rm ` + file + `~*; `
	}
	claim := d.open(d.conflict.ID, somebody)
	tools := map[string]struct{ tool, want string }{
		"idle":      {changes, "file~" + c.Ours.Commit + " is still there, so nobody has decided about file, both sides changed a binary file (binary): give the right version the name file, or remove file"},
		"committed": {`echo more >more; ` + own, "nobody has decided about file"},
		"half":      {takes("file") + changes, "nobody has decided about n, the sides have files of different kinds or modes under this name (distinct modes)"},
		"blind":     {`rm *~*; ` + changes, "file:2 still has a mark of the conflict, both sides changed a binary file (binary)"},
		"decided":   {takes("file") + takes("n") + changes, ""},
		"git":       {takes("file") + takes("n") + own, ""},
		"anew":      {`git reset -q --hard ` + c.Ours.Commit + `; ! git merge -q ` + c.Theirs.Commit + ` >/dev/null 2>&1; git checkout -q --theirs file n; ` + own, ""},
	}
	var agents []string
	for agent, tool := range tools {
		agents = append(agents, agent)
		d.start(agent, d.f.writer(agent, vars{env.Command: shell("cat >/dev/null; " + tool.tool)}))
	}
	d.grant(claim, blackboard.PhaseParallel, agents...)
	for agent, tool := range tools {
		if tool.want != "" {
			if a, r := d.failure(claim, agent); a.Type != blackboard.TypeContractViolation || !strings.Contains(r.Reason, tool.want) {
				t.Errorf("%s: %s because %q, want %q", agent, a.Type, r.Reason, tool.want)
			}
			continue
		}
		merged := d.result(claim, agent)
		if got := d.f.git("diff-tree", "-r", "--name-status", "--no-renames", c.Theirs.Commit, merged.Commit); got != "" {
			t.Errorf("%s: the result is not what it decided: %q", agent, got)
		}
	}
}

// The same commits lead to the same Conflict, and it is stored once, though a grant meets it again.
func TestClashOnce(t *testing.T) {
	t.Parallel()
	d := newDispute(t, vars{env.Command: shell(joins)})
	d.settles(d.pieces[1].ID) // which settles nothing
	if g := d.waits(); g.Conflict != d.conflict.ID || g.Attempt != 3 {
		t.Errorf("the grant: %+v, want the same conflict", g)
	}
	n := 0
	for _, e := range d.events(blackboard.EventConflict) {
		if e.Attributes[blackboard.AttributeResultType] == blackboard.TypeConflict {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the conflict was stored %d times", n)
	}
}

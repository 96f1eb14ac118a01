package orchestrator

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/contract/config"
	"sett/roles/role/repository"
)

// quarrel is a claim whose exclusive grant waits for the Conflict between the results of its
// parallel phase, seen by a leader without a process.
type quarrel struct {
	*boardtest.Board
	sett         *sett
	term         *term
	claim        string
	ours, theirs string // artefacts
	conflict     string
}

func newQuarrel(t *testing.T, limit config.Orchestrator, agents ...string) *quarrel {
	t.Helper()
	q := &quarrel{Board: boardtest.Start(t, "test").Lead()}
	s := &sett{TB: t, url: q.Server.URL, file: filepath.Join(t.TempDir(), "config.json"), board: q.Moves}
	s.cfg = config.Config{Version: "1.0", Runtime: config.RuntimeProcess, Orchestrator: limit}
	for _, name := range agents {
		s.cfg.Agents = append(s.cfg.Agents, member(name))
	}
	s.write()
	q.sett = s
	q.term = newTerm(s.unled(s.env(options{}, &output{}), slog.DiscardHandler), blackboard.Lead{Holder: "test", Epoch: q.Epoch})
	q.claim = q.Open(q.Goal("x"), "a", "b", "joiner")
	q.Bid(q.claim, blackboard.BidRequest{Agent: "a", Bid: blackboard.BidClaim}, blackboard.BidRequest{Agent: "b", Bid: blackboard.BidClaim},
		blackboard.BidRequest{Agent: "joiner", Bid: blackboard.BidExclusive})
	q.Grant(q.claim, blackboard.PhaseParallel, "a", "b")
	q.ours, q.theirs = q.piece(q.claim, "a", ""), q.piece(q.claim, "b", "")
	q.Grant(q.claim, blackboard.PhaseExclusive, "joiner")
	q.conflict = q.clashes(q.ours, q.theirs)
	return q
}

// piece hands in a result with a commit; thread: of which it is the next version.
func (q *quarrel) piece(claim, agent, thread string) string {
	q.Helper()
	return q.commits(claim, agent, thread, "c"+newID())
}

// commits hands in a result with this commit.
func (q *quarrel) commits(claim, agent, thread, commit string) string {
	q.Helper()
	q.Begin(claim, agent, "h")
	return q.Finish(claim, agent, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Piece", Commit: commit, LogicalID: thread})
}

// clashes has the joiner find that the commits of two artefacts conflict.
func (q *quarrel) clashes(ours, theirs string) string {
	q.Helper()
	g := q.Begin(q.claim, "joiner", "h").Grant
	a, b, goal := q.Artefact(ours), q.Artefact(theirs), q.Snapshot(q.claim).Claim.WorkflowID
	payload, err := json.Marshal(blackboard.Conflict{Ours: blackboard.ConflictSide{Artefacts: []string{ours}, Commit: a.Commit},
		Theirs: blackboard.ConflictSide{Artefacts: []string{theirs}, Commit: b.Commit}, Files: []string{"file"}, Hunks: []string{"hunk"},
		Conflicts: []blackboard.ConflictFile{{File: "file", Kind: "binary", Ours: &blackboard.ConflictVersion{Mode: "100644", Object: "o", At: "file~ours"}}}})
	q.Must(err)
	k := blackboard.Artefact{ID: blackboard.ConflictID(goal, a.Commit, b.Commit), StructuralType: blackboard.Standard, Type: blackboard.TypeConflict, Payload: string(payload),
		Commit: "marked", SourceArtefacts: []string{ours, theirs}, ProducedByRole: blackboard.RoleRepository, WorkflowID: goal, Summary: "conflict in file"}
	q.Must(q.Moves.Cub.Clash(q.Ctx, blackboard.Clash{GrantRef: blackboard.GrantRef{Claim: q.claim, Agent: "joiner", Attempt: g.Attempt, Holder: "h"}, Conflict: k}))
	return k.ID
}

// looks has the leader look at the claim that waits, twice.
func (q *quarrel) looks() blackboard.Grant {
	q.Helper()
	for range 2 {
		q.Must(q.term.settle(q.Ctx, key{claimKey, q.claim}))
	}
	g, _ := q.Snapshot(q.claim).Grant("joiner")
	return g
}

// nobody has no agent want an artefact.
func (q *quarrel) nobody(artefact string) {
	q.Helper()
	claim := q.Open(artefact, "a")
	q.Bid(claim, blackboard.BidRequest{Agent: "a", Bid: blackboard.BidIgnore})
	q.Complete(claim)
}

var threeReworks = config.Orchestrator{MaxReviewIterations: 3, MaxArtefacts: 100}

// An agent settles a conflict: its result takes the place of both sides.
func TestConflictIsSettled(t *testing.T) {
	t.Parallel()
	q := newQuarrel(t, threeReworks, "a", "b", "joiner", "merger")
	if g := q.looks(); !g.Waiting() {
		t.Errorf("before its claim: %+v", g)
	}
	claim := q.Open(q.conflict, "merger")
	q.Grant(claim, blackboard.PhaseExclusive, "merger")
	if g := q.looks(); !g.Waiting() {
		t.Errorf("while it is settled: %+v", g)
	}
	merged := q.piece(claim, "merger", "")
	q.Complete(claim)
	if g := q.looks(); g.Waiting() || len(g.Settled) != 1 || g.Settled[0] != merged {
		t.Errorf("settled: %+v", g)
	}
	q.clashes(q.ours, q.theirs) // it settles nothing: the later side is sent back
	q.nobody(q.theirs)
	q.looks()
	rework := blackboard.ConflictReworkID(q.conflict, "")
	second := q.piece(rework, "b", q.theirs)
	q.Complete(rework)
	if g := q.looks(); g.Waiting() || len(g.Settled) != 2 || g.Settled[1] != second {
		t.Errorf("in vain, then reworked: %+v", g)
	}
}

// Where no agent wants it the later side is sent back, once its own claim is over; its next version
// takes its place. Each time counts as a rework.
func TestConflictIsSentBack(t *testing.T) {
	t.Parallel()
	q := newQuarrel(t, config.Orchestrator{MaxReviewIterations: 1, MaxArtefacts: 100}, "a", "b", "joiner")
	q.nobody(q.ours)
	q.nobody(q.conflict)
	rework := blackboard.ConflictReworkID(q.conflict, "")
	if q.looks(); len(q.Events(blackboard.EventConflict)) != 1 {
		t.Error("sent back before its own claim was open")
	}
	q.nobody(q.theirs)
	if g := q.looks(); !g.Waiting() {
		t.Errorf("while it is reworked: %+v", g)
	}
	s := q.Snapshot(rework)
	review := q.Artefact(s.Claim.AdditionalContextIDs[0])
	if s.Claim.ArtefactID != q.theirs || s.Claim.GrantedExclusiveAgent != "b" || review.Commit != q.Artefact(q.ours).Commit ||
		review.StructuralType != blackboard.Review || !strings.Contains(review.Payload, `"file"`) || !strings.Contains(review.Payload, `"hunk"`) ||
		!strings.Contains(review.Payload, `"kind":"binary"`) || strings.Contains(review.Payload, "file~ours") {
		t.Errorf("the rework: %+v with %+v", s.Claim, review)
	}
	second := q.piece(rework, "b", q.theirs)
	q.Complete(rework)
	if g := q.looks(); g.Waiting() || len(g.Settled) != 1 || g.Settled[0] != second {
		t.Errorf("reworked: %+v", g)
	}
	again := q.clashes(q.ours, second)
	q.nobody(again)
	q.nobody(second)
	g := q.looks()
	if g.State != blackboard.GrantFailed {
		t.Fatalf("after the last rework: %+v", g)
	}
	f := q.Artefact(g.ResultID)
	if f.Type != blackboard.TypeUnsettledConflict || !strings.Contains(f.Payload, "max_review_iterations: 1") {
		t.Errorf("the Failure: %s %s", f.Type, f.Payload)
	}
	if w, err := q.Moves.Records.Workflow(q.Ctx, f.WorkflowID); err != nil || w.Status != blackboard.WorkflowFailed || w.Blocked != 0 {
		t.Errorf("the goal: %+v %v", w, err)
	}
}

// refs records the commits that the role is to hold.
type refs struct {
	lander
	commits map[string]string
}

func (h refs) Hold(_ context.Context, q repository.Hold) error {
	h.commits[q.Artefact] = q.Commit
	return nil
}

// A rework that leaves the commits as they were is followed by another one, as often as the limit allows. A person
// who has the grant tried again then gets a further one where the limit was raised.
func TestConflictIsSentBackAgain(t *testing.T) {
	t.Parallel()
	q := newQuarrel(t, config.Orchestrator{MaxReviewIterations: 2, MaxArtefacts: 100}, "a", "b", "joiner")
	held := refs{commits: map[string]string{}}
	q.term.lander = held
	q.nobody(q.ours)
	q.nobody(q.conflict)
	same, latest := q.Artefact(q.theirs).Commit, q.theirs
	// reworks sees that the latest version is sent back, and hands in the next one.
	reworks := func(version, commit string) {
		t.Helper()
		q.nobody(latest)
		if g := q.looks(); !g.Waiting() {
			t.Fatalf("while it is reworked: %+v", g)
		}
		id := blackboard.ConflictReworkID(q.conflict, version)
		c := q.Snapshot(id).Claim
		review := q.Artefact(blackboard.ConflictReviewID(q.conflict, version))
		if c.ArtefactID != latest || c.AdditionalContextIDs[0] != review.ID || review.Commit != q.Artefact(q.ours).Commit {
			t.Errorf("the rework: %+v with %+v", c, review)
		}
		if version != "" && held.commits[review.ID] != review.Commit {
			t.Errorf("the Review's commit is not held: %v", held.commits)
		}
		latest = q.commits(id, "b", q.theirs, commit)
		q.Complete(id)
		if g := q.looks(); g.Waiting() || g.Settled[len(g.Settled)-1] != latest {
			t.Errorf("reworked: %+v", g)
		}
	}
	// fails sees that the limit ends the grant, and has it tried again.
	fails := func() {
		t.Helper()
		g := q.looks()
		if g.State != blackboard.GrantFailed || q.Artefact(g.ResultID).Type != blackboard.TypeUnsettledConflict || !strings.Contains(q.Artefact(g.ResultID).Payload, "max_review_iterations: 2") {
			t.Fatalf("at the limit: %+v", g)
		}
		again := newID()
		q.Must(q.Moves.People.Retry(q.Ctx, q.claim, again, "ann", ""))
		q.claim = again
		if k := q.clashes(q.ours, latest); k != q.conflict {
			t.Fatalf("another Conflict, %s", k)
		}
	}
	reworks("", same)
	q.clashes(q.ours, latest)
	reworks(latest, same)
	q.clashes(q.ours, latest)
	q.nobody(latest)
	fails() // and the limit is as it was
	fails()
	q.sett.cfg.Orchestrator.MaxReviewIterations = 3
	q.sett.write()
	if _, err := q.term.clan.reload(); err != nil {
		t.Fatal(err)
	}
	version := latest
	q.looks()
	id := blackboard.ConflictReworkID(q.conflict, version)
	latest = q.piece(id, "b", q.theirs)
	q.Complete(id)
	if g := q.looks(); g.Waiting() || g.Settled[len(g.Settled)-1] != latest {
		t.Errorf("with the limit raised: %+v", g)
	}
}

// A rework that brings no commit settles nothing, and its version is sent back, too.
func TestConflictIsSentBackWithoutCommit(t *testing.T) {
	t.Parallel()
	q := newQuarrel(t, threeReworks, "a", "b", "joiner")
	q.nobody(q.ours)
	q.nobody(q.conflict)
	q.nobody(q.theirs)
	q.looks()
	rework := blackboard.ConflictReworkID(q.conflict, "")
	second := q.commits(rework, "b", q.theirs, "")
	q.Complete(rework)
	q.nobody(second)
	q.looks()
	again := blackboard.ConflictReworkID(q.conflict, second)
	third := q.piece(again, "b", q.theirs)
	q.Complete(again)
	if g := q.looks(); g.Waiting() || len(g.Settled) != 1 || g.Settled[0] != third {
		t.Errorf("reworked again: %+v", g)
	}
}

// Work that was to settle a conflict fails, and a person has it tried again: then it is settled.
func TestConflictIsTriedAgain(t *testing.T) {
	t.Parallel()
	q := newQuarrel(t, threeReworks, "a", "b", "joiner", "merger")
	q.nobody(q.ours)
	q.nobody(q.theirs)
	claim := q.Open(q.conflict, "merger")
	q.Bid(claim, blackboard.BidRequest{Agent: "merger", Bid: blackboard.BidExclusive})
	q.Grant(claim, blackboard.PhaseExclusive, "merger")
	q.Begin(claim, "merger", "h")
	q.Finish(claim, "merger", blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: "{}"})
	q.Must(q.term.settle(q.Ctx, key{claimKey, claim}))
	g := q.looks()
	if g.State != blackboard.GrantFailed || !strings.Contains(q.Artefact(g.ResultID).Payload, "sett retry it first") {
		t.Fatalf("after the failure: %+v", g)
	}
	again := newID()
	q.Must(q.Moves.People.Retry(q.Ctx, claim, again, "ann", ""))
	merged := q.piece(again, "merger", "")
	q.Complete(again)
	q.claim, claim = newID(), q.claim
	q.Must(q.Moves.People.Retry(q.Ctx, claim, q.claim, "ann", ""))
	q.clashes(q.ours, q.theirs)
	if g := q.looks(); g.Waiting() || len(g.Settled) != 1 || g.Settled[0] != merged {
		t.Errorf("tried again: %+v", g)
	}
}

// A goal with too many artefacts has no claim for its Conflict: the work that waits for it fails.
func TestConflictIsRefused(t *testing.T) {
	t.Parallel()
	q := newQuarrel(t, config.Orchestrator{MaxReviewIterations: 3, MaxArtefacts: 1}, "a", "b", "joiner")
	if g := q.looks(); !g.Waiting() {
		t.Errorf("before: %+v", g)
	}
	q.Must(q.term.open(q.Ctx, q.conflict))
	if g := q.looks(); g.State != blackboard.GrantFailed || !strings.Contains(q.Artefact(g.ResultID).Payload, "no claim") {
		t.Errorf("refused: %+v", g)
	}
}

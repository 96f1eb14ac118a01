package cub

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// onBoth runs a test on Redis and on the embedded blackboard.
func onBoth(t *testing.T, test func(*clan)) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(redisClan(t)) })
	t.Run("embedded", func(t *testing.T) { t.Parallel(); test(newClan(t)) })
}

// asks twice, then works; and keeps what it read.
const asking = `cat >stdin$SETT_ATTEMPT
case $SETT_ATTEMPT in
1) echo '{"structural_type":"Question","payload":"which?"}' ;;
2) echo '{"structural_type":"Question","payload":"sure?"}' ;;
*) echo '` + good + `' ;;
esac`

// A Question suspends the grant; the Answer resumes the same grant, with both at
// the end of the context, and the result names the Answers among its sources.
func TestQuestionAndAnswer(t *testing.T) {
	onBoth(t, func(c *clan) {
		r := c.start("worker", vars{env.Command: shell(asking)})
		target := c.artefactBy("architect", "Design", "a <b> & \"c\"\n")
		claim := c.open(target.ID, somebody)
		c.grant(claim, blackboard.PhaseParallel, "worker")
		var asked []blackboard.Artefact
		for i, question := range []string{"which?", "sure?"} {
			g := c.await(claim, "worker", blackboard.GrantAwaitingAnswer)
			q := c.artefact(g.ResultID)
			if q.Payload != question || q.StructuralType != blackboard.Question || g.Attempt != i+1 {
				c.t.Fatalf("attempt %d asked %+v", g.Attempt, q)
			}
			asked = append(asked, q, c.answer(q, "answer to "+question))
		}
		g := c.await(claim, "worker", blackboard.GrantDone)
		want := []string{target.ID, asked[1].ID, asked[3].ID}
		if a := c.artefact(g.ResultID); g.Attempt != 3 || !slices.Equal(a.SourceArtefacts, want) || a.LogicalID != a.ID {
			c.t.Errorf("attempt %d made %+v, want sources %v", g.Attempt, a, want)
		}
		goal := c.artefact(target.WorkflowID)
		names := []string{goal.ID, "GOAL", target.ID, "TARGET", target.ClaimID, "ITS-CLAIM", claim, "CLAIM",
			asked[0].ID, "QUESTION", asked[1].ID, "ANSWER"}
		for i, a := range []blackboard.Artefact{goal, target, asked[0], c.artefact(asked[1].ID)} {
			names = append(names, a.CreatedAt.Format("2006-01-02T15:04:05.999999999Z07:00"), "TIME"+string(rune('1'+i)))
		}
		b, err := os.ReadFile(filepath.Join(r.dir, "stdin2"))
		must(c.t, err)
		if got := strings.NewReplacer(names...).Replace(string(b)); got != goldenStdin {
			c.t.Errorf("got  %s\nwant %s", got, goldenStdin)
		}
	})
}

// goldenStdin is what the tool reads after the first Answer: part of the
// contract with everybody's scripts.
const goldenStdin = `{"claim_type":"claim","target_artefact":{"id":"TARGET","logical_id":"TARGET","version":1,` +
	`"structural_type":"Standard","type":"Design","payload":"a <b> & \"c\"\n","source_artefacts":["GOAL"],` +
	`"produced_by_role":"architect","produced_by_agent":"architect","claim_id":"ITS-CLAIM","workflow_id":"GOAL",` +
	`"summary":"","metadata":{},"created_at":"TIME2"},"context_chain":[` +
	`{"id":"GOAL","logical_id":"GOAL","version":1,"structural_type":"Standard","type":"GoalDefined",` +
	`"payload":"goal of architect","source_artefacts":[],"produced_by_role":"user","produced_by_agent":"","claim_id":"",` +
	`"workflow_id":"GOAL","summary":"","metadata":{},"created_at":"TIME1"},` +
	`{"id":"QUESTION","logical_id":"QUESTION","version":1,"structural_type":"Question","type":"Question","payload":"which?",` +
	`"source_artefacts":["TARGET"],"produced_by_role":"worker","produced_by_agent":"worker","claim_id":"CLAIM",` +
	`"workflow_id":"GOAL","summary":"","metadata":{},"created_at":"TIME3"},` +
	`{"id":"ANSWER","logical_id":"ANSWER","version":1,"structural_type":"Answer","type":"Answer",` +
	`"payload":"answer to which?","source_artefacts":["QUESTION"],"produced_by_role":"human","produced_by_agent":"",` +
	`"claim_id":"","workflow_id":"GOAL","summary":"","metadata":{},"created_at":"TIME4"}]}` + "\n"

// idle is a cub that has started nothing, for looking at its parts.
func (c *clan) idle(agent string, more vars) *cub {
	c.t.Helper()
	all := environment(c.t, c.server.URL, agent, more)
	e := world(all, &logs{})
	settings, err := env.ParseCub(e.Lookup)
	must(c.t, err)
	settings.Incarnation = "me"
	return newCub(&state{env: e, settings: settings, mode: standard, log: e.Logger("cub"), metrics: newMetrics(),
		board: boardOn(c.board, settings.Agent)}, nil)
}

// An Answer can come while the Question is still being handed in. Its notice is
// about the claim under way, and must not be lost.
func TestAnswerBeforeTheQuestionIsHandedIn(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	idle := c.idle("worker", nil)
	x := idle.crew.slots[0]
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	s, err := c.board.Cub.Start(c.ctx, x.request(claim))
	must(t, err)
	ctx, stop := context.WithCancelCause(c.ctx)
	x.begin(claim, s.Grant.Attempt, stop)
	q := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Question, Type: "Question", SourceArtefacts: []string{s.Claim.ArtefactID},
		ProducedByRole: "worker", ProducedByAgent: "worker", ClaimID: claim, WorkflowID: s.Claim.WorkflowID}
	must(t, c.board.Cub.Finish(c.ctx, blackboard.Result{GrantRef: x.newWork(claim, s, nil).ref, Artefact: q}))
	c.answer(q, "yes")
	idle.granted(claim)
	until(t, "the claim stands in line again", func() bool { return slices.Equal(x.grants.take(2), []string{claim}) })
	if !errors.Is(context.Cause(ctx), errCancelled) {
		t.Errorf("the old attempt goes on: %v", context.Cause(ctx))
	}
}

// Work that was started just when the cub was told to stop goes back at once.
func TestStartedAfterTheSignal(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	x := c.idle("worker", nil).crew.slots[0]
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	s, err := c.board.Cub.Start(c.ctx, x.request(claim))
	must(t, err)
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	next, err := x.execute(ctx, x.newWork(claim, s, nil))
	if next != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("next %v, error %v", next, err)
	}
	if g := c.await(claim, "worker", blackboard.GrantQueued); g.Attempt != 2 {
		t.Errorf("grant %+v", g)
	}
}

// A Terminal names the goal among its sources, whatever it was made from.
func TestTerminalNamesTheGoal(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	c.start("worker", vars{env.Command: says(`{"structural_type":"Terminal","artefact_type":"Package","payload":"p"}`)})
	target := c.artefactBy("coder", "Code", "x")
	claim := c.open(target.ID, somebody)
	c.grant(claim, blackboard.PhaseExclusive, "worker")
	a := c.result(claim, "worker")
	if want := []string{target.ID, target.WorkflowID}; a.StructuralType != blackboard.Terminal || !slices.Equal(a.SourceArtefacts, want) {
		t.Errorf("got %+v, want sources %v", a, want)
	}
	claim = c.work("worker", blackboard.PhaseExclusive, "goal")
	a = c.result(claim, "worker")
	if want := []string{a.WorkflowID}; !slices.Equal(a.SourceArtefacts, want) {
		t.Errorf("got %+v, want sources %v", a, want)
	}
}

func TestReviews(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	for name, tc := range map[string]struct {
		output  string
		verdict blackboard.Verdict // empty: a Failure
		typ     string
	}{
		"approve":           {`{"structural_type":"Review","payload":"{}"}`, blackboard.Approve, "Review"},
		"approve by object": {`{"structural_type":"Review","payload":{ }}`, blackboard.Approve, "Review"},
		"feedback":          {`{"structural_type":"Review","payload":"{\"issue\":1}"}`, blackboard.Feedback, "Review"},
		"plain text":        {`{"structural_type":"Review","payload":"looks good"}`, blackboard.Feedback, "Review"},
		"standard":          {`{"artefact_type":"Opinion","artefact_payload":"[]","summary":""}`, blackboard.Approve, "Opinion"},
		"named standard":    {`{"structural_type":"Standard","artefact_type":"Opinion","payload":"no"}`, blackboard.Feedback, "Opinion"},
		"terminal":          {`{"structural_type":"Terminal","artefact_type":"Package","payload":"{}"}`, "", blackboard.TypeContractViolation},
		"no commit wanted":  {`{"artefact_type":"CodeCommit","artefact_payload":"not one","summary":""}`, blackboard.Feedback, "CodeCommit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			agent := "reviewer-" + strings.ReplaceAll(name, " ", "-")
			c.start(agent, vars{env.Command: says(tc.output)})
			claim := c.work(agent, blackboard.PhaseReview, "goal")
			a := c.result(claim, agent)
			g := c.await(claim, agent, blackboard.GrantDone, blackboard.GrantFailed)
			want := blackboard.Review
			if tc.verdict == "" {
				want = blackboard.Failure
			}
			if a.StructuralType != want || a.Type != tc.typ || g.Verdict != tc.verdict {
				t.Errorf("got %s %s %q, verdict %q", a.StructuralType, a.Type, a.Payload, g.Verdict)
			}
		})
	}
}

// A rework is the next version in its target's thread, with the Reviews among its
// sources and at the end of the context; everything else it may end with begins a
// thread of its own.
func TestRework(t *testing.T) {
	onBoth(t, func(c *clan) {
		v1 := c.artefactBy("worker", "Code", "first")
		r := c.start("worker", vars{env.Command: shell(`cat >stdin; echo '` + good + `'`)})
		bidding := c.open(v1.ID, somebody)
		c.grant(bidding, blackboard.PhaseReview, "critic")
		s, err := c.board.Cub.Start(c.ctx, blackboard.StartRequest{Claim: bidding, Agent: "critic", Holder: "test"})
		must(c.t, err)
		review := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Review, Type: "Review", Payload: "no",
			SourceArtefacts: []string{v1.ID}, ProducedByRole: "critic", ProducedByAgent: "critic", ClaimID: bidding, WorkflowID: v1.WorkflowID}
		must(c.t, c.board.Cub.Finish(c.ctx, blackboard.Result{Artefact: review, Verdict: blackboard.Feedback,
			GrantRef: blackboard.GrantRef{Claim: bidding, Agent: "critic", Attempt: s.Grant.Attempt, Holder: "test"}}))
		rework := blackboard.ReworkClaimID(bidding)
		c.terminate(bidding, "feedback", &blackboard.Rework{ClaimID: rework, Agent: "worker", Context: []string{review.ID}})
		v2 := c.result(rework, "worker")
		if want := []string{v1.ID, review.ID}; v2.LogicalID != v1.LogicalID || v2.Version != 2 || !slices.Equal(v2.SourceArtefacts, want) {
			c.t.Errorf("got %+v, want version 2 with sources %v", v2, want)
		}
		created := r.log.await(c.t, "artefact created", "artefact", v2.ID)
		if created.text("logical_id") != v1.LogicalID || created["version"] != 2.0 {
			c.t.Errorf("logged %v", created)
		}
		b, err := os.ReadFile(filepath.Join(r.dir, "stdin"))
		must(c.t, err)
		if goal, last := strings.Index(string(b), `"goal of worker"`), strings.LastIndex(string(b), `{"id":"`+review.ID); goal < 0 || last < goal {
			c.t.Errorf("the Review does not come last in %s", b)
		}
	})
}

package cub

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
)

const (
	instance = "test"
	somebody = "somebody" // an agent of which there is no cub
)

// clan is a blackboard, and the orchestrator's moves on it, made by a test.
type clan struct {
	t      testing.TB
	ctx    context.Context
	server *redistest.Server
	board  *redis.Board
	lead   blackboard.Lead
}

// newClan is a clan on the embedded blackboard.
func newClan(t testing.TB) *clan {
	t.Helper()
	return openClan(t, redistest.Embedded(t))
}

// redisClan is a clan on a redis-server.
func redisClan(t testing.TB) *clan {
	t.Helper()
	return openClan(t, redistest.Start(t))
}

func openClan(t testing.TB, server *redistest.Server) *clan {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // a subtest may have to wait for its turn
	t.Cleanup(cancel)
	b, err := redis.Open(ctx, redis.Options{URL: server.URL, Instance: instance, Name: "test"})
	must(t, err)
	t.Cleanup(b.Close)
	lead, _, err := b.Leader.TakeLead(ctx, "test", "", time.Hour)
	must(t, err)
	return &clan{t: t, ctx: ctx, server: server, board: b, lead: lead}
}

// in is the clan as a subtest uses it.
func (c *clan) in(t testing.TB) *clan {
	sub := *c
	sub.t = t
	return &sub
}

var (
	must  = boardtest.Must
	until = boardtest.Until
	newID = boardtest.NewID
)

func (c *clan) goal(payload string) blackboard.Artefact {
	c.t.Helper()
	id := newID()
	a := blackboard.Artefact{ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: payload, ProducedByRole: blackboard.RoleUser, WorkflowID: id}
	must(c.t, c.board.People.PostGoal(c.ctx, a, "ann"))
	return a
}

// open opens the claim of an artefact, for the bids of the given agents.
func (c *clan) open(artefact string, bidders ...string) (claim string) {
	c.t.Helper()
	o, _, err := c.board.Leader.OpenClaim(c.ctx, c.lead.Epoch, artefact, bidders, 0)
	must(c.t, err)
	if o != blackboard.Opened {
		c.t.Fatalf("claim: %s", o)
	}
	return blackboard.BiddingClaimID(artefact)
}

// decide makes a move on a claim's present revision.
func (c *clan) decide(claim string, move func(blackboard.Guard) error) {
	c.t.Helper()
	until(c.t, "the claim stands still", func() bool {
		s, err := c.board.Records.Snapshot(c.ctx, claim)
		must(c.t, err)
		err = move(blackboard.Guard{Epoch: c.lead.Epoch, Claim: claim, Revision: s.Claim.Revision})
		if !errors.Is(err, blackboard.ErrStale) {
			must(c.t, err)
		}
		return err == nil
	})
}

func (c *clan) grant(claim string, phase blackboard.Phase, agents ...string) {
	c.t.Helper()
	c.decide(claim, func(g blackboard.Guard) error { return c.board.Leader.GrantPhase(c.ctx, g, phase, agents) })
}

func (c *clan) terminate(claim, reason string, rework *blackboard.Rework) {
	c.t.Helper()
	c.decide(claim, func(g blackboard.Guard) error { return c.board.Leader.TerminateClaim(c.ctx, g, reason, nil, rework) })
}

// work posts a goal and grants its claim to an agent.
func (c *clan) work(agent string, phase blackboard.Phase, payload string) (claim string) {
	c.t.Helper()
	claim = c.open(c.goal(payload).ID, somebody)
	c.grant(claim, phase, agent)
	return claim
}

// await waits until an agent's grant is in one of the states.
func (c *clan) await(claim, agent string, states ...blackboard.GrantState) blackboard.Grant {
	c.t.Helper()
	var g blackboard.Grant
	until(c.t, "the grant is one of "+join(states), func() bool {
		var err error
		g, err = c.board.Records.Grant(c.ctx, claim, agent)
		must(c.t, err)
		return slices.Contains(states, g.State)
	})
	return g
}

func join(states []blackboard.GrantState) string {
	b, _ := json.Marshal(states)
	return string(b)
}

// result waits for what an agent makes of a claim.
func (c *clan) result(claim, agent string) blackboard.Artefact {
	c.t.Helper()
	g := c.await(claim, agent, blackboard.GrantDone, blackboard.GrantFailed, blackboard.GrantAwaitingAnswer)
	return c.artefact(g.ResultID)
}

func (c *clan) artefact(id string) blackboard.Artefact {
	c.t.Helper()
	a, err := c.board.Records.Artefact(c.ctx, id)
	must(c.t, err)
	return a
}

// failure waits for a claim to fail, and reads the report.
func (c *clan) failure(claim, agent string) (blackboard.Artefact, blackboard.FailureReport) {
	c.t.Helper()
	a := c.result(claim, agent)
	if a.StructuralType != blackboard.Failure {
		c.t.Fatalf("got %s %s %.200q, want a Failure", a.StructuralType, a.Type, a.Payload)
	}
	r := reportOf(a)
	if r.Agent != agent {
		c.t.Errorf("the Failure is of %q, want %q", r.Agent, agent)
	}
	return a, r
}

// reportOf reads the report of a Failure; empty where it has none.
func reportOf(a blackboard.Artefact) (r blackboard.FailureReport) {
	_ = json.Unmarshal([]byte(a.Payload), &r)
	return r
}

// awaitBid waits for an agent's bid on a claim, and returns it with the reason in
// the ledger.
func (c *clan) awaitBid(claim, agent string) (bid blackboard.BidType, reason string) {
	c.t.Helper()
	until(c.t, agent+" has bid", func() bool {
		s, err := c.board.Records.Snapshot(c.ctx, claim)
		must(c.t, err)
		for _, b := range s.Bids {
			if b.Agent == agent {
				bid = b.Type
			}
		}
		return bid != ""
	})
	for _, e := range c.events(blackboard.EventBid) {
		if e.Claim == claim && e.Agent == agent {
			reason = e.Reason
		}
	}
	return bid, reason
}

// events returns the ledger's entries of one kind.
func (c *clan) events(kind blackboard.EventKind) []blackboard.Event {
	c.t.Helper()
	all, err := c.board.Ledger.History(c.ctx, blackboard.Beginning, 10_000)
	must(c.t, err)
	return slices.DeleteFunc(all, func(e blackboard.Event) bool { return e.Kind != kind })
}

// artefactBy stores an artefact as the result of another agent, and returns it.
func (c *clan) artefactBy(agent, typ, payload string) blackboard.Artefact {
	c.t.Helper()
	claim := c.work(agent, blackboard.PhaseExclusive, "goal of "+agent)
	s, err := c.board.Cub.Start(c.ctx, blackboard.StartRequest{Claim: claim, Agent: agent, Holder: "test"})
	must(c.t, err)
	a := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Standard, Type: typ, Payload: payload,
		SourceArtefacts: []string{s.Claim.ArtefactID}, ProducedByRole: agent, ProducedByAgent: agent, ClaimID: claim,
		WorkflowID: s.Claim.WorkflowID}
	must(c.t, c.board.Cub.Finish(c.ctx, blackboard.Result{
		GrantRef: blackboard.GrantRef{Claim: claim, Agent: agent, Attempt: s.Grant.Attempt, Holder: "test"}, Artefact: a}))
	return c.artefact(a.ID)
}

// answer posts a person's Answer to a Question.
func (c *clan) answer(question blackboard.Artefact, payload string) blackboard.Artefact {
	c.t.Helper()
	a := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Answer, Type: "Answer", Payload: payload,
		SourceArtefacts: []string{question.ID}, ProducedByRole: blackboard.RoleHuman, WorkflowID: question.WorkflowID}
	_, err := c.board.People.PostAnswer(c.ctx, question.ID, a, "test")
	must(c.t, err)
	return a
}

// do sends the server a command as it is, past everything that Sett checks.
func (c *clan) do(args ...string) {
	c.t.Helper()
	_, err := boardtest.Send(c.server.Addr(), args...)
	must(c.t, err)
}

func key(rest string) string { return "sett:{" + instance + "}:" + rest }

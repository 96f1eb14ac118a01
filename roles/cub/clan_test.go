package cub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/embedded"
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
	server *redistest.Server // nil when the embedded one serves
	url    string
	board  *redis.Board
	lead   redis.Lead
}

func newClan(t testing.TB, args ...string) *clan {
	t.Helper()
	s := redistest.Start(t, args...)
	c := openClan(t, s.URL)
	c.server = s
	return c
}

// embeddedClan is a clan on the blackboard of local mode.
func embeddedClan(t testing.TB) *clan {
	t.Helper()
	s, _, err := embedded.Open(embedded.Options{Dir: t.TempDir()})
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return openClan(t, "redis://"+l.Addr().String())
}

func openClan(t testing.TB, url string) *clan {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // a subtest may have to wait for its turn
	t.Cleanup(cancel)
	b, err := redis.Open(ctx, redis.Options{URL: url, Instance: instance, Name: "test"})
	must(t, err)
	t.Cleanup(b.Close)
	lead, _, err := b.TakeLead(ctx, "test", "", time.Hour)
	must(t, err)
	return &clan{t: t, ctx: ctx, url: url, board: b, lead: lead}
}

// in is the clan as a subtest uses it.
func (c *clan) in(t testing.TB) *clan {
	sub := *c
	sub.t = t
	return &sub
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newID() string { return blackboard.NewID(time.Now(), rand.Reader) }

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(15 * time.Second)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func (c *clan) goal(payload string) blackboard.Artefact {
	c.t.Helper()
	id := newID()
	a := blackboard.Artefact{ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: payload, ProducedByRole: blackboard.RoleUser, WorkflowID: id}
	must(c.t, c.board.PostGoal(c.ctx, a))
	return a
}

// open opens the claim of an artefact, for the bids of the given agents.
func (c *clan) open(artefact string, bidders ...string) (claim string) {
	c.t.Helper()
	o, _, err := c.board.OpenClaim(c.ctx, c.lead.Epoch, artefact, bidders, 0)
	must(c.t, err)
	if o != redis.Opened {
		c.t.Fatalf("claim: %s", o)
	}
	return blackboard.BiddingClaimID(artefact)
}

// decide makes a move on a claim's present revision.
func (c *clan) decide(claim string, move func(redis.Guard) error) {
	c.t.Helper()
	until(c.t, "the claim stands still", func() bool {
		s, err := c.board.Snapshot(c.ctx, claim)
		must(c.t, err)
		err = move(redis.Guard{Epoch: c.lead.Epoch, Claim: claim, Revision: s.Claim.Revision})
		if !errors.Is(err, blackboard.ErrStale) {
			must(c.t, err)
		}
		return err == nil
	})
}

func (c *clan) grant(claim string, phase blackboard.Phase, agents ...string) {
	c.t.Helper()
	c.decide(claim, func(g redis.Guard) error { return c.board.GrantPhase(c.ctx, g, phase, agents) })
}

func (c *clan) terminate(claim, reason string, rework *redis.Rework) {
	c.t.Helper()
	c.decide(claim, func(g redis.Guard) error { return c.board.TerminateClaim(c.ctx, g, reason, nil, rework) })
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
		g, err = c.board.Grant(c.ctx, claim, agent)
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
	a, err := c.board.Artefact(c.ctx, id)
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
	var r blackboard.FailureReport
	must(c.t, json.Unmarshal([]byte(a.Payload), &r))
	if r.Agent != agent {
		c.t.Errorf("the Failure is of %q, want %q", r.Agent, agent)
	}
	return a, r
}

// awaitBid waits for an agent's bid on a claim, and returns it with the reason in
// the ledger.
func (c *clan) awaitBid(claim, agent string) (bid blackboard.BidType, reason string) {
	c.t.Helper()
	until(c.t, agent+" has bid", func() bool {
		s, err := c.board.Snapshot(c.ctx, claim)
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
	all, err := c.board.History(c.ctx, redis.Beginning, 10_000)
	must(c.t, err)
	return slices.DeleteFunc(all, func(e blackboard.Event) bool { return e.Kind != kind })
}

// artefactBy stores an artefact as the result of another agent, and returns it.
func (c *clan) artefactBy(agent, typ, payload string) blackboard.Artefact {
	c.t.Helper()
	claim := c.work(agent, blackboard.PhaseExclusive, "goal of "+agent)
	s, err := c.board.Start(c.ctx, redis.StartRequest{Claim: claim, Agent: agent, Holder: "test", Mode: blackboard.ReadOnly})
	must(c.t, err)
	a := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Standard, Type: typ, Payload: payload,
		SourceArtefacts: []string{s.Claim.ArtefactID}, ProducedByRole: agent, ProducedByAgent: agent, ClaimID: claim,
		WorkflowID: s.Claim.WorkflowID}
	must(c.t, c.board.Finish(c.ctx, redis.Result{
		GrantRef: redis.GrantRef{Claim: claim, Agent: agent, Attempt: s.Grant.Attempt, Holder: "test"}, Artefact: a}))
	return c.artefact(a.ID)
}

// answer posts a person's Answer to a Question.
func (c *clan) answer(question blackboard.Artefact, payload string) blackboard.Artefact {
	c.t.Helper()
	a := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Answer, Type: "Answer", Payload: payload,
		SourceArtefacts: []string{question.ID}, ProducedByRole: blackboard.RoleHuman, WorkflowID: question.WorkflowID}
	_, err := c.board.PostAnswer(c.ctx, question.ID, a, "test")
	must(c.t, err)
	return a
}

// do sends the server a command as it is, past everything that Sett checks.
func (c *clan) do(args ...string) {
	c.t.Helper()
	conn, err := net.Dial("tcp", c.url[len("redis://"):])
	must(c.t, err)
	defer func() { _ = conn.Close() }()
	must(c.t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	msg := "*" + strconv.Itoa(len(args)) + "\r\n"
	for _, a := range args {
		msg += "$" + strconv.Itoa(len(a)) + "\r\n" + a + "\r\n"
	}
	_, err = conn.Write([]byte(msg))
	must(c.t, err)
	reply := make([]byte, 64)
	n, err := conn.Read(reply)
	must(c.t, err)
	if reply[0] == '-' {
		c.t.Fatalf("%v: %s", args, reply[:n])
	}
}

func key(rest string) string { return "sett:{" + instance + "}:" + rest }

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
)

// What work can wait for.
const (
	waitClaim     = "claim"     // the orchestrator opens a claim on an artefact
	waitBid       = "bid"       // an agent bids
	waitDecision  = "decision"  // the orchestrator grants, completes or terminates
	waitStart     = "start"     // an agent takes up its grant
	waitSlot      = "slot"      // one of an agent's workers is free
	waitWorkspace = "workspace" // the working tree is free
	waitResult    = "result"    // an agent's tool ends
	waitAnswer    = "answer"    // a person answers a question
)

// wait is one thing that open work waits for, with a name.
type wait struct {
	What    string    `json:"what"`
	Agent   string    `json:"agent,omitempty"` // whose move it is, or whose grant waits
	Since   time.Time `json:"since"`
	Subject string    `json:"subject"` // the claim or artefact that waits, for an answer the Question
	Text    string    `json:"text"`    // for people, in one line
}

// scene is what tells waits apart: one moment of the instance.
type scene struct {
	now       time.Time // the blackboard's
	agents    map[string]redis.Presence
	workspace []redis.WorkspaceUse // every running grant is in it
	config    *config.Config       // nil: nothing is known about workers
	questions map[string]blackboard.Artefact
}

// readScene reads the scene for claims that are open.
func (a *app) readScene(ctx context.Context, b *redis.Board, in *instance, claims []blackboard.Snapshot) (scene, error) {
	s := scene{questions: map[string]blackboard.Artefact{}}
	var err error
	if s.now, err = b.ServerTime(ctx); err != nil {
		return s, err
	}
	if s.agents, err = b.Agents(ctx); err != nil {
		return s, err
	}
	if s.workspace, err = b.Workspace(ctx); err != nil {
		return s, err
	}
	s.config, _ = in.config() // without it slots are not told from starts
	for _, c := range claims {
		for _, g := range c.Grants {
			if g.State != blackboard.GrantAwaitingAnswer {
				continue
			}
			q, err := b.Artefact(ctx, g.ResultID)
			if err != nil {
				return s, err
			}
			s.questions[q.ID] = q
		}
	}
	return s, nil
}

// waits returns what a claim waits for; nothing when it is closed.
func (s scene) waits(c blackboard.Snapshot) []wait {
	if c.Claim.Status.Closed() {
		return nil
	}
	var out []wait
	for _, agent := range c.Missing() {
		if c.Claim.Status == blackboard.PendingReview && len(c.Grants) == 0 {
			out = append(out, wait{waitBid, agent, c.Claim.OpenedAt, c.Claim.ID, fmt.Sprintf("the bid of %s%s", agent, s.condition(agent))})
		}
	}
	last := c.Claim.OpenedAt
	for _, g := range c.Grants {
		if !g.State.Ended() {
			out = append(out, s.grantWait(c.Claim, g))
		}
		if g.EndedAt.After(last) {
			last = g.EndedAt
		}
	}
	if len(out) == 0 {
		out = append(out, wait{waitDecision, theOrchestrator, last, c.Claim.ID, "the orchestrator's decision"})
	}
	return out
}

// grantWait is for a grant that has not ended.
func (s scene) grantWait(c blackboard.Claim, g blackboard.Grant) wait {
	w := wait{Agent: g.Agent, Since: g.QueuedAt, Subject: c.ID}
	switch g.State {
	case blackboard.GrantRunning:
		w.What, w.Since = waitResult, g.StartedAt
		w.Text = fmt.Sprintf("%s, which works on it%s", g.Agent, s.condition(g.Agent))
	case blackboard.GrantAwaitingAnswer:
		w.What, w.Since, w.Subject = waitAnswer, g.EndedAt, g.ResultID
		w.Text = fmt.Sprintf("an answer to Question %s of %s: %s", short(g.ResultID), g.Agent, quote(s.questions[g.ResultID].Payload))
	default:
		s.queuedWait(&w, g)
	}
	return w
}

// queuedWait finds out what keeps a queued grant from being started.
func (s scene) queuedWait(w *wait, g blackboard.Grant) {
	for i, u := range s.workspace {
		if u.Waiting && u.Claim == w.Subject && u.Agent == g.Agent {
			w.What, w.Since = waitWorkspace, u.Since
			w.Text = fmt.Sprintf("the workspace for %s, held by %s", g.Agent, inTheWay(u, s.workspace, i))
			return
		}
	}
	var busy []string
	for _, u := range s.workspace {
		if !u.Waiting && u.Agent == g.Agent {
			busy = append(busy, "claim "+short(u.Claim))
		}
	}
	agent, known := s.agent(g.Agent)
	switch {
	case known && agent.Fresh() && len(busy) >= agent.Replicas:
		w.What = waitSlot
		w.Text = fmt.Sprintf("a free worker of %s: %s at most, on %s", g.Agent, count(agent.Replicas, "worker"), strings.Join(busy, ", "))
	case known && agent.Fresh():
		w.What, w.Text = waitStart, fmt.Sprintf("a worker of %s to start", g.Agent)
	case len(busy) > 0:
		w.What, w.Text = waitStart, fmt.Sprintf("%s, which works on %s", g.Agent, strings.Join(busy, ", "))
	default:
		w.What, w.Text = waitStart, fmt.Sprintf("%s to begin%s", g.Agent, s.condition(g.Agent))
	}
}

// inTheWay names who has the workspace, or is first in line, before the use at
// index i.
func inTheWay(u redis.WorkspaceUse, all []redis.WorkspaceUse, i int) string {
	var way []string
	for j, v := range all {
		exclusive := u.Mode == blackboard.ReadWrite || v.Mode == blackboard.ReadWrite
		switch {
		case j == i || !exclusive || v.Waiting && !v.Since.Before(u.Since):
		case v.Waiting:
			way = append(way, v.String()+", first in line")
		case v.Restore:
			way = append(way, v.String()+", whose tree is being put back")
		default:
			way = append(way, v.String())
		}
	}
	if len(way) == 0 {
		return "nobody any more"
	}
	return strings.Join(way, " and ")
}

func (s scene) agent(name string) (config.Agent, bool) {
	if s.config == nil {
		return config.Agent{}, false
	}
	return s.config.Agent(name)
}

// condition adds what is wrong with an agent, if anything.
func (s scene) condition(name string) string {
	p, known := s.agents[name]
	switch {
	case !known:
		return " (has never reported)"
	case p.Alive.IsZero():
		return " (is not running)"
	case p.Alive.Before(s.now):
		return fmt.Sprintf(" (silent for %s)", age(s.now.Sub(p.Alive)))
	}
	return ""
}

// humansOnly says whether nothing of a workflow can go on before a person
// answers: all its work is in open claims, and each of those has a question open
// and no other grant that could change it.
func humansOnly(w blackboard.Workflow, open []blackboard.Snapshot) bool {
	if w.Status.Ended() || len(open) == 0 || w.Outstanding != len(open) {
		return false
	}
	for _, c := range open {
		asking := false
		for _, g := range c.Grants {
			switch g.State {
			case blackboard.GrantQueued, blackboard.GrantRunning, blackboard.GrantFailed:
				return false // a failure is the orchestrator's to act on
			case blackboard.GrantAwaitingAnswer:
				asking = true
			}
		}
		if !asking {
			return false
		}
	}
	return true
}

// account is a workflow with its claims, as read at one time.
type account struct {
	workflow blackboard.Workflow
	claims   []blackboard.Snapshot // oldest first
}

// open returns the claims that are open.
func (w account) open() []blackboard.Snapshot {
	var out []blackboard.Snapshot
	for _, c := range w.claims {
		if !c.Claim.Status.Closed() {
			out = append(out, c)
		}
	}
	return out
}

// readAccount reads a workflow and its claims.
func readAccount(ctx context.Context, b *redis.Board, id string) (account, error) {
	var w account
	var err error
	if w.workflow, err = b.Workflow(ctx, id); err != nil {
		return w, err
	}
	claims, err := b.WorkflowClaims(ctx, id)
	if err != nil {
		return w, err
	}
	for _, claim := range claims {
		s, err := b.Snapshot(ctx, claim)
		if err != nil {
			return w, err
		}
		w.claims = append(w.claims, s)
	}
	return w, nil
}

// waitsOf returns what a workflow waits for.
func (a *app) waitsOf(ctx context.Context, b *redis.Board, in *instance, w account) ([]wait, error) {
	open := w.open()
	if w.workflow.Status.Ended() {
		return nil, nil
	}
	s, err := a.readScene(ctx, b, in, open)
	if err != nil {
		return nil, err
	}
	var out []wait
	for _, c := range open {
		out = append(out, s.waits(c)...)
	}
	if missing := w.workflow.Outstanding - len(open); missing > 0 {
		out = append(out, wait{waitClaim, theOrchestrator, w.workflow.CreatedAt, w.workflow.ID,
			fmt.Sprintf("the orchestrator to open %s", count(missing, "claim"))})
	}
	return out, nil
}

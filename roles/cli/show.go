package cli

import (
	"errors"
	"fmt"

	"sett/blackboard"
	"sett/blackboard/redis"
)

type showCmd struct {
	ID string `arg:"" optional:"" help:"A goal, claim or artefact: any part of its id's beginning or end that is unique (default: @last, the newest goal)."`
	outputs
}

// Help is shown by `sett show --help`.
func (showCmd) Help() string {
	return `Says what something is and, while it is open, what it waits for: whose bid, whose result,
which question, who has the workspace, whose free worker.

A goal is shown with its claims, and each claim with its bids, grants and results.

Examples:
  sett show
  sett show 7XK2ABCD -o json`
}

// Run shows what the id names.
func (c *showCmd) Run(a *app) error {
	on, err := a.about(orElse(c.ID, lastGoal))
	if err != nil {
		return err
	}
	defer on.done()
	s := &shower{app: a, b: on.b, in: on.in}
	if on.kind == redis.KindClaim {
		v, err := s.claim(on.id)
		return c.print(a, v, err)
	}
	artefact, err := on.b.Artefact(a.ctx, on.id)
	if err != nil {
		return err
	}
	if artefact.Type == blackboard.TypeGoalDefined && artefact.WorkflowID == on.id {
		v, err := s.goal(artefact)
		return c.print(a, v, err)
	}
	v, err := s.artefact(artefact)
	return c.print(a, v, err)
}

// view is something that can be shown to people and, as data, to programs.
type view interface{ text(a *app) error }

func (c *showCmd) print(a *app, v view, err error) error {
	if err != nil {
		return err
	}
	return a.emit(c.outputs, shown{whole: v, table: func() error { return v.text(a) }})
}

// shower gathers what is shown.
type shower struct {
	*app
	b  *redis.Board
	in *instance
}

// grantView is a grant with what came of it. Durations are in seconds, as everywhere
// in what is printed.
type grantView struct {
	blackboard.Grant
	Hidden      *struct{}     `json:"tool_time,omitempty"` // the name of the grant's, which is in nanoseconds
	ToolSeconds float64       `json:"tool_seconds,omitempty"`
	By          string        `json:"by,omitempty"` // the person, where it is a person's
	Result      *artefactMeta `json:"result,omitempty"`
	Says        string        `json:"says,omitempty"` // the gist of the result
}

// claimView is a claim with all that belongs to it.
type claimView struct {
	Kind   string           `json:"kind"` // "claim"
	Claim  blackboard.Claim `json:"claim"`
	Bids   []blackboard.Bid `json:"bids"`
	Grants []grantView      `json:"grants"`
	Waits  []wait           `json:"waits"` // empty when it is closed
}

// claimAlone is a claim that is not shown among others of its goal.
type claimAlone struct {
	claimView
	Chain []reworkStep `json:"rework_chain"` // empty without rework
}

// goalView is a goal with its claims.
type goalView struct {
	Kind     string              `json:"kind"` // "goal"
	Workflow blackboard.Workflow `json:"workflow"`
	Text     string              `json:"text"`
	Claims   []claimView         `json:"claims"` // oldest first
	Waits    []wait              `json:"waits"`
	More     int                 `json:"waits_more,omitempty"` // open work that was not looked at
	Outcome  string              `json:"outcome,omitempty"`    // the gist of its Terminal or Failure
}

// artefactView is an artefact with its place in the graph.
type artefactView struct {
	Kind     string         `json:"kind"` // "artefact"
	Artefact artefactMeta   `json:"artefact"`
	Excerpt  string         `json:"excerpt"` // how the payload begins
	Sources  []artefactMeta `json:"sources"`
	Children []artefactMeta `json:"children"`
	Claim    *claimAlone    `json:"claim"`          // on it, the last one of those that were retried; null when it has none
	Gate     *gate          `json:"gate,omitempty"` // absent: it never had to be approved
}

// reworkStep is one version of a thread, and the claim that judged it.
type reworkStep struct {
	Artefact string                 `json:"artefact_id"`
	Version  int                    `json:"version"`
	Claim    string                 `json:"claim_id,omitempty"`
	Status   blackboard.ClaimStatus `json:"status,omitempty"`          // of that claim
	Rework   string                 `json:"rework_claim_id,omitempty"` // the claim under which the next version is made
	Agent    string                 `json:"agent,omitempty"`           // who makes it
}

func (s *shower) goal(a blackboard.Artefact) (goalView, error) {
	v := goalView{Kind: "goal", Text: a.Payload, Claims: []claimView{}}
	w, err := readAccount(s.ctx, s.b, a.ID)
	if err != nil {
		return v, err
	}
	v.Workflow = w.workflow
	for _, c := range w.claims {
		cv, err := s.claimOf(c)
		if err != nil {
			return v, err
		}
		v.Claims = append(v.Claims, cv)
	}
	if err := s.goalWaits(&v, w); err != nil {
		return v, err
	}
	for _, id := range []string{w.workflow.FailureID, w.workflow.TerminalID} {
		if id != "" && v.Outcome == "" && w.workflow.Status.Ended() {
			end, err := s.b.Artefact(s.ctx, id)
			if err != nil {
				return v, err
			}
			v.Outcome = fmt.Sprintf("%s %s of %s%s", title(end), short(id), maker(end), because(gist(&end)))
		}
	}
	return v, nil
}

// goalWaits finds what the goal waits for, and each of its open claims.
func (s *shower) goalWaits(v *goalView, w account) error {
	v.Waits = []wait{}
	if w.workflow.Status.Ended() {
		return nil
	}
	o, err := readOpen(s.ctx, s.b, w.workflow.ID)
	if err != nil {
		return err
	}
	all := o
	all.claims = w.open()
	scene, err := s.readScene(s.ctx, s.b, s.in, all)
	if err != nil {
		return err
	}
	v.Waits, v.More = scene.waits(o), o.more
	for i, c := range w.claims {
		v.Claims[i].Waits = scene.waits(openWork{claims: []blackboard.Snapshot{c}})
	}
	return nil
}

func (s *shower) claim(id string) (v claimAlone, err error) {
	c, err := s.b.Snapshot(s.ctx, id)
	if err != nil {
		return v, err
	}
	if v.claimView, err = s.claimOf(c); err != nil {
		return v, err
	}
	if !c.Claim.Status.Closed() {
		open := openWork{claims: []blackboard.Snapshot{c}}
		scene, err := s.readScene(s.ctx, s.b, s.in, open)
		if err != nil {
			return v, err
		}
		v.Waits = scene.waits(open)
	}
	v.Chain, err = s.chain(c.Claim.ArtefactID)
	return v, err
}

// claimOf adds the results to a claim.
func (s *shower) claimOf(c blackboard.Snapshot) (claimView, error) {
	v := claimView{Kind: "claim", Claim: c.Claim, Bids: c.Bids, Grants: []grantView{}, Waits: []wait{}}
	for _, g := range c.Grants {
		gv := grantView{Grant: g, ToolSeconds: g.ToolTime.Seconds()}
		if by, ok := blackboard.PersonName(g.Agent); ok {
			gv.By = by
		}
		if g.ResultID != "" {
			r, err := s.b.Artefact(s.ctx, g.ResultID)
			if err != nil {
				return v, err
			}
			m := metaOf(r)
			gv.Result, gv.Says = &m, gist(&r)
		}
		v.Grants = append(v.Grants, gv)
	}
	return v, nil
}

func (s *shower) artefact(a blackboard.Artefact) (artefactView, error) {
	v := artefactView{Kind: "artefact", Artefact: metaOf(a), Excerpt: excerpt(a)}
	children, err := s.b.Children(s.ctx, a.ID)
	if err != nil {
		return v, err
	}
	if v.Children, err = s.metas(children); err != nil {
		return v, err
	}
	if v.Sources, err = s.metas(a.SourceArtefacts); err != nil {
		return v, err
	}
	if v.Gate, err = readGate(s.ctx, s.b, a); err != nil {
		return v, err
	}
	last, err := lastTry(s.ctx, s.b, blackboard.BiddingClaimID(a.ID))
	if errors.Is(err, blackboard.ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	c, err := s.claim(last.Claim.ID)
	v.Claim = &c
	return v, err
}

// metas reads artefacts without what cannot be found: sources are what a tool's
// result names.
func (s *shower) metas(ids []string) ([]artefactMeta, error) {
	out := []artefactMeta{}
	for _, id := range ids {
		a, err := s.b.Artefact(s.ctx, id)
		switch {
		case err == nil:
			out = append(out, metaOf(a))
		case !errors.Is(err, blackboard.ErrNotFound):
			return nil, err
		}
	}
	return out, nil
}

package cli

import (
	"errors"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis"
)

type showCmd struct {
	ID string `arg:"" help:"A goal, claim or artefact: any part of its id's beginning or end that is unique, or @last, the newest goal."`
	textOrJSON
}

// Help is shown by `sett show --help`.
func (showCmd) Help() string {
	return `Says what something is and, while it is open, what it waits for: whose bid, whose result,
which question, who has the workspace, whose free worker.

A goal is shown with its claims, and each claim with its bids, grants and results.

Examples:
  sett show @last
  sett show 7XK2ABCD -o json`
}

// Run shows what the id names.
func (c *showCmd) Run(a *app) error {
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	id, kind, err := a.resolve(a.ctx, b, c.ID, redis.KindArtefact, redis.KindClaim)
	if err != nil {
		return err
	}
	s := &shower{app: a, b: b, in: in}
	if kind == redis.KindClaim {
		v, err := s.claim(id)
		return c.print(a, v, err)
	}
	artefact, err := b.Artefact(a.ctx, id)
	if err != nil {
		return err
	}
	if artefact.Type == blackboard.TypeGoalDefined && artefact.WorkflowID == id {
		v, err := s.goal(artefact)
		return c.print(a, v, err)
	}
	v, err := s.artefact(artefact)
	return c.print(a, v, err)
}

// view is something that can be shown to people and, as JSON, to programs.
type view interface{ text(a *app) error }

func (c *showCmd) print(a *app, v view, err error) error {
	if err != nil {
		return err
	}
	if c.json() {
		return a.printJSON(v)
	}
	return v.text(a)
}

// shower gathers what is shown.
type shower struct {
	*app
	b  *redis.Board
	in *instance
}

// grantView is a grant with what came of it.
type grantView struct {
	blackboard.Grant
	Result *artefactMeta `json:"result,omitempty"`
	Says   string        `json:"says,omitempty"` // the gist of the result
}

// claimView is a claim with all that belongs to it.
type claimView struct {
	Kind   string           `json:"kind"` // "claim"
	Claim  blackboard.Claim `json:"claim"`
	Bids   []blackboard.Bid `json:"bids"`
	Grants []grantView      `json:"grants"`
	Waits  []wait           `json:"waits"`
	Chain  []reworkStep     `json:"rework_chain"` // empty without rework
}

// goalView is a goal with its claims.
type goalView struct {
	Kind     string              `json:"kind"` // "goal"
	Workflow blackboard.Workflow `json:"workflow"`
	Text     string              `json:"text"`
	Claims   []claimView         `json:"claims"`
	Waits    []wait              `json:"waits"`
	Outcome  string              `json:"outcome,omitempty"` // the gist of its Terminal or Failure
}

// artefactView is an artefact with its place in the graph.
type artefactView struct {
	Kind     string         `json:"kind"` // "artefact"
	Artefact artefactMeta   `json:"artefact"`
	Excerpt  string         `json:"excerpt"` // how the payload begins
	Sources  []artefactMeta `json:"sources"`
	Children []artefactMeta `json:"children"`
	Claim    *claimView     `json:"claim"` // on it; null when it has none
}

// reworkStep is one version of a thread, and the claim that judged it.
type reworkStep struct {
	Artefact string                 `json:"artefact"`
	Version  int                    `json:"version"`
	Claim    string                 `json:"claim,omitempty"`
	Status   blackboard.ClaimStatus `json:"status,omitempty"`
	Rework   string                 `json:"rework,omitempty"` // the claim under which the next version is made
	By       string                 `json:"by,omitempty"`     // by whom
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
	if v.Waits, err = s.waitsOf(s.ctx, s.b, s.in, w); err != nil {
		return v, err
	}
	if v.Waits == nil {
		v.Waits = []wait{}
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

func (s *shower) claim(id string) (claimView, error) {
	c, err := s.b.Snapshot(s.ctx, id)
	if err != nil {
		return claimView{}, err
	}
	v, err := s.claimOf(c)
	if err != nil {
		return v, err
	}
	if !c.Claim.Status.Closed() {
		scene, err := s.readScene(s.ctx, s.b, s.in, []blackboard.Snapshot{c})
		if err != nil {
			return v, err
		}
		v.Waits = scene.waits(c)
	}
	v.Chain, err = s.chain(c.Claim.ArtefactID)
	return v, err
}

// claimOf adds the results to a claim.
func (s *shower) claimOf(c blackboard.Snapshot) (claimView, error) {
	v := claimView{Kind: "claim", Claim: c.Claim, Bids: c.Bids, Grants: []grantView{}, Waits: []wait{}, Chain: []reworkStep{}}
	for _, g := range c.Grants {
		gv := grantView{Grant: g}
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
	c, err := s.claim(blackboard.BiddingClaimID(a.ID))
	if errors.Is(err, blackboard.ErrNotFound) {
		return v, nil
	}
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

// maxChain bounds how many versions of a thread are shown.
const maxChain = 50

// chain returns the versions of an artefact's thread, from the first on, each
// with the claim on it; nothing when there is but one.
func (s *shower) chain(id string) ([]reworkStep, error) {
	a, err := s.b.Artefact(s.ctx, id)
	if err != nil {
		return nil, err
	}
	for n := 0; a.Version > 1 && a.ClaimID != "" && n < maxChain; n++ { // back to the first
		c, err := s.b.Snapshot(s.ctx, a.ClaimID)
		if err != nil {
			return nil, err
		}
		if c.Claim.Origin != blackboard.OriginRework {
			break
		}
		if a, err = s.b.Artefact(s.ctx, c.Claim.ArtefactID); err != nil {
			return nil, err
		}
	}
	steps := []reworkStep{}
	for len(steps) < maxChain {
		step := reworkStep{Artefact: a.ID, Version: a.Version}
		if c, err := s.b.Snapshot(s.ctx, blackboard.BiddingClaimID(a.ID)); err == nil {
			step.Claim, step.Status = c.Claim.ID, c.Claim.Status
		} else if !errors.Is(err, blackboard.ErrNotFound) {
			return nil, err
		}
		rework, err := s.b.Snapshot(s.ctx, blackboard.ReworkClaimID(a.ID))
		if err == nil {
			step.Rework, step.By = rework.Claim.ID, rework.Claim.GrantedExclusiveAgent
		}
		steps = append(steps, step)
		g, ok := rework.Grant(step.By)
		if err != nil || !ok || g.State != blackboard.GrantDone {
			if err != nil && !errors.Is(err, blackboard.ErrNotFound) {
				return nil, err
			}
			break
		}
		if a, err = s.b.Artefact(s.ctx, g.ResultID); err != nil {
			return nil, err
		}
	}
	if len(steps) == 1 && steps[0].Rework == "" {
		return []reworkStep{}, nil
	}
	return steps, nil
}

// excerpt is how a payload begins, for people: a Failure's report with what the
// tool said last, else the first lines.
func excerpt(a blackboard.Artefact) string {
	const lines, width = 20, 2000
	s := cleanText(a.Payload[:min(len(a.Payload), 4*width)])
	if a.StructuralType == blackboard.Failure {
		if report := failureText(a.Payload); report != "" {
			return report
		}
	}
	if r := []rune(s); len(r) > width {
		s = string(r[:width])
	}
	all := strings.SplitAfter(s, "\n")
	short := strings.Join(all[:min(len(all), lines)], "")
	if len(short) < len(cleanText(a.Payload)) {
		short = strings.TrimRight(short, "\n") + "\n…"
	}
	return strings.TrimRight(short, "\n")
}

package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/roles/cub/assemble"
	"sett/roles/role"
)

type tryCmd struct {
	Agent    string `arg:"" help:"The agent, as sett.yml names it."`
	Goal     string `placeholder:"TEXT" help:"Try it on this goal; - reads it from standard input. Needs no running instance."`
	Artefact string `placeholder:"ID" help:"Try it on this artefact of the instance."`
	As       string `enum:",review,claim,exclusive" default:"" placeholder:"BID" help:"Run the tool as if the agent had bid so: review, claim or exclusive."`
	Keep     bool   `help:"Keep the throw-away clone for a look."`
	Verbose  bool   `short:"v" help:"Print what the tool reads on stdin."`
	outputs
}

// Help is shown by `sett try --help`.
func (tryCmd) Help() string {
	return `Does what the agent's cub would do, with the same code, and records nothing: bids,
hands the tool its input, runs it, and checks its output against the contract. It is
how agents are written.

The tool runs as a process of this machine, in the workspace; one that may write (mode
rw) runs in a throw-away clone of HEAD instead. What the agent ignores is not run,
unless --as says so. The exit code is 1 when the tool failed or broke the contract.

Examples:
  sett try writer --goal "Say hello"
  sett try linter --artefact 7XK2ABCD --as review -v`
}

// trial is one run of an agent with nothing recorded.
type trial struct {
	*app
	agent  config.Agent
	root   string // of the workspace
	name   string // of the instance, for the tool's environment
	docker bool   // sett.yml wants containers

	target blackboard.Artefact
	claim  string   // the id that its claim would have, or has
	extra  []string // ids that the claim adds to the context: the Reviews of a rework
	chain  []blackboard.Artefact

	report trialReport
}

// trialReport is what `try -o json` prints.
type trialReport struct {
	Agent     string             `json:"agent"`
	Target    artefactMeta       `json:"target"`
	Bid       blackboard.BidType `json:"bid"`
	BidReason string             `json:"bid_reason,omitempty"`
	Run       *runReport         `json:"run"`                  // null when the agent ignores the target
	Artefact  *trialArtefact     `json:"artefact"`             // what would have been written; null when that is a Failure
	Problem   *trialProblem      `json:"problem,omitempty"`    // why it would have been a Failure
	Commits   []string           `json:"commits,omitempty"`    // made in the clone, oldest first: hash and subject
	LeftDirty []string           `json:"left_dirty,omitempty"` // files of the clone that were not committed
}

// Run tries the agent.
func (c *tryCmd) Run(a *app) error {
	t, done, err := c.prepare(a)
	if err != nil {
		return err
	}
	defer done()
	t.say(c, "agent", fmt.Sprintf("%s (workspace %s): %s", t.agent.Name, t.agent.Workspace.Mode, commandLine(t.agent.Command)))
	t.say(c, "target", fmt.Sprintf("%s %s%s", title(t.target), short(t.target.ID), because(gist(&t.target))))
	if t.docker {
		t.say(c, "note", "sett.yml says runtime: docker; this runs on the machine itself, not in the agent's image")
	}
	if err := t.bid(a.ctx); err != nil {
		return err
	}
	t.say(c, "bid", string(t.report.Bid)+because(clean(t.report.BidReason)))
	phase, runs := phaseOf(t.report.Bid, c.As)
	if !runs {
		t.say(c, "", "so its tool does not run; --as review, claim or exclusive runs it all the same")
		return t.conclude(c)
	}
	if c.As != "" && c.As != string(t.report.Bid) {
		t.say(c, "", "run as if it had bid "+c.As)
	}
	if err := t.run(a.ctx, c, phase); err != nil {
		return err
	}
	return t.conclude(c)
}

// prepare finds the agent and what to try it on.
func (c *tryCmd) prepare(a *app) (*trial, func(), error) {
	if (c.Goal == "") == (c.Artefact == "") {
		return nil, nil, role.Fail(role.Usage, errors.New("try an agent on a goal or on an artefact"),
			`sett try %s --goal "…" or sett try %s --artefact ID`, clean(c.Agent), clean(c.Agent))
	}
	cfg, _, err := a.configuration(a.ctx)
	if err != nil {
		return nil, nil, err
	}
	if _, ok := cfg.Agent(c.Agent); !ok {
		return nil, nil, role.Fail(role.NotFound, fmt.Errorf("no agent %s in %s", clean(c.Agent), configName), "%s", didYouMean(c.Agent, cfg.Names(), ""))
	}
	for _, missing := range inheritVariables(cfg, a.Lookup) {
		a.sayf("sett: warning: %s is not set here\n", missing)
	}
	agent, _ := cfg.Agent(c.Agent) // with the values
	root, err := a.workspace(a.ctx)
	if err != nil {
		return nil, nil, err
	}
	t := &trial{app: a, agent: agent, root: root, name: config.MakeInstanceName(filepath.Base(root)), docker: cfg.Runtime == config.RuntimeDocker}
	t.report.Agent = agent.Name
	done := func() {}
	if c.Goal != "" {
		err = t.onGoal(c.Goal)
	} else {
		done, err = t.onArtefact(c.Artefact)
	}
	t.report.Target = metaOf(t.target)
	return t, done, err
}

// onGoal makes the goal that forage would post.
func (t *trial) onGoal(text string) error {
	if text == "-" {
		var err error
		if text, err = t.readText("goal", "-"); err != nil {
			return err
		}
	}
	id := t.NewID()
	t.target = blackboard.Artefact{
		ID: id, LogicalID: id, Version: 1, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined, Payload: text,
		ProducedByRole: blackboard.RoleUser, WorkflowID: id, CreatedAt: t.Now().UTC(),
	}
	t.claim = blackboard.BiddingClaimID(id)
	t.chain = []blackboard.Artefact{}
	return nil
}

// onArtefact reads an artefact of the instance and its history. Where it was
// rejected and this agent made it, the try is its rework.
func (t *trial) onArtefact(part string) (func(), error) {
	b, in, done, err := t.board(t.ctx)
	if err != nil {
		return func() {}, err
	}
	t.name = in.Name
	id, _, err := t.resolve(t.ctx, b, part, redis.KindArtefact)
	if err != nil {
		return done, err
	}
	if t.target, err = b.Artefact(t.ctx, id); err != nil {
		return done, err
	}
	if !t.target.StructuralType.Claimable() {
		return done, role.Fail(role.Usage, fmt.Errorf("artefact %s is a %s, which gets no claim", short(id), t.target.StructuralType),
			"%s lists artefacts; Standard ones can be tried", t.commandLine(in, "hoard"))
	}
	t.claim = blackboard.BiddingClaimID(id)
	rework, err := reworkOf(t.ctx, b, id)
	switch {
	case err == nil && rework.Claim.GrantedExclusiveAgent == t.agent.Name:
		t.claim, t.extra = rework.Claim.ID, rework.Claim.AdditionalContextIDs
	case err != nil && !errors.Is(err, blackboard.ErrNotFound):
		return done, err
	}
	chain, missing, err := assemble.Chain(t.ctx, b, t.target, t.extra)
	for _, id := range missing {
		t.sayf("sett: warning: source %s cannot be read and is left out of the context\n", clean(id))
	}
	t.chain = chain
	return done, err
}

// phaseOf returns the phase that a bid leads to, or the one that was asked for.
func phaseOf(bid blackboard.BidType, as string) (blackboard.Phase, bool) {
	if as != "" {
		bid = blackboard.BidType(as)
	}
	for _, p := range blackboard.Phases {
		if p.Bid() == bid {
			return p, true
		}
	}
	return "", false
}

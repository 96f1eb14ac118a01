package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/cli/trial"
	"sett/roles/cub/assemble"
	"sett/roles/role"
	"sett/roles/role/store"
	"sett/roles/role/words"
	"sett/roles/view"
)

type tryCmd struct {
	Agent     string   `arg:"" help:"The agent, as sett.yml names it."`
	Goal      string   `placeholder:"TEXT" help:"Try it on this goal; - reads it from standard input. Needs no running instance."`
	Artefact  string   `placeholder:"ID" help:"Try it on this artefact of the instance."`
	Type      string   `placeholder:"TYPE" help:"Try it on an artefact of this type that nobody made; --goal is the goal that it is for. Needs no running instance."`
	Payload   string   `placeholder:"TEXT" help:"Its payload: a text, @FILE, or for a commit HEAD (default), a branch or a hash."`
	Context   string   `placeholder:"FILE" help:"JSON with what led to it: a list of artefacts, or the stdin of a tool. Reviews make it a rework. - reads standard input."`
	Answer    []string `sep:"none" placeholder:"TEXT" help:"Answer the tool's question, and run it again; several times for several questions."`
	As        string   `enum:",review,claim,exclusive" default:"" placeholder:"BID" help:"Run the tool as if the agent had bid so: review, claim or exclusive."`
	Container bool     `help:"Run it in the agent's image, as in a running instance."`
	Keep      bool     `help:"Keep the private tree for a look."`
	Verbose   bool     `short:"v" help:"Print what the tool reads on stdin."`
	instance.Consent
	term.Form
}

// Help is shown by `sett try --help`.
func (tryCmd) Help() string {
	return `Does what the agent's cub would do, with the same code, and records nothing: bids,
hands the tool its input, runs it, and checks its output against the contract. It is
how agents are written.

The tool runs as a process of this machine, or with --container in the agent's image,
which is pulled or built as sett up does, with the limits and the network that sett.yml
gives it. It runs in a private tree as in a running instance: at the commit that it would
start from there; with --goal at HEAD, with --type at the commit that is the payload. An
artefact that does not exist is of the agent that says it makes that type. The agent's
program, and the files that are pinned with it, are those of your working tree as it is
now, committed or not. An agent with a model asks it through a gateway of the try's own,
within the budgets that sett.yml gives a goal and a grant. What the agent ignores is not
run, unless --as says so. Programs of a repository, and variables of this machine that go
to them or to a model, are asked for once, as sett up does; --yes or --trust agrees. The
exit code is 1 when the tool failed or broke the contract.

Examples:
  sett try writer --goal "Say hello"
  sett try linter --artefact 7XK2ABCD --as review -v
  sett try linter --type CodeCommit --payload HEAD
  sett try writer --goal "Say hello" --answer "in French"`
}

// Run tries the agent.
func (c *tryCmd) Run(a *app) error {
	t, done, err := c.prepare(a)
	if done != nil {
		defer done()
	}
	if err != nil {
		return err
	}
	return t.Run(a.ctx)
}

// prepare finds the agent and the goal or artefact to try it on.
func (c *tryCmd) prepare(a *app) (*trial.Trial, func(), error) {
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	said := ""
	cfg, file, err := a.at.Config(config.NoteRuntime(&said))
	if err != nil {
		return nil, nil, err
	}
	if _, ok := cfg.Agent(c.Agent); !ok {
		return nil, nil, role.Fail(role.NotFound, fmt.Errorf("no agent %s in %s", role.Clean(c.Agent), instance.ConfigName), "%s", words.DidYouMean(c.Agent, cfg.Names(), ""))
	}
	if c.Container {
		cfg.Runtime = config.RuntimeDocker
	}
	request, err := instance.TryRequest(a.at, cfg, said, file, c.Agent, c.Container)
	if err == nil {
		err = c.Settle(a.at, request)
	}
	if err != nil {
		return nil, nil, err
	}
	agent, _ := cfg.Agent(c.Agent)
	variables, unset, err := config.Environ(agent.Environment, a.Lookup)
	if err != nil {
		return nil, nil, role.Fail(role.Usage, fmt.Errorf("agent %s: %w", agent.Name, err), "export it, or give it a default in %s", instance.ConfigName)
	}
	for _, sentence := range unset {
		a.Sayf("sett: warning: %s\n", role.Clean(sentence))
	}
	root, err := a.at.Workspace()
	if err != nil {
		return nil, nil, err
	}
	t := &trial.Trial{
		Terminal: &a.Terminal, Agent: agent, Root: root, Variables: variables, Instance: config.MakeInstanceName(filepath.Base(root)), Containers: inContainers(a, cfg), Own: deploy.NewPinning(cfg, root, file),
		Answers: c.Answer, As: c.As, Keep: c.Keep, Verbose: c.Verbose, Form: c.Form,
	}
	if t.Walls, err = c.walls(a, cfg, root); err != nil {
		return nil, nil, err
	}
	if agent.LLM != nil {
		t.Model = &trial.Model{}
		if t.Model.Gateway, t.Model.Keys, err = deploy.ModelOfTrial(a.at, cfg, agent, file, root); err != nil {
			return nil, nil, err
		}
	}
	drop := func() {}
	if c.Container {
		if drop, err = trial.InImage(a.ctx, t, a.at, cfg, file); err != nil {
			return nil, nil, err
		}
	} else {
		deploy.SweepBerths(a.ctx, a.at)
	}
	done, err := c.subject(a, t, cfg)
	t.Goal = assemble.Goal(t.Target, t.Chain)
	return t, func() { done(); drop() }, err
}

// inContainers says whether the clan's agents run in containers: as its instance was started,
// else as sett.yml says.
func inContainers(a *app, cfg *config.Config) bool {
	if in, err := a.at.Find(); err == nil && in.Runtime != "" {
		return in.Runtime == config.RuntimeDocker
	}
	return cfg.Runtime == config.RuntimeDocker
}

// subject has the trial be about the artefact that the flags name.
func (c *tryCmd) subject(a *app, t *trial.Trial, cfg *config.Config) (done func(), err error) {
	done = func() {}
	switch {
	case c.Artefact != "":
		done, err = onArtefact(a, t, c.Artefact)
	case c.Type != "" || c.Context != "":
		err = c.invent(a, t, cfg)
	default:
		err = onGoal(a, t, c.Goal)
	}
	return done, err
}

// walls are those of a tool in local mode, but for its own directories; nil: sett.yml
// wants none.
func (tryCmd) walls(a *app, cfg *config.Config, root string) (*env.Walls, error) {
	if cfg.Local == nil {
		return nil, nil
	}
	places, err := deploy.WritablePlaces(a.at, cfg.Local, root)
	if err != nil {
		return nil, err
	}
	hide, err := a.at.Root()
	return &env.Walls{Write: places, Hide: hide}, err
}

// check refuses flags that say too little or too much.
func (c *tryCmd) check() error {
	agent := role.Clean(c.Agent)
	wrong := ""
	switch {
	case c.Goal == "" && c.Artefact == "" && c.Type == "":
		wrong = "try an agent on a goal or on an artefact"
	case c.Artefact != "" && (c.Goal != "" || c.Type != "" || c.Context != ""):
		wrong = "--artefact has its own goal, type and context"
	case c.Payload != "" && c.Type == "":
		wrong = "--payload is that of --type"
	case c.Goal == "-" && c.Context == "-":
		wrong = "standard input is either the goal or the context"
	default:
		return nil
	}
	return role.Fail(role.Usage, errors.New(wrong), `sett try %s --goal "…", sett try %s --type TYPE --payload "…" or sett try %s --artefact ID`, agent, agent, agent)
}

// invent makes an artefact that nobody made, and its context. A goal with a context is one, too.
func (c *tryCmd) invent(a *app, t *trial.Trial, cfg *config.Config) (err error) {
	in := trial.Invention{Type: c.Type, Payload: c.Payload, Goal: c.Goal}
	if c.Goal == "-" {
		if in.Goal, err = readText(a, "goal", "-"); err != nil {
			return err
		}
	}
	if c.Type == "" {
		in.Type, in.Payload = blackboard.TypeGoalDefined, in.Goal
	} else if file, isFile := strings.CutPrefix(c.Payload, "@"); isFile {
		if in.Payload, err = readText(a, "payload", file); err != nil {
			return err
		}
	}
	if c.Context != "" {
		text, err := readText(a, "context", c.Context)
		if err != nil {
			return err
		}
		in.Context = []byte(text)
	}
	return t.Invent(a.ctx, cfg, in)
}

// onGoal makes the goal that forage would post.
func onGoal(a *app, t *trial.Trial, text string) error {
	if text == "-" {
		var err error
		if text, err = readText(a, "goal", "-"); err != nil {
			return err
		}
	}
	id := t.NewID()
	t.Target = blackboard.Artefact{
		ID: id, LogicalID: id, Version: 1, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined, Payload: text,
		ProducedByRole: blackboard.RoleUser, WorkflowID: id, CreatedAt: t.Now().UTC(),
	}
	t.Claim = blackboard.BiddingClaimID(id)
	t.Chain = []blackboard.Artefact{}
	return nil
}

// onArtefact reads an artefact of the instance and its history. Where it was
// rejected and this agent made it, the try is its rework.
func onArtefact(a *app, t *trial.Trial, part string) (func(), error) {
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return func() {}, err
	}
	t.Instance = in.Name
	id, _, err := a.resolve(a.ctx, b, part, blackboard.KindArtefact)
	if err != nil {
		return done, err
	}
	if t.Target, err = b.Records.Artefact(a.ctx, id); err != nil {
		return done, err
	}
	if !t.Target.StructuralType.Claimable() {
		return done, role.Fail(role.Usage, fmt.Errorf("artefact %s is a %s, which gets no claim", words.Short(id), t.Target.StructuralType),
			"%s lists artefacts; Standard ones can be tried", a.at.CommandLine(in, "hoard"))
	}
	t.Claim = blackboard.BiddingClaimID(id)
	rework, err := view.ReworkOf(a.ctx, b.Records, id)
	switch {
	case err == nil && rework.Claim.GrantedExclusiveAgent == t.Agent.Name:
		t.Claim, t.Extra = rework.Claim.ID, rework.Claim.AdditionalContextIDs
	case err != nil && !errors.Is(err, blackboard.ErrNotFound):
		return done, err
	}
	task, err := assemble.ForTask(a.ctx, b.Records, nil, t.Target, t.Extra, nil, nil)
	for _, id := range task.Missing {
		t.Sayf("sett: warning: source %s cannot be read and is left out of the context\n", role.Clean(id))
	}
	t.Chain, t.Starts = task.Chain, task.Starts
	if s := store.Open(in.StoreDir()); s.Exists() {
		t.Lender = s.Objects()
	}
	return done, err
}

package cli

import (
	"strings"

	"sett/blackboard"
	"sett/contract/model"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type modelsCmd struct {
	Show   modelsShowCmd   `cmd:"" default:"withargs" help:"Show what calls of models took (default)."`
	Pause  modelsPauseCmd  `cmd:"" help:"Stop all calls of models of an instance."`
	Resume modelsResumeCmd `cmd:"" help:"Let calls of models go on."`
}

// Help is shown by `sett models --help`.
func (modelsCmd) Help() string {
	return `Calls of models are counted for each goal: by agent and model, in tokens and, where
sett.yml has prices, in money of your own currency.

Examples:
  sett models
  sett models pause "The price has doubled."`
}

type modelsShowCmd struct {
	Goal  string `arg:"" optional:"" name:"goal" help:"One goal, by any part of its id's beginning or end that is unique, or @last, with the calls of each agent and model."`
	Limit int    `default:"20" placeholder:"N" help:"Of the newest so many goals; 0 for all (default 20)."`
	term.Form
}

// Help is shown by `sett models show --help`.
func (modelsShowCmd) Help() string {
	return `Shows what the calls of models took, goal by goal, newest last; or those of one goal by
agent and model. Goals without a call are left out. HELD is reserved by calls under way. BUDGET
is that of sett.yml now, with what people added; "-" for a goal that has ended.
"-" in place of a cost: some calls have no price in sett.yml. "about": the provider did not
count some calls, so Sett estimated them.

Examples:
  sett models
  sett models @last -o json`
}

// Run shows what was spent.
func (c *modelsShowCmd) Run(a *app) error {
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	paused, err := b.Calls.Paused(a.ctx)
	if err != nil {
		return err
	}
	ids, err := c.goals(a, b)
	if err != nil {
		return err
	}
	var budget model.Budget
	if clan, err := in.Config(); err == nil && clan.Budget != nil {
		budget = clan.Budget.Budget
	}
	goals, _, err := b.Records.TryWorkflows(a.ctx, ids)
	if err != nil {
		return err
	}
	all := view.Models{Paused: paused != nil, Pause: view.PauseOf(paused), Goals: []view.GoalSpending{}}
	for i, id := range ids {
		s, err := b.Calls.Spending(a.ctx, id)
		if err != nil {
			return err
		}
		if s.Calls > 0 || s.Held.Tokens > 0 || c.Goal != "" {
			all.Goals = append(all.Goals, view.SpendingOf(id, s, budget, goals[i].Status.Ended()))
		}
	}
	return a.Emit(c.Form, term.Shown{Whole: all, Lines: all.Goals, Table: func() error { return c.print(a, in, all) }})
}

// goals returns the ids of the goals to show, newest last.
func (c *modelsShowCmd) goals(a *app, b *instance.Board) ([]string, error) {
	if c.Goal == "" {
		return b.Index.Goals(a.ctx, c.Limit)
	}
	id, _, err := a.resolve(a.ctx, b, c.Goal, blackboard.KindArtefact)
	if err != nil {
		return nil, err
	}
	artefact, err := b.Records.Artefact(a.ctx, id)
	if err != nil {
		return nil, err
	}
	return []string{artefact.WorkflowID}, nil
}

func (c *modelsShowCmd) print(a *app, in *instance.Instance, all view.Models) error {
	if all.Pause != nil {
		a.Sayf("sett: all calls of models were stopped%s; %s lets them go on\n", all.Pause.Text(a.at.Now()), a.at.CommandLine(in, "models resume"))
	}
	if len(all.Goals) == 0 {
		a.Sayf("sett: no goal called a model yet\n")
		return nil
	}
	if c.Goal != "" {
		table := a.Table("AGENT", "MODEL", "CALLS", "TOKENS", "COST")
		if over := all.Goals[0].Over; over != nil {
			a.Sayf("sett: %s\n", role.Clean(over.Over()))
		}
		for _, s := range all.Goals[0].By {
			table.Row(role.Clean(s.Agent), role.Clean(s.Model), s.Calls, view.Tokens(s.Spent), view.CostText(s.Spent))
		}
		return table.Write(a.Stdout)
	}
	table := a.Table("GOAL", "CALLS", "TOKENS", "HELD", "COST", "BUDGET")
	for _, g := range all.Goals {
		table.Row(words.Short(g.ID), g.Calls, g.TokensText(), g.Held.Tokens, view.CostText(g.Sum()), g.BudgetText())
	}
	return table.Write(a.Stdout)
}

type modelsPauseCmd struct {
	Why []string `arg:"" optional:"" help:"Why, as plain words; - reads it from standard input."`
}

// Help is shown by `sett models pause --help`.
func (modelsPauseCmd) Help() string {
	return `Stops all spending of an instance at once. Agents with a model do not begin their work,
and claims wait for the bids that a model gives: both go on after sett models resume.
Every further call of a tool that runs already is refused, which fails most of them; calls
under way end. Agents without a model, in sett.yml, work on.

` + whoHelp + `

Example: sett models pause "The price has doubled."`
}

// Run stops all calls.
func (c *modelsPauseCmd) Run(a *app) error { return a.pauseModels(true, c.Why) }

type modelsResumeCmd struct {
	Why []string `arg:"" optional:"" help:"Why, as plain words; - reads it from standard input."`
}

// Help is shown by `sett models resume --help`.
func (modelsResumeCmd) Help() string {
	return `Lets calls of models go on after sett models pause. Agents that waited begin within two
seconds. Work that failed since it had begun before the pause is not tried again by itself:
sett retry does.

` + whoHelp + `

Example: sett models resume`
}

// Run lets calls go on.
func (c *modelsResumeCmd) Run(a *app) error { return a.pauseModels(false, c.Why) }

func (a *app) pauseModels(paused bool, typed []string) error {
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	why := ""
	if len(typed) > 0 {
		if why, err = typedReason(a, typed); err != nil {
			return err
		}
	}
	before, err := b.Calls.Paused(a.ctx)
	if err != nil {
		return err
	}
	if err := b.People.PauseModels(a.ctx, paused, a.Who(), why); err != nil {
		return err
	}
	what, next := "go on", ""
	if paused {
		what, next = "are stopped", "; "+a.at.CommandLine(in, "models resume")+" lets them go on"
	}
	if (before != nil) == paused {
		what = strings.Replace(what, "are", "were already", 1)
		what = strings.Replace(what, "go on", "went on already", 1)
	}
	a.Sayf("sett: calls of models of %s %s%s\n", in.Name, what, next)
	return nil
}

package view

import (
	"context"
	"slices"

	"sett/blackboard"
	"sett/contract/model"
	"sett/roles/role/words"
)

// Obstacles reads all else that a person has to act on: goals that cannot land, and bids and grants that wait for
// their model. They are no part of Open: sett questions shows them, and nobody is asked about them at a terminal.
func Obstacles(ctx context.Context, r MatterReader) ([]Matter, error) {
	all, err := Barred(ctx, r)
	if err != nil {
		return nil, err
	}
	withheld, err := Withheld(ctx, r)
	return append(all, withheld...), err
}

// Holding reads all that a goal waits for a person for while it has not landed: what is open, and bids and grants
// that wait for their model.
func Holding(ctx context.Context, r MatterReader) ([]Matter, error) {
	all, err := r.Open(ctx)
	if err != nil {
		return nil, err
	}
	withheld, err := Withheld(ctx, r)
	return append(all, withheld...), err
}

// Withheld reads the claims that wait for a person since calls of models are withheld, the oldest first: those that wait
// for such bids alone, and those with a grant before its tool begins. A reason that is over by now is left out: its agent asks again within seconds.
func Withheld(ctx context.Context, r MatterReader) ([]Matter, error) {
	open, err := ReadOpen(ctx, r.Board, r.Workflow)
	if err != nil {
		return nil, err
	}
	var held []blackboard.Snapshot
	var subjects []string
	for _, s := range open.Claims {
		if len(s.WithheldBids()) > 0 || slices.ContainsFunc(s.Grants, blackboard.Grant.WaitsForModel) {
			held = append(held, s)
			subjects = append(subjects, s.Claim.WorkflowID)
		}
	}
	if len(held) == 0 {
		return nil, nil
	}
	goals, broken, err := r.OutlinesWithTexts(ctx, subjects, MaxShown)
	if err != nil {
		return nil, err
	}
	now, err := r.ServerTime(ctx)
	if err != nil {
		return nil, err
	}
	paused, err := r.Calls.Paused(ctx)
	if err != nil {
		return nil, err
	}
	var out []Matter
	for i, s := range held {
		still, err := lasts(ctx, r, s, paused != nil)
		if err != nil {
			return nil, err
		}
		if !still {
			continue
		}
		m := withheldMatter(r, s)
		if m.Agent == "" {
			m = modelMatter(m, s)
			m.Commands = []string{r.Command("models resume")}
		}
		m.AgeSeconds = AgeSeconds(now, m.Since)
		if broken[i] == nil {
			m.Goal = GistOf(&goals[i])
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(x, y Matter) int { return x.Since.Compare(y.Since) })
	return out, nil
}

// withheldMatter describes a claim with such bids.
func withheldMatter(r MatterReader, s blackboard.Snapshot) Matter {
	c := s.Claim
	m := Matter{ID: c.ID, Kind: MatterBid, ClaimID: c.ID, WorkflowID: c.WorkflowID, About: MatterSubject{c.ArtefactID, c.Target.Type, c.Target.Version}}
	goal := c.WorkflowID
	if !r.Whole {
		goal = words.Short(goal)
	}
	for _, agent := range s.WithheldBids() {
		held, commands := c.Withheld[agent], []string{r.Command("models resume")}
		text := held.Why
		if held.Kind == blackboard.WithheldBudget {
			text, commands = text+"; raise budget in sett.yml, then sett up", []string{r.Command("up"), r.Command("cancel " + goal + ` "why"`)}
		}
		if m.Agent == "" {
			m.Agent, m.Role, m.Since, m.Text = agent, agent, held.Since, text
		} else {
			m.Text += "\n" + agent + ": " + text
		}
		for _, command := range commands {
			if !slices.Contains(m.Commands, command) {
				m.Commands = append(m.Commands, command)
			}
		}
	}
	return m
}

// modelMatter describes a claim with grants that wait for their model.
func modelMatter(m Matter, s blackboard.Snapshot) Matter {
	m.Kind = MatterModel
	for _, g := range s.Grants {
		switch {
		case !g.WaitsForModel():
		case m.Agent == "":
			m.Agent, m.Role, m.Since, m.Text = g.Agent, g.Agent, g.WaitsSince, g.WaitsWhy
		default:
			m.Text += "\n" + g.Agent + ": " + g.WaitsWhy
		}
	}
	return m
}

// lasts says whether each reason for which bids or grants of a claim wait is one now, while models are paused or not.
func lasts(ctx context.Context, r MatterReader, s blackboard.Snapshot, paused bool) (bool, error) {
	bids := s.WithheldBids()
	if len(bids) == 0 {
		return paused, nil
	}
	for _, agent := range bids {
		switch held := s.Claim.Withheld[agent]; held.Kind {
		case blackboard.WithheldPaused:
			if !paused {
				return false, nil
			}
		case blackboard.WithheldBudget:
			spent, err := r.Calls.Spending(ctx, s.Claim.WorkflowID)
			if err != nil || r.Config == nil {
				return err == nil, err
			}
			var budget model.Budget
			if r.Config.Budget != nil {
				budget = r.Config.Budget.Budget
			}
			if !blackboard.Exceeds(held.Why, budget.Plus(spent.More)) {
				return false, nil
			}
		}
	}
	return true, nil
}

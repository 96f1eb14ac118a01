package view

import (
	"context"
	"slices"

	"sett/blackboard"
	"sett/contract/model"
	"sett/roles/role/words"
)

// Obstacles reads all else that a person has to act on: goals that cannot land, and bids that wait for their
// model. They are no part of Open: sett questions shows them, and nobody is asked about them at a terminal.
func Obstacles(ctx context.Context, r MatterReader) ([]Matter, error) {
	all, err := Barred(ctx, r)
	if err != nil {
		return nil, err
	}
	withheld, err := Withheld(ctx, r)
	return append(all, withheld...), err
}

// Holding reads all that a goal waits for a person for while it has not landed: what is open, and bids that wait for their model.
func Holding(ctx context.Context, r MatterReader) ([]Matter, error) {
	all, err := r.Open(ctx)
	if err != nil {
		return nil, err
	}
	withheld, err := Withheld(ctx, r)
	return append(all, withheld...), err
}

// Withheld reads the claims that wait for bids alone, each of which waits for a person, since a call of the agent's
// model is withheld, the oldest first. A reason that is over by now is left out: its agent asks again within seconds.
func Withheld(ctx context.Context, r MatterReader) ([]Matter, error) {
	open, err := ReadOpen(ctx, r.Board, r.Workflow)
	if err != nil {
		return nil, err
	}
	var held []blackboard.Snapshot
	var subjects []string
	for _, s := range open.Claims {
		if len(s.WithheldBids()) > 0 {
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
		still, err := lasts(ctx, r, s, paused)
		if err != nil {
			return nil, err
		}
		if !still {
			continue
		}
		m := withheldMatter(r, s)
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

// lasts says whether each reason for which bids of a claim are withheld is one now, while models are paused or not.
func lasts(ctx context.Context, r MatterReader, s blackboard.Snapshot, paused bool) (bool, error) {
	for _, agent := range s.WithheldBids() {
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

package deploy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

// noteRemoved notes the goals of a running instance that fail because an agent that has work of theirs, or made
// artefacts that may be sent back to it, is no longer in sett.yml. Nothing depends on it: a blackboard that cannot be read is told of elsewhere.
func noteRemoved(ctx context.Context, u *upRun) {
	removed := u.plan.Changes.Removed
	if len(removed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookAtWork)
	defer cancel()
	b, _, done, err := u.at.Board(ctx)
	if err != nil {
		return
	}
	defer done()
	for _, text := range workOf(ctx, b, u.c, func(agent string) bool { return slices.Contains(removed, agent) }).lines() {
		u.plan.note(&u.plan.atOnce, "%s", text)
	}
}

// sayRemoved says the same of an instance that starts, before its orchestrator has those goals fail: the
// blackboard could not be asked earlier.
func sayRemoved(ctx context.Context, u *upRun) {
	if u.plan.Action == actionApply {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookAtWork)
	defer cancel()
	sayNotices(u.at.Sayf, workOf(ctx, u.board, u.c, func(agent string) bool {
		_, wanted := u.c.Agent(agent)
		return !wanted
	}).lines())
}

// removedWork is the work of agents that are no longer in sett.yml: goals by agent.
type removedWork struct {
	open map[string][]string // the agent has a grant that has not ended: the goal fails
	back map[string][]string // artefacts of the agent may be sent back to it: the goal fails with that

	of       func(agent string) bool // whether an agent is one of them
	settings *config.Config
}

// note keeps a goal of an agent.
func note(in map[string][]string, agent, goal string) {
	if !slices.Contains(in[agent], goal) {
		in[agent] = append(in[agent], goal)
	}
}

// lines are the warnings about it.
func (w removedWork) lines() (lines []string) {
	for _, agent := range slices.Sorted(maps.Keys(w.open)) {
		goals := words.Shorts(w.open[agent])
		fails := "goal " + goals[0] + ", which then fails"
		if len(goals) > 1 {
			fails = fmt.Sprintf("%d goals, which then fail", len(goals))
		}
		lines = append(lines, fmt.Sprintf("warning: agent %s is no longer in sett.yml, and has work of %s; with the agent in it again, sett retry %s tries that again",
			role.Clean(agent), fails, goals[0]))
	}
	for _, agent := range slices.Sorted(maps.Keys(w.back)) {
		goals := slices.DeleteFunc(slices.Clone(w.back[agent]), func(id string) bool { return slices.Contains(w.open[agent], id) })
		if len(goals) == 0 {
			continue
		}
		fails := "goal " + words.Short(goals[0]) + " fails"
		if len(goals) > 1 {
			fails = fmt.Sprintf("each of the %d goals %s fails", len(goals), strings.Join(words.Shorts(goals[:min(len(goals), mostGoals)]), ", "))
			if len(goals) > mostGoals {
				fails = fmt.Sprintf("each of %d goals fails", len(goals))
			}
		}
		lines = append(lines, fmt.Sprintf("warning: agent %s is no longer in sett.yml: %s if feedback or a conflict sends a result of the agent back; with the agent in it again, the agent reworks that",
			role.Clean(agent), fails))
	}
	return lines
}

// workOf returns the work of these agents, but for that which the settings want no more. A blackboard that cannot be
// read leaves a part out.
func workOf(ctx context.Context, b *instance.Board, c *config.Config, these func(agent string) bool) removedWork {
	w := removedWork{open: map[string][]string{}, back: map[string][]string{}, of: these, settings: c}
	w.inClaims(ctx, b)
	w.atGates(ctx, b)
	w.inLandings(ctx, b)
	return w
}

// made notes a goal with an artefact that may be sent back to the agent that made it.
func (w removedWork) made(agent, goal string) {
	if agent != "" && w.of(agent) {
		note(w.back, agent, goal)
	}
}

// inClaims finds the grants of agents that have not ended, and the artefacts of agents that are in review.
func (w removedWork) inClaims(ctx context.Context, b *instance.Board) {
	open, err := b.Index.OpenClaims(ctx)
	if err != nil {
		return
	}
	for ids := range slices.Chunk(open, mostAtOnce) {
		claims, errs, err := b.Records.Snapshots(ctx, ids)
		if err != nil {
			return
		}
		for i, c := range claims {
			if errs[i] != nil || w.settings.Supersedes(c.Claim.Target) {
				continue
			}
			if c.Claim.Status == blackboard.PendingReview {
				w.made(c.Claim.Target.Agent, c.Claim.WorkflowID)
			}
			for _, g := range c.Grants {
				if !g.State.Ended() && w.of(g.Agent) {
					note(w.open, g.Agent, c.Claim.WorkflowID)
				}
			}
		}
	}
}

// atGates finds the artefacts of agents that wait for a person's approval.
func (w removedWork) atGates(ctx context.Context, b *instance.Board) {
	gates, err := b.Index.OpenGates(ctx)
	if err != nil {
		return
	}
	for ids := range slices.Chunk(gates, mostAtOnce) {
		all, errs, err := b.Records.Outlines(ctx, ids)
		if err != nil {
			return
		}
		for i, a := range all {
			if errs[i] == nil {
				w.made(a.ProducedByAgent, a.WorkflowID)
			}
		}
	}
}

// inLandings finds the results of agents that are still to land: a conflict or feedback sends them back.
func (w removedWork) inLandings(ctx context.Context, b *instance.Board) {
	goals, err := b.Index.OpenLandings(ctx)
	if err != nil || w.settings.Land == nil { // nothing lands any more
		return
	}
	for _, id := range goals {
		goal, err := b.Records.Workflow(ctx, id)
		if err != nil {
			continue
		}
		ids, err := b.Index.WorkflowArtefacts(ctx, id)
		if err != nil {
			return
		}
		all, errs, err := b.Records.Outlines(ctx, ids)
		if err != nil {
			return
		}
		result := blackboard.ResultOf(all, errs, goal.TerminalID)
		for _, a := range all {
			if a.ID == result {
				w.made(a.ProducedByAgent, id)
			}
		}
	}
}

// Bounds of a look at the work of agents.
const (
	lookAtWork = 2 * time.Second
	mostAtOnce = 200 // records in one call
	mostGoals  = 5   // named in a warning
)

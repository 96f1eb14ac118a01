package deploy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

// noteRemoved notes the goals of a running instance that fail because an agent that has work of theirs is no
// longer in sett.yml. Nothing depends on it: a blackboard that cannot be read is told of elsewhere.
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
	work := goalsOf(ctx, b, u.c, func(agent string) bool { return slices.Contains(removed, agent) })
	for _, text := range removedLines(work) {
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
	work := goalsOf(ctx, u.board, u.c, func(agent string) bool {
		_, wanted := u.c.Agent(agent)
		return !wanted
	})
	sayNotices(u.at.Sayf, removedLines(work))
}

// removedLines are the warnings about work of agents that are no longer in sett.yml: the goals of each.
func removedLines(work map[string][]string) (lines []string) {
	for _, agent := range slices.Sorted(maps.Keys(work)) {
		goals := words.Shorts(work[agent])
		fails := "goal " + goals[0] + ", which then fails"
		if len(goals) > 1 {
			fails = fmt.Sprintf("%d goals, which then fail", len(goals))
		}
		lines = append(lines, fmt.Sprintf("warning: agent %s is no longer in sett.yml, and has work of %s; with the agent in it again, sett retry %s tries that again",
			role.Clean(agent), fails, goals[0]))
	}
	return lines
}

// goalsOf returns the goals of which one of these agents has a grant that has not ended, for each of them. Work that the
// settings want no more is none.
func goalsOf(ctx context.Context, b *instance.Board, c *config.Config, these func(agent string) bool) map[string][]string {
	open, err := b.Index.OpenClaims(ctx)
	if err != nil {
		return nil
	}
	all := map[string][]string{}
	for ids := range slices.Chunk(open, mostAtOnce) {
		claims, errs, err := b.Records.Snapshots(ctx, ids)
		if err != nil {
			return all
		}
		for i, s := range claims {
			if errs[i] != nil || c.Supersedes(s.Claim.Target) {
				continue
			}
			for _, g := range s.Grants {
				if !g.State.Ended() && these(g.Agent) && !slices.Contains(all[g.Agent], s.Claim.WorkflowID) {
					all[g.Agent] = append(all[g.Agent], s.Claim.WorkflowID)
				}
			}
		}
	}
	return all
}

// Bounds of a look at the work of agents.
const (
	lookAtWork = 2 * time.Second
	mostAtOnce = 200 // claims in one call
)

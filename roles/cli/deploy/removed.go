package deploy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

// noteRemoved says which goals fail because an agent that has work of theirs is no longer in
// sett.yml. Nothing depends on it: a blackboard that cannot be read is told of elsewhere.
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
	work := goalsOf(ctx, b, removed)
	for _, agent := range removed {
		goals := words.Shorts(work[agent])
		if len(goals) == 0 {
			continue
		}
		fails := "goal " + goals[0] + ", which then fails"
		if len(goals) > 1 {
			fails = fmt.Sprintf("%d goals, which then fail", len(goals))
		}
		u.plan.note(&u.plan.atOnce, "warning: agent %s is no longer in sett.yml, and has work of %s; with the agent in it again, sett retry %s tries that again",
			role.Clean(agent), fails, goals[0])
	}
}

// goalsOf returns the goals of which agents have a grant that has not ended, for each agent.
func goalsOf(ctx context.Context, b *instance.Board, agents []string) map[string][]string {
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
		for i, c := range claims {
			for _, g := range c.Grants {
				if errs[i] == nil && !g.State.Ended() && slices.Contains(agents, g.Agent) && !slices.Contains(all[g.Agent], c.Claim.WorkflowID) {
					all[g.Agent] = append(all[g.Agent], c.Claim.WorkflowID)
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

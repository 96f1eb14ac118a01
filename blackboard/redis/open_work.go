package redis

import (
	"context"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Index reads the ids of those records that exist, are open or belong together.
type Index struct{ c *store.Conn }

// Goals returns the ids of the newest workflows, newest last; limit 0: all.
func (b Index) Goals(ctx context.Context, limit int) ([]string, error) {
	return b.c.List(ctx, b.c.Keys.ArtefactsByType(blackboard.TypeGoalDefined), -limit, -1)
}

// OpenClaims returns the ids of the claims that are open, oldest first.
func (b Index) OpenClaims(ctx context.Context) ([]string, error) {
	return b.c.Sorted(ctx, b.c.Keys.OpenClaims())
}

// OpenQuestions returns the ids of the unanswered Questions, oldest first.
func (b Index) OpenQuestions(ctx context.Context) ([]string, error) {
	return b.c.Sorted(ctx, b.c.Keys.Questions())
}

// OpenGates returns the ids of the artefacts that wait for approval, oldest first.
func (b Index) OpenGates(ctx context.Context) ([]string, error) {
	return b.c.Sorted(ctx, b.c.Keys.Gates())
}

// ActiveWorkflows returns the ids of the workflows with work outstanding, oldest
// first.
func (b Index) ActiveWorkflows(ctx context.Context) ([]string, error) {
	return b.c.Sorted(ctx, b.c.Keys.ActiveWorkflows())
}

// WorkflowClaims returns the ids of a workflow's claims, oldest first.
func (b Index) WorkflowClaims(ctx context.Context, workflow string) ([]string, error) {
	return b.c.List(ctx, b.c.Keys.ClaimsByWorkflow(workflow), 0, -1)
}

// OpenWork reads the open work of the orchestrator.
func (b Index) OpenWork(ctx context.Context) (blackboard.Work, error) {
	var w blackboard.Work
	err := b.pair(ctx, b.c.Keys.Unclaimed(), b.c.Keys.OpenClaims(), &w.Unclaimed, &w.Claims)
	return w, err
}

// OpenAgentWork reads the open work of an agent.
func (b Index) OpenAgentWork(ctx context.Context, agent string) (blackboard.AgentWork, error) {
	var w blackboard.AgentWork
	err := b.pair(ctx, b.c.Keys.AgentDue(agent), b.c.Keys.AgentGrants(agent), &w.Due, &w.Grants)
	return w, err
}

func (b Index) pair(ctx context.Context, first, second string, a, c *[]string) error {
	return b.c.Retry(ctx, "read open work", func(ctx context.Context) (err error) {
		// At rest there is nothing, and one command says so.
		n, err := b.c.Client.Do(ctx, b.c.Client.B().Exists().Key(first, second).Build()).ToInt64()
		if err != nil || n == 0 {
			*a, *c = nil, nil
			return err
		}
		res := b.c.Client.DoMulti(ctx,
			b.c.Client.B().Zrange().Key(first).Min("0").Max("-1").Build(),
			b.c.Client.B().Zrange().Key(second).Min("0").Max("-1").Build())
		if *a, err = res[0].AsStrSlice(); err == nil {
			*c, err = res[1].AsStrSlice()
		}
		return err
	})
}

// ClosedCount returns how many claims are closed.
func (b Index) ClosedCount(ctx context.Context) (int, error) {
	all, err := b.c.Number(ctx, "count claims", "LLEN", b.c.Keys.Claims())
	if err != nil {
		return 0, err
	}
	open, err := b.c.Number(ctx, "count claims", "ZCARD", b.c.Keys.OpenClaims())
	return all - open, err
}

// ActiveCount returns how many workflows have work outstanding.
func (b Index) ActiveCount(ctx context.Context) (int, error) {
	return b.c.Number(ctx, "count workflows", "ZCARD", b.c.Keys.ActiveWorkflows())
}

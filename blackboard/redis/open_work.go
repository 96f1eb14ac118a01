package redis

import (
	"context"

	"sett/blackboard"
)

// Goals returns the ids of the newest workflows, newest last; limit 0: all.
func (b *Board) Goals(ctx context.Context, limit int) ([]string, error) {
	return b.list(ctx, b.keys.artefactsByType(blackboard.TypeGoalDefined), -limit, -1)
}

// OpenClaims returns the ids of the claims that are open, oldest first.
func (b *Board) OpenClaims(ctx context.Context) ([]string, error) {
	return b.wholeIndex(ctx, b.keys.openClaims())
}

// OpenQuestions returns the ids of the unanswered Questions, oldest first.
func (b *Board) OpenQuestions(ctx context.Context) ([]string, error) {
	return b.wholeIndex(ctx, b.keys.questions())
}

// OpenGates returns the ids of the artefacts that wait for approval, oldest first.
func (b *Board) OpenGates(ctx context.Context) ([]string, error) {
	return b.wholeIndex(ctx, b.keys.gates())
}

// ActiveWorkflows returns the ids of the workflows with work outstanding, oldest
// first.
func (b *Board) ActiveWorkflows(ctx context.Context) ([]string, error) {
	return b.wholeIndex(ctx, b.keys.activeWorkflows())
}

// WorkflowClaims returns the ids of a workflow's claims, oldest first.
func (b *Board) WorkflowClaims(ctx context.Context, workflow string) ([]string, error) {
	return b.list(ctx, b.keys.claimsByWorkflow(workflow), 0, -1)
}

// Work is what is open for the orchestrator, oldest first.
type Work struct {
	Unclaimed []string // artefacts without their claim
	Claims    []string // open ones
}

// OpenWork reads what is open for the orchestrator.
func (b *Board) OpenWork(ctx context.Context) (Work, error) {
	var w Work
	err := b.pair(ctx, b.keys.unclaimed(), b.keys.openClaims(), &w.Unclaimed, &w.Claims)
	return w, err
}

// AgentWork is what is open for an agent, oldest first.
type AgentWork struct {
	Due    []string // claims that await its bid
	Grants []string // claims with a grant of its that is queued or running
}

// OpenAgentWork reads what is open for an agent.
func (b *Board) OpenAgentWork(ctx context.Context, agent string) (AgentWork, error) {
	var w AgentWork
	err := b.pair(ctx, b.keys.agentDue(agent), b.keys.agentGrants(agent), &w.Due, &w.Grants)
	return w, err
}

func (b *Board) pair(ctx context.Context, first, second string, a, c *[]string) error {
	return b.retry(ctx, "read open work", func(ctx context.Context) (err error) {
		// At rest there is nothing, and one command says so.
		n, err := b.client.Do(ctx, b.client.B().Exists().Key(first, second).Build()).ToInt64()
		if err != nil || n == 0 {
			*a, *c = nil, nil
			return err
		}
		res := b.client.DoMulti(ctx,
			b.client.B().Zrange().Key(first).Min("0").Max("-1").Build(),
			b.client.B().Zrange().Key(second).Min("0").Max("-1").Build())
		if *a, err = res[0].AsStrSlice(); err == nil {
			*c, err = res[1].AsStrSlice()
		}
		return err
	})
}

// ClosedCount returns how many claims are closed.
func (b *Board) ClosedCount(ctx context.Context) (int, error) {
	var closed int
	err := b.retry(ctx, "count claims", func(ctx context.Context) error {
		res := b.client.DoMulti(ctx,
			b.client.B().Llen().Key(b.keys.claims()).Build(), b.client.B().Zcard().Key(b.keys.openClaims()).Build())
		all, err := res[0].ToInt64()
		if err != nil {
			return err
		}
		open, err := res[1].ToInt64()
		closed = int(all - open)
		return err
	})
	return closed, err
}

// ActiveCount returns how many workflows have work outstanding.
func (b *Board) ActiveCount(ctx context.Context) (int, error) {
	var n int64
	err := b.retry(ctx, "count workflows", func(ctx context.Context) (err error) {
		n, err = b.client.Do(ctx, b.client.B().Zcard().Key(b.keys.activeWorkflows()).Build()).ToInt64()
		return err
	})
	return int(n), err
}

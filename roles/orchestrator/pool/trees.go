package pool

import (
	"context"

	"sett/contract/config"
)

// freeTree returns the name of a tree that no worker has, also none that is being started
// or stopped; false: the agent's workers have them all. An agent without trees has
// the name "" for each worker. The caller holds the lock.
func (p *Pool) freeTree(agent config.Agent) (name string, ok bool) {
	taken := map[string]bool{}
	for _, j := range p.running {
		taken[j.tree] = true
	}
	for _, s := range p.warm {
		taken[s.tree] = true
	}
	all := agent.Trees()
	for _, name := range all {
		if !taken[name] {
			return name, true
		}
	}
	return "", len(all) == 0
}

// lodge gives a job a free tree. While there is none the job goes back into the line:
// workers that end free theirs.
func (p *Pool) lodge(j *job) bool {
	agent, member := p.Config().Agent(j.agent)
	if !member {
		return true // it will not start
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	tree, ok := p.freeTree(agent)
	if !ok {
		delete(p.running, j.name)
		p.queued[j.name] = j
		return false
	}
	j.tree = tree
	return true
}

// evict stops a job's unit whose tree another worker has. A former leader may have
// started it while its lead passed to us: the name of the unit is the same then, and the
// tree is not.
func (p *Pool) evict(ctx context.Context, j *job) {
	p.mu.Lock()
	shared := false
	for _, other := range p.running {
		shared = shared || other != j && other.tree == j.tree
	}
	for _, s := range p.warm {
		shared = shared || s.tree == j.tree
	}
	unit, tree := j.unit, j.tree
	p.mu.Unlock()
	if tree == "" || !shared {
		return
	}
	p.Log.Warn("worker stopped: another one has its tree", "agent", j.agent, "claim", j.claim, "unit", unit, "tree", tree)
	if err := p.Launcher.Stop(ctx, unit, 0); err != nil && ctx.Err() == nil {
		p.Log.Error("worker not stopped", "unit", unit, "error", err)
	}
}

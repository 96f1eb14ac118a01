package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/runtime"
)

// readAgain is the pause between attempts to read the assignments of standbys.
const readAgain = 500 * time.Millisecond

// Adopt takes over the workers among the units that a former leader started. The
// labels of a worker name its claim; the assignment of a standby is on the
// blackboard. A worker that has ended is remembered with its claim.
func (p *Pool) Adopt(ctx context.Context, units []runtime.Unit) error {
	tasks, err := p.assigned(ctx, units)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range units {
		l := u.Labels
		if l[runtime.LabelComponent] != runtime.ComponentWorker {
			continue
		}
		w := worker{unit: u.Name, agent: l[runtime.LabelAgent], incarnation: l[runtime.LabelIncarnation], started: u.StartedAt, tree: l[runtime.LabelTree]}
		t := taskOf(u)
		if t.claim == "" {
			t = tasks[w.incarnation]
		}
		if t.claim == "" {
			p.warm[u.Name] = &standby{worker: w, digest: l[runtime.LabelConfig]}
			continue
		}
		j := &job{task: t, worker: w, name: workerName(w.agent, t)}
		if was := p.running[j.name]; was == nil || u.Running {
			p.running[j.name] = j
		}
	}
	return nil
}

// assigned reads the assignments of the standbys among the units, by incarnation.
func (p *Pool) assigned(ctx context.Context, units []runtime.Unit) (map[string]task, error) {
	tasks, seen := map[string]task{}, map[string]bool{}
	for _, u := range units {
		agent := u.Labels[runtime.LabelAgent]
		if u.Labels[runtime.LabelComponent] != runtime.ComponentWorker || u.Labels[runtime.LabelClaim] != "" || seen[agent] {
			continue
		}
		seen[agent] = true
		known, err := p.Registered(ctx, agent)
		for ; errors.Is(err, blackboard.ErrUnavailable) && ctx.Err() == nil; known, err = p.Registered(ctx, agent) {
			role.Pause(ctx, readAgain)
		}
		if err != nil {
			return nil, fmt.Errorf("read workers of %s: %w", agent, err)
		}
		for incarnation, w := range known {
			tasks[incarnation] = task{w.Claim, w.Attempt}
		}
	}
	return tasks, nil
}

// Units returns the pool's units. A unit that is being started or stopped is not
// Running.
func (p *Pool) Units() (out []runtime.Unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.running {
		out = append(out, j.listed())
	}
	for _, s := range p.warm {
		u := s.listed()
		u.Running = u.Running && s.stopAgain.IsZero()
		out = append(out, u)
	}
	return out
}

// Retire returns all units of an agent, which are to end at once. The standbys among
// them get no claim any more.
func (p *Pool) Retire(agent string) (out []runtime.Unit) {
	for _, u := range p.Units() {
		if u.Labels[runtime.LabelAgent] == agent {
			out = append(out, u)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.warm {
		if s.agent == agent {
			s.taken, s.stopAgain = true, p.Now().Add(2*unknownGrace)
		}
	}
	return out
}

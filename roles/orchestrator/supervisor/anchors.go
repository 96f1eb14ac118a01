package supervisor

import (
	"context"
	"errors"

	"sett/roles/role"
	"sett/runtime"
)

// networkGone is the reason to end the units of an anchor that has ended.
const networkGone = "its network is gone"

// anchorEnded ends the units that joined an anchor that has ended: a restart of the
// anchor would leave them without a network. They and the anchor are started anew.
func (s *Supervisor) anchorEnded(ctx context.Context, e runtime.Exit) {
	agent := e.Unit.Labels[runtime.LabelAgent]
	if !s.Launcher.drop(e.Unit.Name) {
		return // we ended it
	}
	s.Log.Error("network of an agent's workers is gone, ending them", "agent", agent, "unit", e.Unit.Name, "exit", e.Told())
	if m := s.of(agent); m != nil && m.running && !m.busy {
		s.Incarnations.condemn(m.incarnation, networkGone)
		s.stop(ctx, m, 0)
	}
	for _, u := range s.Workers.Retire(agent) {
		s.endWorker(ctx, u, networkGone)
	}
}

// endWorker ends a worker at once. Its exit is handled like any other.
func (s *Supervisor) endWorker(ctx context.Context, u runtime.Unit, why string) {
	if incarnation := u.Labels[runtime.LabelIncarnation]; incarnation != "" {
		s.Incarnations.condemn(incarnation, why)
	}
	s.Loop.Aside(ctx, func() func() {
		if err := s.Launcher.Stop(ctx, u.Name, 0); err != nil && ctx.Err() == nil {
			s.Log.Error("worker not stopped", "unit", u.Name, "error", err)
		}
		return nil
	})
}

// dropAnchors ends the anchors that no unit is to join any more.
func (s *Supervisor) dropAnchors(ctx context.Context) {
	cfg := s.Config()
	for anchor, name := range s.Launcher.anchors() {
		agent, member := cfg.Agent(name)
		if member {
			if spec, joined := s.Specs.Anchor(agent); joined && spec.Name == anchor {
				continue
			}
		}
		m := s.of(name)
		if m != nil && (m.busy || m.running && m.digest != agent.Digest()) || s.hasWorkers(name) {
			continue // one of them may have joined it
		}
		s.Launcher.drop(anchor)
		s.Loop.Aside(ctx, func() func() {
			if err := s.Launcher.Stop(ctx, anchor, 0); err != nil && ctx.Err() == nil {
				s.Log.Warn("network of an agent's workers not removed", "unit", anchor, "error", err)
				s.Launcher.add(anchor, name)
			}
			return nil
		})
	}
}

func (s *Supervisor) hasWorkers(agent string) bool {
	for _, u := range s.Workers.Units() {
		if u.Labels[runtime.LabelAgent] == agent {
			return true
		}
	}
	return false
}

// reviver is a place that can start an ended unit again as it was.
type reviver interface {
	Revive(ctx context.Context, name string) error
}

// reviveBlackboard starts the blackboard's container again, with back-off, for as
// long as it takes. Its volume has all acknowledged data.
func (s *Supervisor) reviveBlackboard(ctx context.Context, e runtime.Exit) {
	r, ok := s.Place.(reviver)
	if !ok {
		return // the keeper restarts it
	}
	s.Log.Error("blackboard ended, starting it again", "exit", e.Text, "code", e.Code, "oom", e.OOM, "tail", e.Tail)
	s.Loop.Aside(ctx, func() func() {
		for backoff := s.Backoff; ctx.Err() == nil; {
			err := r.Revive(ctx, e.Unit.Name)
			if err == nil || errors.Is(err, context.Canceled) {
				break
			}
			s.Log.Error("blackboard not started", "error", err, "again_in", backoff.Failed())
			role.Pause(ctx, backoff.Last())
		}
		return nil
	})
}

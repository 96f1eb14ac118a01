package orchestrator

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"sync"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

// workers is the pool of fresh_per_call agents: one unit per granted claim, at
// most `replicas` at once per agent, the rest queued in order. The queue is the
// blackboard's; what is here can be forgotten and read again.
type workers struct {
	*leadership
	mu      sync.Mutex
	queued  map[string]*job
	running map[string]*job
}

// job is one grant of a fresh_per_call agent, by the name of its unit.
type job struct {
	unit, claim, agent string
	attempt            int
	queuedAt           time.Time
	incarnation        string
}

func newWorkers(l *leadership) *workers {
	return &workers{leadership: l, queued: map[string]*job{}, running: map[string]*job{}}
}

// workerName is the name of a grant's unit: whoever starts it starts the same.
func workerName(agent, claim string, attempt int) string {
	return fmt.Sprintf("worker-%s-%s-%d", agent, claim, attempt)
}

// offer puts a queued grant in line. Offering it again changes nothing.
func (w *workers) offer(a config.Agent, claim string, g blackboard.Grant) {
	name := workerName(a.Name, claim, g.Attempt)
	w.mu.Lock()
	if w.running[name] != nil || w.queued[name] != nil {
		w.mu.Unlock()
		return
	}
	w.queued[name] = &job{unit: name, claim: claim, agent: a.Name, attempt: g.Attempt, queuedAt: g.QueuedAt}
	w.mu.Unlock()
	w.agents.wake()
}

// adopt takes over a worker that a former leader started.
func (w *workers) adopt(u runtime.Unit) {
	attempt, _ := strconv.Atoi(u.Labels[runtime.LabelAttempt])
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[u.Name] = &job{
		unit: u.Name, claim: u.Labels[runtime.LabelClaim], agent: u.Labels[runtime.LabelAgent], attempt: attempt,
		incarnation: u.Labels[runtime.LabelIncarnation],
	}
}

func (w *workers) living() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]bool{}
	for _, j := range w.running {
		out[j.incarnation] = true
	}
	return out
}

// converge starts queued jobs while there are free slots, oldest first. It runs
// on the agents' goroutine.
func (w *workers) converge(ctx context.Context) {
	line := w.startable()
	if len(line) == 0 || w.stopping(ctx) {
		return
	}
	for _, j := range line {
		agent, ok := w.clan.get().Agent(j.agent)
		if ok {
			ok = w.start(ctx, agent, j)
		}
		if !ok {
			w.mu.Lock()
			delete(w.queued, j.unit) // offered again with the next look at its claim
			w.mu.Unlock()
		}
	}
}

func (w *workers) startable() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	busy := map[string]int{}
	for _, j := range w.running {
		busy[j.agent]++
	}
	line := make([]*job, 0, len(w.queued))
	for _, j := range w.queued {
		line = append(line, j)
	}
	sort.Slice(line, func(i, k int) bool {
		if !line[i].queuedAt.Equal(line[k].queuedAt) {
			return line[i].queuedAt.Before(line[k].queuedAt)
		}
		return line[i].unit < line[k].unit
	})
	cfg, out := w.clan.get(), line[:0]
	for _, j := range line {
		a, ok := cfg.Agent(j.agent)
		if ok && busy[j.agent] >= a.Replicas {
			continue
		}
		busy[j.agent]++
		out = append(out, j)
	}
	return out
}

func (w *workers) start(ctx context.Context, agent config.Agent, j *job) bool {
	if g, err := w.board.Grant(ctx, j.claim, j.agent); err != nil || g.State != blackboard.GrantQueued || g.Attempt != j.attempt {
		return false // cancelled, or already under way
	}
	spec := w.agents.spec(agent, runtime.ComponentWorker)
	spec.Name, spec.Args = j.unit, []string{"cub", "--execute-claim", j.claim}
	spec.Labels[runtime.LabelClaim], spec.Labels[runtime.LabelAttempt] = j.claim, strconv.Itoa(j.attempt)
	u, err := w.runtime.Start(ctx, spec)
	if err != nil {
		w.log.Error("worker not started", "agent", j.agent, "claim", j.claim, "error", err)
		return false
	}
	j.incarnation = u.Labels[runtime.LabelIncarnation]
	w.mu.Lock()
	delete(w.queued, j.unit)
	w.running[j.unit] = j
	w.mu.Unlock()
	w.log.Info("worker started", "agent", j.agent, "claim", j.claim, "attempt", j.attempt, "unit", u.Name, "id", u.ID)
	return true
}

// ended deals with a worker that is no more. One that left no result failed.
func (w *workers) ended(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	claim, agent, incarnation := l[runtime.LabelClaim], l[runtime.LabelAgent], l[runtime.LabelIncarnation]
	w.log.Info("worker ended", "agent", agent, "claim", claim, "exit", e.Text, "code", e.Code)
	if !w.stopping(ctx) {
		if s, err := w.board.Snapshot(ctx, claim); err == nil {
			g, ok := s.Grant(agent)
			attempt := strconv.Itoa(g.Attempt) == l[runtime.LabelAttempt]
			switch {
			case ok && g.State == blackboard.GrantRunning && g.Holder == incarnation:
				w.crashed(ctx, s.Claim, g, e)
			case ok && g.State == blackboard.GrantQueued && attempt:
				g.Holder = "" // it died before it could begin
				w.crashed(ctx, s.Claim, g, e)
			}
			w.releaseAfter(ctx, claim, agent, incarnation)
		}
	}
	w.mu.Lock()
	delete(w.running, e.Unit.Name)
	w.mu.Unlock()
	if err := w.runtime.Stop(ctx, e.Unit.Name, 0); err != nil && ctx.Err() == nil {
		w.log.Warn("worker not removed", "unit", e.Unit.Name, "error", err)
	}
	w.queue.add(key{claimKey, claim})
}

// releaseAfter lets go of the workspace for a worker whose grant was cancelled
// and that died before it did so itself.
func (w *workers) releaseAfter(ctx context.Context, claim, agent, incarnation string) {
	uses, err := w.board.Workspace(ctx)
	if err != nil {
		return
	}
	for _, u := range uses {
		if u.Claim == claim && u.Agent == agent && u.Holder == incarnation && !u.Waiting && !u.Restore {
			w.agents.dropHold(ctx, u)
		}
	}
}

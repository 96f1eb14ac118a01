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
	stopAgain          time.Time // not before then is it told to stop once more
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
	}
}

// converge begins to start queued jobs while there are free slots, oldest first,
// and to stop the workers of agents that have left the clan. It runs on the
// agents' goroutine.
func (w *workers) converge(ctx context.Context) {
	for _, j := range w.unwanted() {
		w.agents.aside(ctx, func() func() {
			if err := w.runtime.Stop(ctx, j.unit, unknownGrace); err != nil && ctx.Err() == nil {
				w.log.Error("worker not stopped", "unit", j.unit, "error", err)
			}
			return nil
		})
	}
	for _, j := range w.startable() {
		w.agents.aside(ctx, func() func() {
			if !w.start(ctx, j) {
				w.drop(j) // offered again with the next look at its claim
				w.agents.wake()
			}
			return nil
		})
	}
}

// unwanted returns the workers to stop, each at most once in a while.
func (w *workers) unwanted() []*job {
	cfg, now := w.clan.get(), w.env.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*job
	for _, j := range w.running {
		if _, member := cfg.Agent(j.agent); !member && !now.Before(j.stopAgain) {
			j.stopAgain = now.Add(2 * unknownGrace)
			out = append(out, j)
		}
	}
	return out
}

// startable takes jobs from the line as far as there are slots for them.
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
		delete(w.queued, j.unit)
		if ok {
			busy[j.agent]++
			w.running[j.unit] = j
			out = append(out, j)
		}
	}
	return out
}

func (w *workers) drop(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[j.unit] == j {
		delete(w.running, j.unit)
	}
}

// start starts a job's unit, unless its grant was cancelled or is under way.
func (w *workers) start(ctx context.Context, j *job) bool {
	agent, member := w.clan.get().Agent(j.agent)
	if !member || w.stopping(ctx) {
		return false
	}
	g, err := w.board.Grant(ctx, j.claim, j.agent)
	if err != nil || g.State != blackboard.GrantQueued || g.Attempt != j.attempt {
		return false
	}
	spec := w.agents.spec(agent, runtime.ComponentWorker)
	spec.Name, spec.Args = j.unit, []string{"cub", "--execute-claim", j.claim}
	spec.Labels[runtime.LabelClaim], spec.Labels[runtime.LabelAttempt] = j.claim, strconv.Itoa(j.attempt)
	incarnation := spec.Labels[runtime.LabelIncarnation]
	w.living.begin(incarnation) // before it can take its grant
	u, err := w.runtime.Start(ctx, spec)
	if adopted := u.Labels[runtime.LabelIncarnation]; err != nil || adopted != incarnation {
		w.living.forget(incarnation)
		if err == nil {
			w.living.begin(adopted)
		}
	}
	if err != nil {
		w.log.Error("worker not started", "agent", j.agent, "claim", j.claim, "error", err)
		return false
	}
	w.log.Info("worker started", "agent", j.agent, "claim", j.claim, "attempt", j.attempt, "unit", u.Name, "id", u.ID)
	return true
}

// ended deals with a worker that is no more. One that left no result failed.
func (w *workers) ended(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	claim, incarnation := l[runtime.LabelClaim], l[runtime.LabelIncarnation]
	w.log.Info("worker ended", "agent", l[runtime.LabelAgent], "claim", claim, "exit", e.Text, "code", e.Code)
	w.mu.Lock()
	j := w.running[e.Unit.Name]
	w.mu.Unlock()
	w.agents.aside(ctx, func() func() {
		if !w.stopping(ctx) {
			w.agents.bury(ctx, e)
			w.neverBegan(ctx, e)
		}
		if err := w.runtime.Stop(ctx, e.Unit.Name, 0); err != nil && ctx.Err() == nil {
			w.log.Warn("worker not removed", "unit", e.Unit.Name, "error", err)
		}
		w.living.forget(incarnation)
		if j != nil {
			w.drop(j)
		}
		w.queue.add(key{claimKey, claim})
		return func() {} // a slot is free
	})
}

// neverBegan counts the death of a worker before it took its grant like one
// afterwards, so that a worker that cannot start is not started for ever.
func (w *workers) neverBegan(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	s, err := w.board.Snapshot(ctx, l[runtime.LabelClaim])
	if err == nil {
		g, ok := s.Grant(l[runtime.LabelAgent])
		if !ok || g.State != blackboard.GrantQueued || strconv.Itoa(g.Attempt) != l[runtime.LabelAttempt] {
			return
		}
		g.Holder = ""
		err = w.crashed(ctx, s.Claim, g, e)
	}
	if err != nil && ctx.Err() == nil {
		w.log.Warn("end of a worker not recorded", "unit", e.Unit.Name, "error", err)
	}
}

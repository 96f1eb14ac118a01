package orchestrator

import (
	"cmp"
	"context"
	"maps"
	"slices"
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
	warm    map[string]*standby // by unit
	pauses  map[string]*pauses  // by agent: after standbys that ended for nothing
}

// job is one grant of a fresh_per_call agent, by the name of its worker.
type job struct {
	name, claim, agent string
	attempt            int
	queuedAt           time.Time
	unit               string    // that works on it: of the job's name, or a standby
	incarnation        string    // of that unit; empty: not known yet
	started            time.Time // when it was; zero: it is only just being started
	stopAgain          time.Time // not before then is it told to stop once more
}

func newWorkers(l *leadership) *workers {
	return &workers{leadership: l, queued: map[string]*job{}, running: map[string]*job{},
		warm: map[string]*standby{}, pauses: map[string]*pauses{}}
}

// offer puts a queued grant in line. Offering it again changes nothing.
func (w *workers) offer(a config.Agent, claim string, g blackboard.Grant) {
	name := workerName(a.Name, claim, g.Attempt)
	w.mu.Lock()
	if w.running[name] != nil || w.queued[name] != nil {
		w.mu.Unlock()
		return
	}
	w.queued[name] = &job{name: name, unit: name, claim: claim, agent: a.Name, attempt: g.Attempt, queuedAt: g.QueuedAt}
	w.mu.Unlock()
	w.agents.wake()
}

// adopt takes over a worker that a former leader started: one that works, on what
// its labels say or on what it was assigned, or one that waits. Of those that have
// ended it remembers what they were for.
func (w *workers) adopt(u runtime.Unit, t task) {
	l := u.Labels
	if claim := l[runtime.LabelClaim]; claim != "" {
		t.claim = claim
		t.attempt, _ = strconv.Atoi(l[runtime.LabelAttempt])
	}
	agent, incarnation := l[runtime.LabelAgent], l[runtime.LabelIncarnation]
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.claim == "" {
		w.warm[u.Name] = &standby{unit: u.Name, agent: agent, incarnation: incarnation, digest: l[runtime.LabelConfig], started: u.StartedAt}
		return
	}
	j := &job{name: workerName(agent, t.claim, t.attempt), unit: u.Name, claim: t.claim, agent: agent, attempt: t.attempt,
		incarnation: incarnation, started: u.StartedAt}
	if was := w.running[j.name]; was == nil || u.Running {
		w.running[j.name] = j
	}
}

// converge begins to start queued jobs while there are free slots, oldest first,
// to fill up what waits, and to stop what is wanted no more. It runs on the
// agents' goroutine, and returns when there is more to do; zero: when something
// changes.
func (w *workers) converge(ctx context.Context) time.Time {
	for _, unit := range w.unwanted() {
		w.agents.aside(ctx, func() func() {
			if err := w.runtime.Stop(ctx, unit, unknownGrace); err != nil && ctx.Err() == nil {
				w.log.Error("worker not stopped", "unit", unit, "error", err)
			}
			return nil
		})
	}
	for _, j := range w.startable() {
		w.agents.aside(ctx, func() func() {
			if !w.hand(ctx, j) && !w.start(ctx, j) {
				w.drop(j) // offered again with the next look at its claim
				w.agents.wake()
			}
			return nil
		})
	}
	return w.fill(ctx)
}

// unwanted returns the units to stop, each at most once in a while: the workers
// of agents that have left the clan, and standbys that nobody wants any more.
func (w *workers) unwanted() (units []string) {
	cfg, now := w.clan.get(), w.env.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.running {
		if _, member := cfg.Agent(j.agent); !member && !now.Before(j.stopAgain) {
			j.stopAgain = now.Add(2 * unknownGrace)
			units = append(units, j.unit)
		}
	}
	return append(units, w.surplus(cfg, now)...)
}

// startable takes jobs from the line as far as there are slots for them.
func (w *workers) startable() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	busy := map[string]int{}
	for _, j := range w.running {
		busy[j.agent]++
	}
	cfg := w.clan.get()
	var out []*job
	for _, j := range inLine(w.queued) {
		a, ok := cfg.Agent(j.agent)
		if ok && busy[j.agent] >= a.Replicas {
			continue
		}
		delete(w.queued, j.name)
		if ok {
			busy[j.agent]++
			w.running[j.name] = j
			out = append(out, j)
		}
	}
	return out
}

// inLine returns jobs in the order in which their grants were queued.
func inLine(jobs map[string]*job) []*job {
	line := slices.Collect(maps.Values(jobs))
	slices.SortFunc(line, func(a, b *job) int {
		return cmp.Or(a.queuedAt.Compare(b.queuedAt), cmp.Compare(a.name, b.name))
	})
	return line
}

func (w *workers) drop(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[j.name] == j {
		delete(w.running, j.name)
	}
}

// busy returns how many units an agent has beside its controller.
func (w *workers) busy(agent string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.running {
		if j.agent == agent {
			n++
		}
	}
	for _, s := range w.warm {
		if s.agent == agent {
			n++
		}
	}
	return n
}

// started notes which unit works on a job.
func (w *workers) started(j *job, unit, incarnation string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j.unit, j.incarnation, j.started = unit, incarnation, at
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
	spec, err := w.spec(agent, runtime.ComponentWorker)
	if err != nil {
		w.log.Error("worker not started", "agent", j.agent, "claim", j.claim, "error", err)
		return false
	}
	spec.Name, spec.Args = j.name, append(spec.Args, "--execute-claim", j.claim)
	spec.Labels[runtime.LabelClaim], spec.Labels[runtime.LabelAttempt] = j.claim, strconv.Itoa(j.attempt)
	u, err := w.agents.launch(ctx, agent, spec)
	if err != nil {
		w.log.Error("worker not started", "agent", j.agent, "claim", j.claim, "error", err)
		return false
	}
	w.started(j, u.Name, u.Labels[runtime.LabelIncarnation], w.env.Now())
	w.log.Info("worker started", "agent", j.agent, "claim", j.claim, "attempt", j.attempt, "unit", u.Name, "id", u.ID)
	return true
}

// of returns the job that a unit works on.
func (w *workers) of(unit string) *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.running {
		if j.unit == unit {
			return j
		}
	}
	return nil
}

// ended deals with a worker that is no more. One that left no result failed.
func (w *workers) ended(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	agent, incarnation := l[runtime.LabelAgent], l[runtime.LabelIncarnation]
	j := w.of(e.Unit.Name)
	if j == nil && l[runtime.LabelClaim] == "" {
		w.standbyEnded(ctx, e)
		return
	}
	t := task{claim: l[runtime.LabelClaim]}
	t.attempt, _ = strconv.Atoi(l[runtime.LabelAttempt])
	if j != nil {
		t = task{claim: j.claim, attempt: j.attempt}
	}
	w.log.Info("worker ended", "agent", agent, "claim", t.claim, "unit", e.Unit.Name, "exit", e.Text, "code", e.Code)
	if why, ok := w.agents.why[incarnation]; ok {
		e.Text = why + ": " + e.Text
		delete(w.agents.why, incarnation)
	}
	w.agents.aside(ctx, func() func() {
		if !w.stopping(ctx) {
			w.agents.bury(ctx, e)
			w.neverBegan(ctx, t, e)
		}
		w.remove(ctx, e)
		if j != nil {
			w.drop(j)
		}
		w.queue.add(key{claimKey, t.claim})
		return func() {} // a slot is free
	})
}

// remove clears away what is left of a worker.
func (w *workers) remove(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	if err := w.runtime.Stop(ctx, e.Unit.Name, 0); err != nil && ctx.Err() == nil {
		w.log.Warn("worker not removed", "unit", e.Unit.Name, "error", err)
	}
	if err := w.board.ForgetWorker(ctx, l[runtime.LabelAgent], l[runtime.LabelIncarnation]); err != nil && ctx.Err() == nil {
		w.log.Debug("worker not forgotten", "unit", e.Unit.Name, "error", err)
	}
	w.living.forget(l[runtime.LabelIncarnation])
}

// neverBegan counts the death of a worker before it took its grant like one
// afterwards, so that a worker that cannot start is not started for ever.
func (w *workers) neverBegan(ctx context.Context, t task, e runtime.Exit) {
	s, err := w.board.Snapshot(ctx, t.claim)
	if err == nil {
		g, ok := s.Grant(e.Unit.Labels[runtime.LabelAgent])
		if !ok || g.State != blackboard.GrantQueued || g.Attempt != t.attempt {
			return
		}
		g.Holder = ""
		err = w.crashed(ctx, s.Claim, g, e)
	}
	if err != nil && ctx.Err() == nil {
		w.log.Warn("end of a worker not recorded", "unit", e.Unit.Name, "error", err)
	}
}

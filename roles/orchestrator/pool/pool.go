// Package pool runs the workers of fresh_per_call agents: one unit per granted claim,
// at most `replicas` at once per agent, the other grants queued in order. Some workers
// start before there is a claim for them and wait. The queue is the blackboard's; the
// pool's copy can be forgotten and read again.
package pool

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

// Board is the part of the blackboard that a pool writes.
type Board interface {
	// Assign tells a waiting worker its one claim.
	Assign(ctx context.Context, epoch, agent, incarnation, claim string, attempt int) error
	ForgetWorker(ctx context.Context, agent, incarnation string) error
}

// Launcher starts and stops units.
type Launcher interface {
	Launch(ctx context.Context, agent config.Agent, s runtime.Spec) (runtime.Unit, error)
	Stop(ctx context.Context, unit string, grace time.Duration) error
	// Remove clears away a unit that has ended.
	Remove(ctx context.Context, u runtime.Unit) error
}

// Orphans settles the grants of workers that died.
type Orphans interface {
	// Settle deals with everything that the unit held.
	Settle(ctx context.Context, e runtime.Exit)
	// NeverStarted deals with a worker that died before it took its grant.
	NeverStarted(ctx context.Context, claim string, attempt int, e runtime.Exit)
}

// Loop runs slow operations for the goroutine that drives the pool.
type Loop interface {
	Aside(ctx context.Context, f func() (step func()))
	Wake()
}

// unknownGrace is the time in which a worker is stopped that the clan does not want.
const unknownGrace = 10 * time.Second

// Options of a Pool. All of them are required.
type Options struct {
	Log      *slog.Logger
	Now      func() time.Time
	Config   func() *config.Config
	Stopping func(ctx context.Context) bool // the instance is being taken down: an end is no crash
	Backoff  runtime.Backoff                // between standbys that end without a claim
	Epoch    string                         // of the leader's term

	Spec       func(agent config.Agent, tree string) (runtime.Spec, error) // of a worker in that tree, still without a name
	Decide     func(claim string)                                          // has a claim decided about again
	Snapshot   func(ctx context.Context, claim string) (blackboard.Snapshot, error)
	Registered func(ctx context.Context, agent string) (map[string]blackboard.Worker, error) // workers by incarnation
	Board      Board
	Launcher   Launcher
	Orphans    Orphans
	Loop       Loop
}

// Pool starts workers for queued grants.
type Pool struct {
	Options
	mu      sync.Mutex
	queued  map[string]*job
	running map[string]*job
	warm    map[string]*standby // by unit
	pauses  map[string]*pause   // by agent: after standbys that ended without a claim
}

// job is one grant of a fresh_per_call agent, by the name of its worker.
type job struct {
	task
	worker
	name  string
	place time.Time // in line
}

// worker is the unit of a job, with the job's name, or a standby.
type worker struct {
	unit, agent, incarnation string    // incarnation empty: not known yet
	started                  time.Time // zero: it is being started
	stopAgain                time.Time // the unit is not told to stop again before then
	tree                     string    // that nobody else gets; empty: none yet, or its tool has none
}

// listed describes the worker. One that is being started is not Running.
func (w worker) listed() runtime.Unit {
	return runtime.Unit{Name: w.unit, StartedAt: w.started, Running: w.incarnation != "" && !w.started.IsZero(),
		Labels: runtime.Labels{runtime.LabelComponent: runtime.ComponentWorker, runtime.LabelAgent: w.agent, runtime.LabelIncarnation: w.incarnation}}
}

// task is the grant that a worker works on.
type task struct {
	claim   string
	attempt int
}

// New returns a pool without workers.
func New(o Options) *Pool {
	return &Pool{Options: o, queued: map[string]*job{}, running: map[string]*job{}, warm: map[string]*standby{}, pauses: map[string]*pause{}}
}

// workerName is the name of a grant's unit: every leader gives it the same.
func workerName(agent string, t task) string {
	return fmt.Sprintf("worker-%s-%s-%d", agent, t.claim, t.attempt)
}

// Offer puts a queued grant in line. Offering it again changes nothing.
func (p *Pool) Offer(agent, claim string, g blackboard.Grant) {
	t := task{claim, g.Attempt}
	name := workerName(agent, t)
	p.mu.Lock()
	if p.running[name] != nil || p.queued[name] != nil {
		p.mu.Unlock()
		return
	}
	p.queued[name] = &job{task: t, name: name, worker: worker{unit: name, agent: agent}, place: g.Place()}
	p.mu.Unlock()
	p.Loop.Wake()
}

// Converge begins to start queued jobs while there are free slots, oldest first, to
// start missing standbys, and to stop unwanted workers. It returns the time of the
// next look; zero: when something changes.
func (p *Pool) Converge(ctx context.Context) time.Time {
	for _, unit := range p.unwanted() {
		p.Loop.Aside(ctx, func() func() {
			if err := p.Launcher.Stop(ctx, unit, unknownGrace); err != nil && ctx.Err() == nil {
				p.Log.Error("worker not stopped", "unit", unit, "error", err)
			}
			return nil
		})
	}
	for _, j := range p.startable() {
		p.Loop.Aside(ctx, func() func() {
			if p.hand(ctx, j) || !p.lodge(j) {
				return nil
			}
			if !p.start(ctx, j) {
				p.drop(j) // offered again with the next look at its claim
				p.Loop.Wake()
			}
			return nil
		})
	}
	return p.fill(ctx)
}

// unwanted returns the units to stop, each at most once in a while: workers of agents
// that have left the clan, and surplus standbys.
func (p *Pool) unwanted() (units []string) {
	cfg, now := p.Config(), p.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.running {
		if _, member := cfg.Agent(j.agent); !member && !now.Before(j.stopAgain) {
			j.stopAgain = now.Add(2 * unknownGrace)
			units = append(units, j.unit)
		}
	}
	return append(units, p.surplus(cfg, now)...)
}

// startable takes jobs from the line as far as there are slots for them.
func (p *Pool) startable() []*job {
	p.mu.Lock()
	defer p.mu.Unlock()
	busy := map[string]int{}
	for _, j := range p.running {
		busy[j.agent]++
	}
	cfg := p.Config()
	var out []*job
	for _, j := range inLine(p.queued) {
		a, ok := cfg.Agent(j.agent)
		if ok && busy[j.agent] >= a.Replicas {
			continue
		}
		delete(p.queued, j.name)
		if ok {
			busy[j.agent]++
			p.running[j.name] = j
			out = append(out, j)
		}
	}
	return out
}

// inLine returns jobs by the places of their grants in the agent's queue.
func inLine(jobs map[string]*job) []*job {
	line := slices.Collect(maps.Values(jobs))
	slices.SortFunc(line, func(a, b *job) int {
		return cmp.Or(a.place.Compare(b.place), cmp.Compare(a.name, b.name))
	})
	return line
}

func (p *Pool) drop(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[j.name] == j {
		delete(p.running, j.name)
	}
}

// started notes the worker of a job.
func (p *Pool) started(j *job, w worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j.unit, j.incarnation, j.started, j.tree = w.unit, w.incarnation, w.started, w.tree
}

// start starts a job's unit, unless its grant was cancelled or is under way.
func (p *Pool) start(ctx context.Context, j *job) bool {
	agent, member := p.Config().Agent(j.agent)
	if !member || p.Stopping(ctx) {
		return false
	}
	s, err := p.Snapshot(ctx, j.claim)
	if err != nil {
		return false
	}
	if g, _ := s.Grant(j.agent); g.State != blackboard.GrantQueued || g.Waiting() || g.Attempt != j.attempt {
		return false
	}
	spec, err := p.Spec(agent, j.tree)
	if err != nil {
		p.Log.Error("worker not started", "agent", j.agent, "claim", j.claim, "error", err)
		return false
	}
	spec.Name, spec.Args = j.name, append(spec.Args, "--execute-claim", j.claim)
	spec.Labels[runtime.LabelClaim], spec.Labels[runtime.LabelAttempt] = j.claim, strconv.Itoa(j.attempt)
	u, err := p.Launcher.Launch(ctx, agent, spec)
	if err != nil {
		p.Log.Error("worker not started", "agent", j.agent, "claim", j.claim, "error", err)
		return false
	}
	p.started(j, worker{unit: u.Name, incarnation: u.Labels[runtime.LabelIncarnation], started: p.Now(), tree: u.Labels[runtime.LabelTree]})
	p.Log.Info("worker started", "agent", j.agent, "claim", j.claim, "attempt", j.attempt, "unit", u.Name, "id", u.ID, "tree", j.tree)
	p.evict(ctx, j)
	return true
}

// Ended deals with a worker that has ended. One without a result failed.
func (p *Pool) Ended(ctx context.Context, e runtime.Exit) {
	j, t := p.of(e.Unit.Name), taskOf(e.Unit)
	if j == nil && t.claim == "" {
		p.standbyEnded(ctx, e)
		return
	}
	if j != nil {
		t = j.task
	}
	p.Log.Info("worker ended", "agent", e.Unit.Labels[runtime.LabelAgent], "claim", t.claim, "unit", e.Unit.Name, "exit", e.Told(), "code", e.Code)
	p.Loop.Aside(ctx, func() func() {
		if !p.Stopping(ctx) {
			p.Orphans.Settle(ctx, e)
			p.Orphans.NeverStarted(ctx, t.claim, t.attempt, e)
		}
		p.remove(ctx, e.Unit)
		if j != nil {
			p.drop(j)
		}
		p.Decide(t.claim)
		return func() {} // a slot is free
	})
}

// of returns the job that a unit works on.
func (p *Pool) of(unit string) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.running {
		if j.unit == unit {
			return j
		}
	}
	return nil
}

// taskOf reads the labels of a worker; those of a standby name no claim.
func taskOf(u runtime.Unit) task {
	attempt, _ := strconv.Atoi(u.Labels[runtime.LabelAttempt])
	return task{u.Labels[runtime.LabelClaim], attempt}
}

// remove clears away the remains of a worker.
func (p *Pool) remove(ctx context.Context, u runtime.Unit) {
	if err := p.Launcher.Remove(ctx, u); err != nil && ctx.Err() == nil {
		p.Log.Warn("worker not removed", "unit", u.Name, "error", err)
	}
	err := p.Board.ForgetWorker(ctx, u.Labels[runtime.LabelAgent], u.Labels[runtime.LabelIncarnation])
	if err != nil && ctx.Err() == nil {
		p.Log.Debug("worker not forgotten", "unit", u.Name, "error", err)
	}
}

package orchestrator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sett/contract/env"
	"sett/runtime"
)

// place is a runtime.Runtime in memory. Its units do nothing; the test ends them.
type place struct {
	mu         sync.Mutex
	units      map[string]runtime.Unit
	started    []runtime.Spec
	stopped    []stopCall
	subs       map[chan runtime.Exit]bool
	failing    error          // of Start
	failStop   error          // of Stop
	late       chan struct{}  // what had ended before Exits is delivered after it
	hold       chan struct{}  // Stop waits for it, as for a grace
	dies       map[string]int // so many units of a name end before their start is over
	most       map[string]int
	revived    []string
	failRevive error    // of the first Revive
	shared     []string // units that were started while another one had their tree
}

type stopCall struct {
	name  string
	grace time.Duration
}

func newPlace() *place {
	return &place{units: map[string]runtime.Unit{}, subs: map[chan runtime.Exit]bool{}, dies: map[string]int{}, most: map[string]int{}}
}

func (p *place) Start(ctx context.Context, s runtime.Spec) (runtime.Unit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing != nil {
		return runtime.Unit{}, p.failing
	}
	if u, ok := p.units[s.Name]; ok && u.Running {
		return u, nil
	}
	p.started = append(p.started, s)
	for _, other := range p.units {
		if tree := s.Labels[runtime.LabelTree]; other.Running && tree != "" && tree == other.Labels[runtime.LabelTree] {
			p.shared = append(p.shared, s.Name+" with "+other.Name)
		}
	}
	u := runtime.Unit{Name: s.Name, ID: s.Labels[runtime.LabelIncarnation], Labels: s.Labels, StartedAt: time.Now(), Running: true}
	p.units[s.Name] = u
	workers := 0
	for _, other := range p.units {
		if other.Running && other.Labels[runtime.LabelComponent] == runtime.ComponentWorker {
			workers++
		}
	}
	agent := s.Labels[runtime.LabelAgent]
	p.most[agent] = max(p.most[agent], workers)
	if p.dies[s.Name] > 0 {
		p.dies[s.Name]--
		p.endNow(s.Name, runtime.Exit{Code: 3, Text: "exit status 3"})
		p.delivered()
	}
	return u, nil
}

// delivered returns when all ends have been taken notice of.
func (p *place) delivered() {
	every := time.NewTicker(time.Millisecond)
	defer every.Stop()
	for out := range p.subs {
		for len(out) > 0 {
			<-every.C
		}
	}
}

// Revive starts an ended unit again.
func (p *place) Revive(_ context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revived = append(p.revived, name)
	if err := p.failRevive; err != nil {
		p.failRevive = nil
		return err
	}
	u := p.units[name]
	u.Running = true
	p.units[name] = u
	return nil
}

func (p *place) Stop(ctx context.Context, name string, grace time.Duration) error {
	p.mu.Lock()
	p.stopped = append(p.stopped, stopCall{name, grace})
	hold, err := p.hold, p.failStop
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if hold != nil && grace > 0 {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.exit(name, runtime.Exit{Code: -1, Text: "signal: terminated"})
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.units, name)
	return nil
}

func (p *place) List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []runtime.Unit
	for _, name := range slices.Sorted(maps.Keys(p.units)) {
		if p.units[name].Labels.Match(selector) {
			out = append(out, p.units[name])
		}
	}
	return out, nil
}

func (p *place) Exits(ctx context.Context) (<-chan runtime.Exit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(chan runtime.Exit, 1000)
	p.subs[out] = true
	var before []runtime.Exit
	for _, name := range slices.Sorted(maps.Keys(p.units)) {
		if u := p.units[name]; !u.Running {
			before = append(before, runtime.Exit{Unit: u, Code: 9, Text: "exit status 9", Tail: "last words"})
		}
	}
	go p.deliver(ctx, out, before, p.late)
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.subs, out)
		close(out)
	})
	return out, nil
}

func (p *place) deliver(ctx context.Context, out chan runtime.Exit, exits []runtime.Exit, late chan struct{}) {
	if late != nil {
		select {
		case <-late:
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range exits {
		if p.subs[out] { // else it is closed
			out <- e
		}
	}
}

// exit ends a unit, if it runs.
func (p *place) exit(name string, e runtime.Exit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endNow(name, e)
}

func (p *place) endNow(name string, e runtime.Exit) {
	u, ok := p.units[name]
	if !ok || !u.Running {
		return
	}
	u.Running = false
	p.units[name] = u
	e.Unit, e.At = u, time.Now()
	for out := range p.subs {
		out <- e
	}
}

func (p *place) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// unit returns a running unit whose name begins so.
func (p *place) unit(prefix string) (runtime.Unit, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.units)) {
		if u := p.units[name]; u.Running && strings.HasPrefix(name, prefix) {
			return u, true
		}
	}
	return runtime.Unit{}, false
}

func (p *place) running(prefix string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for name, u := range p.units {
		if u.Running && strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

func (p *place) starts(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, s := range p.started {
		if strings.HasPrefix(s.Name, name) {
			n++
		}
	}
	return n
}

func (p *place) spec(name string) runtime.Spec {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.started {
		if s.Name == name {
			return s
		}
	}
	return runtime.Spec{}
}

// incarnation waits for an agent to run, other than before, and returns who it is.
func (s *sett) incarnation(p *place, unit string, not ...string) (incarnation string) {
	s.Helper()
	s.until("the start of "+unit, func() bool {
		u, ok := p.unit(unit)
		incarnation = u.Labels[runtime.LabelIncarnation]
		return ok && !slices.Contains(not, incarnation)
	})
	return incarnation
}

// inPlace are the options of an orchestrator that runs the agents itself, with a
// patience that suits tests.
func inPlace(p *place) options {
	return options{place: p, vars: map[string]string{env.StateDir: "/nowhere", env.Workspace: "/repo", env.Run: "run1",
		env.Store: "/nowhere/store", env.Trees: "/nowhere/trees", env.RepositoryURL: "http://127.0.0.1:7071", env.RepositoryKey: "key"},
		host: []string{"PATH=/bin", "HOME=/home/me", "SECRET=1", "AWS_SECRET_ACCESS_KEY=2", "SETT_LOG_LEVEL=debug"},
		pace: func(p *pace) {
			p.backoff.Shortest, p.tick, p.units.LookAround = 10*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
		}}
}

// trusting is inPlace of an orchestrator that looks for no orphans: in its test
// somebody works whom no unit belongs to, who would be taken for one.
func trusting(p *place) options {
	o := inPlace(p)
	usual := o.pace
	o.pace = func(p *pace) { usual(p); p.units.LookAround = time.Hour }
	return o
}

var errNoRoom = errors.New("no room")

package orchestrator

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

func reportOf(t *testing.T, f blackboard.Artefact) (r blackboard.FailureReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(f.Payload), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOneUnitPerAgent(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a", "b"), newPlace()
	s.agent("a").Environment = []config.EnvVar{{Name: "KEY", Value: "v"}, {Name: env.RedisURL, Value: "redis://elsewhere"}}
	s.write()
	s.lead(inPlace(p))
	s.incarnation(p, "agent-a")
	s.incarnation(p, "agent-b")
	spec := p.spec("agent-a")
	a := s.agent("a")
	want := runtime.Labels{runtime.LabelInstance: "test", runtime.LabelComponent: runtime.ComponentAgent, runtime.LabelAgent: "a",
		runtime.LabelRole: "a-role", runtime.LabelRun: "run1", runtime.LabelConfig: a.Digest(),
		runtime.LabelIncarnation: spec.Labels[runtime.LabelIncarnation], runtime.LabelTree: "a"}
	if !want.Match(spec.Labels) || !spec.Labels.Match(want) {
		t.Errorf("labels %v, want %v", spec.Labels, want)
	}
	if spec.Dir != "" || !slices.Equal(spec.Args, []string{"cub"}) {
		t.Errorf("spec %+v", spec)
	}
	vars := map[string]string{}
	for _, v := range spec.Env {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value // the last one counts
	}
	for name, value := range map[string]string{"PATH": "/bin", "HOME": "/home/me", "KEY": "v", "SECRET": "", "AWS_SECRET_ACCESS_KEY": "",
		env.RedisURL: s.url, env.Agent: "a", env.Instance: "test", env.Run: "run1", env.LogLevel: "debug",
		env.Incarnation: spec.Labels[runtime.LabelIncarnation], env.Workspace: "/nowhere/trees/a/tree", env.StateDir: "", env.Config: ""} {
		if vars[name] != value {
			t.Errorf("%s is %q, want %q", name, vars[name], value)
		}
	}
	if _, err := env.ParseCub(func(n string) (string, bool) { v, ok := vars[n]; return v, ok }); err != nil {
		t.Errorf("a cub does not understand it: %v", err)
	}
}

// An agent that ends is started again, later each time, also when it ends without an
// error; after a healthy life it is started soon.
func TestRestartWithBackoff(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	o := inPlace(p)
	healthy := time.Second
	o.pace = func(p *pace) {
		p.backoff.Shortest, p.backoff.Longest, p.backoff.Healthy = 20*time.Millisecond, 50*time.Millisecond, healthy
	}
	l := s.lead(o)
	was := s.incarnation(p, "agent-a")
	crash := func(code int) {
		p.exit("agent-a", runtime.Exit{Code: code, Text: "exit", Tail: "oh"})
		was = s.incarnation(p, "agent-a", was)
	}
	for range 4 {
		crash(1)
	}
	crash(0)
	u, _ := p.unit("agent-a")
	s.until("a healthy age", func() bool { return time.Since(u.StartedAt) > healthy+10*time.Millisecond })
	crash(1)
	var waits []string
	for line := range strings.Lines(l.log.String()) {
		if strings.Contains(line, `msg="agent ended"`) {
			_, w, _ := strings.Cut(line, "again_in=")
			waits = append(waits, strings.TrimSpace(w))
		}
	}
	if want := []string{"20ms", "40ms", "50ms", "50ms", "50ms", "20ms"}; !slices.Equal(waits, want) {
		t.Errorf("waits %v, want %v", waits, want)
	}
}

// An end that comes before the start is over is an end like any other: it is logged,
// counts, and is followed by a pause.
func TestQuickEnd(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.notifies("one")
	p.dies["agent-a"], p.dies["notifier"] = 2, 2
	o := inPlace(p)
	o.vars[env.HealthAddr] = "127.0.0.1:0"
	l := s.lead(o)
	base := l.address()
	s.incarnation(p, "agent-a")
	s.incarnation(p, "notifier")
	s.says(base, map[string]float64{`sett_agent_restarts_total{agent="a"}`: 2})
	for _, noun := range []string{"agent", "notifier"} {
		var waits []string
		for line := range strings.Lines(l.log.String()) {
			if strings.Contains(line, `msg="`+noun+` ended"`) && strings.Contains(line, "code=3") {
				_, w, _ := strings.Cut(line, "again_in=")
				waits = append(waits, strings.TrimSpace(w))
			}
		}
		if !slices.Equal(waits, []string{"10ms", "20ms"}) {
			t.Errorf("%s: waits %v", noun, waits)
		}
	}
}

func TestStartThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	p.failing = errNoRoom
	l := s.lead(inPlace(p))
	s.until("three attempts", func() bool { return strings.Count(l.log.String(), "agent not started") >= 3 })
	p.set(func() { p.failing = nil })
	s.incarnation(p, "agent-a")
}

// A grant whose holder dies fails at once, with what is known of the end.
func TestCrashFailsTheGrant(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.lead(inPlace(p))
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	s.starts(c, "a", s.incarnation(p, "agent-a"))
	p.exit("agent-a", runtime.Exit{Code: 137, Text: "exit status 137", OOM: true, Tail: "line 1\nline 2"})
	s.status(c, blackboard.Terminated)
	f := s.failures(g, 1)[0]
	r := reportOf(t, f)
	if f.Type != blackboard.TypeAgentCrashed || r.ExitCode != 137 || r.Log != "line 1\nline 2\n" || r.Stderr != "" || r.Agent != "a" || r.Attempt != 1 {
		t.Errorf("failure %s %+v", f.Type, r)
	}
	if !strings.Contains(r.Reason, "exit status 137") || !strings.Contains(r.Reason, "out of memory") {
		t.Errorf("reason %q", r.Reason)
	}
	s.ended(g, blackboard.WorkflowFailed)
	if all, err := s.board.Roster.Running(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("running: %v, %v", all, err)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.agent("a").Retries = 1
	s.write()
	s.lead(inPlace(p))
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	was := s.incarnation(p, "agent-a")
	s.starts(c, "a", was)
	p.exit("agent-a", runtime.Exit{Code: 1, Text: "exit status 1"})
	st := s.starts(c, "a", s.incarnation(p, "agent-a", was))
	if st.Grant.Attempt != 2 || st.Grant.Crashes != 1 {
		t.Fatalf("grant %+v", st.Grant)
	}
	p.exit("agent-a", runtime.Exit{Code: 1, Text: "exit status 1"})
	s.status(c, blackboard.Terminated)
	s.failures(g, 1)
}

// Who leads next takes over what runs, starts nothing twice, and fails what died
// while nobody watched, with its last words where the place has them.
func TestAdoption(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a", "b", "c"), newPlace()
	l := s.lead(inPlace(p))
	claims := map[string]string{}
	holders := map[string]string{}
	goals := map[string]string{}
	for _, agent := range []string{"a", "b", "c"} {
		goals[agent] = s.goal("g")
		c := s.claimOf(goals[agent])
		for _, other := range []string{"a", "b", "c"} {
			if other == agent {
				s.bids(c, other+" exclusive")
			} else {
				s.bids(c, other+" ignore")
			}
		}
		holders[agent] = s.incarnation(p, "agent-"+agent)
		claims[agent] = c
		s.starts(c, agent, holders[agent])
	}
	s.must(l.stop())
	p.exit("agent-b", runtime.Exit{})
	p.set(func() { delete(p.units, "agent-c") }) // nobody will tell of its end
	p.late = make(chan struct{})
	o := inPlace(p)
	o.pace = func(p *pace) { p.backoff.Shortest = 10 * time.Millisecond }
	s.lead(o)
	s.status(claims["c"], blackboard.Terminated) // orphans have been looked for
	s.grant(claims["b"], "b", blackboard.GrantRunning)
	close(p.late)
	s.status(claims["b"], blackboard.Terminated)
	if r := reportOf(t, s.failures(goals["b"], 1)[0]); r.ExitCode != 9 || r.Log != "last words\n" {
		t.Errorf("report %+v", r)
	}
	s.incarnation(p, "agent-b", holders["b"])
	s.incarnation(p, "agent-c", holders["c"])
	if n := p.starts("agent-a"); n != 1 || s.incarnation(p, "agent-a") != holders["a"] {
		t.Errorf("agent-a was started %d times", n)
	}
	s.grant(claims["a"], "a", blackboard.GrantRunning)
	p.exit("agent-a", runtime.Exit{Code: 3, Text: "exit status 3"})
	s.status(claims["a"], blackboard.Terminated)
}

// While the instance is stopping an end is no crash, and nothing is started.
func TestStoppingIsNoCrash(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	l := s.lead(inPlace(p))
	c := s.claimOf(s.goal("g"))
	s.bids(c, "a exclusive")
	holder := s.incarnation(p, "agent-a")
	s.starts(c, "a", holder)
	s.must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "test"}))
	p.exit("agent-a", runtime.Exit{Code: 143, Text: "exit status 143"})
	// Once it leads again and has looked around, whoever it is has had its chance.
	s.must(l.stop())
	l = s.lead(inPlace(p))
	l.leads()
	s.until("some ticks", func() bool { return p.starts("agent-a") > 1 || time.Since(s.began(l)) > 400*time.Millisecond })
	if n := p.starts("agent-a"); n != 1 {
		t.Errorf("started %d times", n)
	}
	if g := s.grant(c, "a", blackboard.GrantRunning); g.Holder != holder {
		t.Errorf("grant %+v", g)
	}
	s.must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "test"}))
	s.incarnation(p, "agent-a", holder)
	s.status(c, blackboard.Terminated)
}

// began is when the orchestrator took the lead.
func (s *sett) began(l *leader) time.Time {
	for line := range strings.Lines(l.log.String()) {
		if strings.Contains(line, "msg=leading") {
			at, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
			began, err := time.Parse(time.RFC3339, at)
			s.must(err)
			return began
		}
	}
	return time.Now()
}

// An agent that runs but has not been heard of is ended, and so is its grant; one
// that beats is left alone.
func TestSilentAgent(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "hung", "well"), newPlace()
	o := inPlace(p)
	o.pace = func(p *pace) {
		p.units.SilentAfter, p.units.LookAround, p.units.Promise = 2*time.Second, 20*time.Millisecond, time.Hour
	}
	s.lead(o)
	well := s.incarnation(p, "agent-well")
	s.must(s.board.Cub.Hello(t.Context(), "well", blackboard.Presence{Incarnation: well}, time.Hour))
	hung := s.incarnation(p, "agent-hung")
	s.must(s.board.Cub.Hello(t.Context(), "hung", blackboard.Presence{Incarnation: hung}, time.Millisecond))
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "hung exclusive", "well ignore")
	s.starts(c, "hung", hung)
	s.status(c, blackboard.Terminated)
	if r := reportOf(t, s.failures(g, 1)[0]); !strings.Contains(r.Reason, "was ended while it worked: silent for") {
		t.Errorf("reason %q", r.Reason)
	}
	s.incarnation(p, "agent-hung", hung)
	if n := p.starts("agent-well"); n != 1 {
		t.Errorf("the other one was started %d times", n)
	}
}

// While one agent takes its time to stop, the ends of others are dealt with.
func TestSlowStopDelaysNobody(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "slow", "other"), newPlace()
	p.hold = make(chan struct{})
	s.lead(inPlace(p))
	was, slow := s.incarnation(p, "agent-other"), s.incarnation(p, "agent-slow")
	s.agent("slow").Timeout = time.Hour
	s.write()
	s.must(s.board.Nudge(t.Context()))
	s.until("the stop", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.Contains(p.stopped, stopCall{"agent-slow", 4 * time.Second})
	})
	p.exit("agent-other", runtime.Exit{Code: 1, Text: "exit status 1"})
	s.incarnation(p, "agent-other", was)
	close(p.hold)
	s.incarnation(p, "agent-slow", slow)
	if n := p.starts("agent-slow"); n != 2 {
		t.Errorf("started %d times", n)
	}
}

// The keeper is kept by us, as we are by the keeper.
func TestKeeperIsKept(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	_, err := p.Start(t.Context(), runtime.Spec{Name: "keeper", Labels: runtime.Labels{runtime.LabelComponent: runtime.ComponentKeeper}})
	s.must(err)
	l := s.lead(inPlace(p))
	s.incarnation(p, "agent-a")
	p.exit("keeper", runtime.Exit{Code: -1, Text: "signal: killed"})
	s.until("the keeper", func() bool { return p.starts("keeper") == 2 && p.running("keeper") == 1 })
	s.must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "test"}))
	p.exit("keeper", runtime.Exit{Code: 0, Text: "exit status 0"})
	s.until("the stop to be seen", func() bool { return strings.Contains(l.log.String(), "keeper left alone") })
	s.must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "test"}))
	s.until("the keeper of an up after the down", func() bool { return p.running("keeper") == 1 })
}

// A keeper that comes on record after us is kept as well.
func TestKeeperIsFoundLater(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	l := s.lead(inPlace(p))
	s.incarnation(p, "agent-a")
	_, err := p.Start(t.Context(), runtime.Spec{Name: "keeper", Labels: runtime.Labels{runtime.LabelComponent: runtime.ComponentKeeper}})
	s.must(err)
	s.until("the keeper to be found", func() bool { return strings.Contains(l.log.String(), `msg="unit runs"`) })
	p.exit("keeper", runtime.Exit{Code: -1, Text: "signal: killed"})
	s.until("the keeper", func() bool { return p.starts("keeper") == 2 && p.running("keeper") == 1 })
}

// Who leads before sett up says that the instance runs starts the agents at that
// word, and not at the next tick.
func TestStartsAtTheWord(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "sett down"}))
	o := inPlace(p)
	usual := o.pace
	o.pace = func(p *pace) { usual(p); p.tick = time.Hour }
	l := s.lead(o)
	l.leads()
	s.must(s.board.Nudge(t.Context()))
	if n := p.starts("agent-a"); n != 0 {
		t.Fatal("it was started although the instance is stopping")
	}
	s.must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "sett up"}))
	s.must(s.board.Nudge(t.Context()))
	s.incarnation(p, "agent-a")
}

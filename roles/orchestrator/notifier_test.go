package orchestrator

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role/container"
	"sett/runtime"
)

// notifies has the clan run a command for people.
func (s *sett) notifies(command ...string) {
	s.Helper()
	s.cfg.Notify = &config.Notify{Command: command, Timeout: 7 * time.Second,
		Environment: []config.EnvVar{{Name: "WEBHOOK", Value: "v"}, {Name: env.RedisURL, Value: "redis://elsewhere"}}}
	if s.cfg.Runtime == config.RuntimeDocker {
		s.cfg.Notify.Resolved = &config.Resolved{Image: "sha256:mail", Binary: "sett-bin-1"}
	}
	s.write()
}

func parsed(t *testing.T, s runtime.Spec) env.Notifier {
	t.Helper()
	vars := environ(s)
	n, err := env.ParseNotifier(func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if err != nil {
		t.Errorf("a notifier does not understand it: %v", err)
	}
	return n
}

// Where sett.yml wants a notifier there is one, as a unit that is no agent's:
// nobody waits for its bid.
func TestNotifier(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.notifies("bin/notify", "x y")
	s.lead(inPlace(p))
	who := s.incarnation(p, "notifier")
	spec := p.spec("notifier")
	want := runtime.Labels{runtime.LabelInstance: "test", runtime.LabelComponent: runtime.ComponentNotifier, runtime.LabelRun: "run1",
		runtime.LabelIncarnation: who, runtime.LabelConfig: s.cfg.Notify.Digest()}
	if !want.Match(spec.Labels) || !spec.Labels.Match(want) {
		t.Errorf("labels %v, want %v", spec.Labels, want)
	}
	n := parsed(t, spec)
	if spec.Dir != "/repo" || !slices.Equal(spec.Args, []string{"notifier"}) || n.Redis.URL != s.url || n.Timeout != 7*time.Second ||
		!slices.Equal(n.Command, s.cfg.Notify.Command) || n.Workspace != "/repo" || n.PeoplesPath != "/repo" {
		t.Errorf("spec %+v, read as %+v", spec, n)
	}
	if vars := environ(spec); vars["WEBHOOK"] != "v" || vars["PATH"] != "/bin" || vars["SECRET"] != "" {
		t.Errorf("environment %v", vars)
	}
	s.incarnation(p, "agent-a")
	if c := s.snapshot(s.claimOf(s.goal("x"))).Claim; !slices.Equal(c.ExpectedBidders, []string{"a"}) {
		t.Errorf("waits for the bids of %v", c.ExpectedBidders)
	}
	if p.starts("notifier") != 1 {
		t.Errorf("started %d times", p.starts("notifier"))
	}
}

// One that ends is started again, with back-off; one that sett.yml wants otherwise
// is restarted, and one that it does not want is ended. The agents go on.
func TestNotifierIsKept(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.notifies("one")
	l := s.lead(inPlace(p))
	who := s.incarnation(p, "notifier")
	agent := s.incarnation(p, "agent-a")
	for _, code := range []int{7, 0, 7} {
		p.exit("notifier", runtime.Exit{Code: code, Text: "exit status"})
		who = s.incarnation(p, "notifier", who)
	}
	for _, wait := range []string{"again_in=10ms", "again_in=20ms", "again_in=40ms"} {
		if !strings.Contains(l.log.String(), wait) {
			t.Errorf("no %s in the log", wait)
		}
	}
	s.notifies("two")
	who = s.incarnation(p, "notifier", who)
	if u, _ := p.unit("notifier"); u.Labels[runtime.LabelConfig] != s.cfg.Notify.Digest() {
		t.Errorf("it is that of digest %s", u.Labels[runtime.LabelConfig])
	}
	s.cfg.Notify = nil
	s.write()
	s.until("its end", func() bool { return p.running("notifier") == 0 })
	s.notifies("two")
	s.incarnation(p, "notifier", who)
	if s.incarnation(p, "agent-a") != agent {
		t.Error("the agent was restarted")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if want := []stopCall{{"notifier", 10 * time.Second}, {"notifier", 10 * time.Second}}; !slices.Equal(p.stopped, want) {
		t.Errorf("stopped %v, want %v", p.stopped, want)
	}
}

// How far people have been told is of no use to a notifier that was removed and put
// back: what happened meanwhile nobody wanted to be told. A notifier that is only
// down with its instance, or is changed, goes on where it was.
func TestPositionOfARemovedNotifier(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.notifies("one")
	first := s.lead(inPlace(p))
	who := s.incarnation(p, "notifier")
	const far = "1-1"
	told := func(want string) {
		t.Helper()
		s.until("the position to be "+want, func() bool {
			at, err := s.board.Ledger.Notified(s.Context())
			return err == nil && at == want
		})
	}
	s.must(s.board.Ledger.SetNotified(s.Context(), far))
	s.notifies("two")
	who = s.incarnation(p, "notifier", who)
	s.must(s.board.SetInstance(s.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "sett down"}))
	p.exit("notifier", runtime.Exit{Code: 0, Text: "exit status 0"})
	s.must(first.stop())
	s.must(s.board.SetInstance(s.Context(), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "sett up"}))
	second := s.lead(inPlace(p))
	s.incarnation(p, "notifier", who)
	told(far)
	s.cfg.Notify = nil
	s.write()
	told("")
	s.until("its end", func() bool { return p.running("notifier") == 0 })
	s.must(second.stop())
	s.must(s.board.Ledger.SetNotified(s.Context(), far)) // it was removed from sett.yml while the instance was down
	s.lead(inPlace(p))
	told("")
}

// A new leader adopts the notifier that runs. What is left of one that nobody
// wants any more it removes.
func TestNotifierIsAdopted(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.notifies("one")
	first := s.lead(inPlace(p))
	who := s.incarnation(p, "notifier")
	s.must(first.stop())
	second := s.lead(inPlace(p))
	second.leads()
	s.until("a look around", func() bool { return strings.Contains(second.log.String(), "msg=leading") && p.starts("agent-a") == 1 })
	s.claimOf(s.goal("x"))
	if s.incarnation(p, "notifier") != who || p.starts("notifier") != 1 {
		t.Errorf("started %d times", p.starts("notifier"))
	}
	s.must(second.stop())
	p.exit("notifier", runtime.Exit{Code: 1})
	s.cfg.Notify = nil
	s.write()
	s.lead(inPlace(p))
	s.until("its removal", func() bool {
		units, err := p.List(s.Context(), runtime.Labels{runtime.LabelComponent: runtime.ComponentNotifier})
		return err == nil && len(units) == 0
	})
	if p.starts("notifier") != 1 {
		t.Errorf("started %d times", p.starts("notifier"))
	}
}

// While the instance is stopping nothing is started; when it runs again, at once.
func TestNotifierOfAStoppingInstance(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.must(s.board.SetInstance(s.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "test"}))
	s.notifies("one")
	o := inPlace(p)
	usual := o.pace
	o.pace = func(p *pace) { usual(p); p.tick = time.Hour }
	s.lead(o).leads()
	s.claimOf(func() string {
		s.must(s.board.SetInstance(s.Context(), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "test"}))
		return s.goal("x")
	}())
	s.incarnation(p, "notifier")
}

// Its container is hardened like an agent's, sees the workspace without writing it,
// and knows the blackboard as a user of its own.
func TestContainerOfTheNotifier(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.resolve()
	s.notifies("bin/notify")
	s.lead(inContainers(p, "redis://sett-test-redis:6379/0"))
	s.incarnation(p, "notifier")
	spec := p.spec("notifier")
	c := spec.Container
	mounts := []runtime.Mount{{Source: "/home/me/repo", Target: "/workspace", ReadOnly: true},
		{Source: "/home/me/main/.git", Target: "/home/me/main/.git", ReadOnly: true}}
	if !slices.Equal(c.Mounts, mounts) {
		t.Errorf("mounts %+v", c.Mounts)
	}
	c.Mounts = nil
	want := runtime.Container{Image: "sha256:mail", Binary: "sett-bin-1", User: "1000:1001", Network: runtime.NetworkFull,
		CPUs: container.CPUs, Memory: container.Memory, Pids: container.Pids, Tmp: container.Tmp}
	if !equalContainers(c, want) {
		t.Errorf("container %+v, want %+v", c, want)
	}
	n, vars := parsed(t, spec), environ(spec)
	at, err := url.Parse(n.Redis.URL)
	if err != nil || at.Host != "sett-test-redis:6379" || at.User.Username() != redis.NotifierUser {
		t.Errorf("it finds the blackboard at %s, %v", at, err)
	}
	if n.Workspace != "/workspace" || n.PeoplesPath != "/home/me/repo" || spec.Dir != "/workspace" || vars["HOME"] != "/tmp" || vars["PATH"] != "" ||
		vars["WEBHOOK"] != "v" {
		t.Errorf("spec %+v, read as %+v", spec, n)
	}
}

// Without an image it is not started, and said why.
func TestNotifierWithoutAnImage(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.resolve()
	s.notifies("bin/notify")
	s.cfg.Notify.Resolved = nil
	s.write()
	l := s.lead(inContainers(p, containerRedis))
	s.incarnation(p, "agent-a")
	s.until("the reason", func() bool { return strings.Contains(l.log.String(), "describe notifier: no image was found") })
	if p.starts("notifier") != 0 {
		t.Error("it was started")
	}
}

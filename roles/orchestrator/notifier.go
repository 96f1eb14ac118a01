package orchestrator

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

// notifierGrace is more than the notifier gives its command.
const notifierGrace = 10 * time.Second

// adoptNotifier takes over the notifier that a former leader started.
func (a *agents) adoptNotifier(u runtime.Unit) {
	l := u.Labels
	a.notifier = agentState{running: u.Running, incarnation: l[runtime.LabelIncarnation], digest: l[runtime.LabelConfig], started: u.StartedAt}
	if u.Running {
		a.living.begin(a.notifier.incarnation)
	}
}

// convergeNotifier begins to start the notifier where sett.yml wants one, and to
// stop one that it does not want, or not so. It bids on nothing, and nothing waits
// for it. It returns when to look again, where that is known.
func (a *agents) convergeNotifier(ctx context.Context) (next time.Time) {
	wanted, s := a.clan.get().Notify, &a.notifier
	switch {
	case s.busy,
		wanted != nil && s.running && s.digest == wanted.Digest(),
		wanted == nil && s.incarnation == "": // there is none
	case a.env.Now().Before(s.due):
		return s.due
	case wanted == nil:
		a.log.Info("notifier removed")
		a.stopNotifier(ctx)
	case s.running:
		a.log.Info("notifier changed, restarting")
		a.stopNotifier(ctx)
	default:
		a.startNotifier(ctx, *wanted)
	}
	return time.Time{}
}

func (a *agents) startNotifier(ctx context.Context, wanted config.Notify) {
	s := &a.notifier
	spec, err := a.notifierSpec(wanted)
	if err != nil {
		a.notifierFailed(err)
		return
	}
	s.busy = true
	incarnation, words := spec.Labels[runtime.LabelIncarnation], a.words
	a.living.begin(incarnation) // before its end can be delivered
	a.aside(ctx, func() func() {
		if a.stopping(ctx) {
			a.living.forget(incarnation)
			return func() {
				s.busy = false
				if a.words == words { // else look again at once: the word may have come meanwhile
					s.held, s.due = true, a.env.Now().Add(a.pace.tick)
				}
			}
		}
		u, err := a.runtime.Start(ctx, spec)
		if adopted := u.Labels[runtime.LabelIncarnation]; err != nil || adopted != incarnation {
			a.living.forget(incarnation)
			if err == nil {
				a.living.begin(adopted)
			}
		}
		return func() {
			s.busy = false
			if err != nil {
				a.notifierFailed(err)
				return
			}
			a.log.Info("notifier started", "unit", u.Name, "id", u.ID)
			s.running, s.started = true, u.StartedAt
			s.incarnation, s.digest = u.Labels[runtime.LabelIncarnation], u.Labels[runtime.LabelConfig]
			if !a.living.runs(s.incarnation) { // its end was quicker than this
				a.living.forget(s.incarnation)
				s.running = false
				a.delay(s)
			}
		}
	})
}

func (a *agents) notifierFailed(err error) {
	a.delay(&a.notifier)
	a.log.Error("notifier not started", "error", err, "again_in", a.notifier.backoff)
}

// stopNotifier ends it and removes what is left of it.
func (a *agents) stopNotifier(ctx context.Context) {
	s := &a.notifier
	s.busy = true
	a.aside(ctx, func() func() {
		err := a.runtime.Stop(ctx, runtime.ComponentNotifier, notifierGrace)
		return func() {
			s.busy = false
			if err != nil {
				a.delay(s)
				a.log.Error("notifier not stopped", "error", err, "again_in", s.backoff)
				return
			}
			a.living.forget(s.incarnation)
			a.notifier = agentState{}
		}
	})
}

// notifierEnded has a notifier that ended started again. What it had not told of is
// told then.
func (a *agents) notifierEnded(e runtime.Exit) {
	incarnation, s := e.Unit.Labels[runtime.LabelIncarnation], &a.notifier
	if s.busy { // it is being started or stopped, and that looks at this when it is done
		a.living.end(incarnation, a.env.Now())
		return
	}
	a.living.forget(incarnation)
	if !s.running || s.incarnation != incarnation {
		return
	}
	s.running, s.due = false, time.Time{}
	if e.Code == 0 || a.env.Now().Sub(s.started) > a.pace.healthyAfter {
		s.backoff = 0
	}
	if e.Code != 0 {
		a.delay(s)
	}
	a.log.Warn("notifier ended", "exit", e.Text, "code", e.Code, "oom", e.OOM, "tail", e.Tail, "again_in", s.backoff)
}

// notifierSpec describes the notifier's unit.
func (l *leadership) notifierSpec(wanted config.Notify) (runtime.Spec, error) {
	n := env.Notifier{
		Instance: l.settings.Instance, Redis: l.settings.Redis, Command: wanted.Command, Timeout: wanted.Timeout,
		Workspace: l.settings.Workspace, PeoplesPath: l.settings.Workspace, Run: l.settings.Run, Incarnation: l.env.NewID(),
	}
	s := runtime.Spec{
		Name: runtime.ComponentNotifier, Args: []string{"notifier"}, Dir: l.settings.Workspace,
		Labels: runtime.Labels{
			runtime.LabelInstance: l.settings.Instance, runtime.LabelComponent: runtime.ComponentNotifier,
			runtime.LabelRun: l.settings.Run, runtime.LabelIncarnation: n.Incarnation, runtime.LabelConfig: wanted.Digest(),
		},
	}
	if l.settings.containers() {
		if err := l.encloseNotifier(&s, &n, wanted); err != nil {
			return s, err
		}
	}
	s.Env = append(l.environ(wanted.Environment), n.Environ()...)
	return s, nil
}

// encloseNotifier makes a container of it, like that of an agent that may only read
// the workspace, and reach whom it is to tell.
func (l *leadership) encloseNotifier(s *runtime.Spec, n *env.Notifier, wanted config.Notify) error {
	r := wanted.Resolved
	if r == nil {
		return fmt.Errorf("describe notifier: no image was found for it")
	}
	at, err := l.settings.notifierURL()
	if err != nil {
		return fmt.Errorf("describe notifier: %w", err)
	}
	n.Redis.URL, n.Workspace, s.Dir = at, workspaceDir, workspaceDir
	s.Container = runtime.Container{
		Image: r.Image, Binary: r.Binary, Entrypoint: r.Program, User: l.settings.AgentsUser, Mounts: l.settings.workspaceMounts(true),
		Network: runtime.NetworkFull, CPUs: defaultCPUs, Memory: defaultMemory, Pids: defaultPids, Tmp: tmpSize,
	}
	return nil
}

// notifierURL returns where the notifier finds the blackboard: as a user of its
// own, unless the address names one for all.
func (s settings) notifierURL() (string, error) {
	at, err := url.Parse(s.AgentsRedis)
	if err != nil || at.User != nil {
		return s.AgentsRedis, err
	}
	admin, err := url.Parse(s.Redis.URL)
	if err != nil {
		return "", err
	}
	password, _ := admin.User.Password()
	return redis.NotifierURL(s.AgentsRedis, password)
}

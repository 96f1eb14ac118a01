// Package orchestrator is the role that opens claims and grants them. It
// understands nothing of what the artefacts say: what to decide is the arbiter's,
// a pure function; this package loads what it needs, applies its answer, and
// keeps the agents running.
package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/oklog/run"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/docker"
	"sett/runtime/process"
)

// Help is the role's help page.
const Help = `Usage: sett orchestrator

Opens a claim for every artefact on the blackboard and grants it to the agents
that bid, in phases: review, parallel, exclusive. Starts the agents of sett.yml,
watches them and restarts them. One leads; a second one waits and takes over.

It is started by "sett up" and configured by environment variables:

  SETT_INSTANCE_NAME   the instance's name
  REDIS_URL            the blackboard: redis://[user:password@]host:port[/db]
  SETT_CONFIG          file with the resolved configuration (JSON)
  SETT_STATE_DIR       the instance's state directory; unset: agents are started
                       by somebody else
  SETT_WORKSPACE       the repository the agents work in
  SETT_RUNTIME         where agents run: docker or process (default with SETT_STATE_DIR)
  SETT_HEALTH_ADDR     of /healthz and /metrics; default :8080, "off" for none
  SETT_LEADER_LEASE    how long it leads without renewing; default 10s
  SETT_REDIS_TIMEOUT, SETT_REDIS_RETRIES, SETT_REDIS_GIVE_UP, SETT_REDIS_CA_FILE
  SETT_LOG_FORMAT      json or text
  SETT_LOG_LEVEL       debug, info, warn or error

and, for agents in containers:

  DOCKER_HOST          the engine
  SETT_CONTROL_IMAGE   the image that is nothing but the sett binary
  SETT_AGENTS_REDIS_URL   the blackboard as containers see it; without a user in it,
                       each agent has one of its own
  SETT_AGENTS_USER     uid:gid of agents' containers; unset: their image's
  SETT_WORKSPACE_EXTRA directories the workspace needs besides, mounted where they are
  SETT_LOG_DIR         keeps what removed containers had logged

` + role.CodesHelp + "\n"

// orchestrator is the role's state while the process lives.
type orchestrator struct {
	env       role.Env
	log       *slog.Logger
	board     *redis.Board
	settings  settings
	runtime   runtime.Runtime // where agents run; nil: somebody else runs them
	host      runtime.Runtime // where the keeper runs, if there is one; nil: we are a container
	pace      pace
	metrics   *metrics
	holder    string
	clan      *clan
	reachable *role.Reachable
	asker     *http.Client // asks cubs how they are
	found     *whereabouts // and where
}

// Run is the role's whole life.
func Run(ctx context.Context, e role.Env) error {
	if done, err := e.Arguments("orchestrator", Help); done {
		return err
	}
	s, err := parseSettings(e.Lookup)
	if err != nil {
		return role.Fail(role.Usage, err, "sett up starts the orchestrator with everything it needs; see sett orchestrator --help")
	}
	var host, place runtime.Runtime
	if s.StateDir != "" {
		host = process.New(process.Options{Dir: s.StateDir, Executable: s.Executable, Logger: logger(e, s), Now: e.Now})
		place = host
	}
	if s.containers() {
		engine, err := openEngine(ctx, e)
		if err != nil {
			return err
		}
		defer engine.Close()
		if s.StateDir == "" { // there is one container of our name
			s.Seat = seatAt(engine.Facts().ID, s.Instance)
		}
		place = docker.New(engine, docker.Options{Instance: s.Instance, Logs: s.LogDir, Logger: logger(e, s), Now: e.Now,
			HostReach: s.StateDir != "",
			Labels:    runtime.Labels{runtime.LabelRun: s.Run, runtime.LabelWorkspace: s.Workspace}})
	}
	return runIn(ctx, e, s, places{agents: place, host: host}, usualPace())
}

// places are where units run.
type places struct {
	agents runtime.Runtime // nil: somebody else runs them
	host   runtime.Runtime // where a keeper would run; nil: nowhere
}

// openEngine connects to the engine whose socket we were given.
func openEngine(ctx context.Context, e role.Env) (*docker.Engine, error) {
	at, err := docker.Find(e.Lookup)
	if err != nil {
		return nil, role.Fail(role.Environment, err, "sett up starts the orchestrator with the engine's socket")
	}
	engine, err := docker.Open(ctx, at)
	return engine, role.Fail(role.Environment, err, "sett up starts the orchestrator with the engine's socket")
}

func logger(e role.Env, s settings) *slog.Logger {
	return e.Logger("orchestrator").With("instance", s.Instance)
}

// runIn lives among places where units can run.
func runIn(ctx context.Context, e role.Env, s settings, at places, p pace) error {
	o := &orchestrator{env: e, log: logger(e, s), settings: s, runtime: at.agents, host: at.host, pace: p,
		metrics: newMetrics(), asker: newAsker(), found: newWhereabouts(), holder: s.Seat + e.NewID()}
	var err error
	if o.clan, err = loadClan(s.ConfigFile); err != nil {
		return role.Fail(role.Usage, err, "sett up writes the configuration anew")
	}
	if s.containers() && s.ownBlackboard() {
		awaitPort(ctx, s.Redis.URL)
	}
	o.board, err = redis.Open(ctx, redis.Options{
		URL: s.Redis.URL, Instance: s.Instance, Name: "orchestrator", Timeout: s.Redis.Timeout,
		Retries: s.Redis.BoardRetries(), CAFile: s.Redis.CAFile, Observe: o.metrics.registry.Called,
	})
	if err != nil {
		return role.Fail(role.Environment, err, "is the blackboard running? sett list shows it, sett logs blackboard why not")
	}
	defer o.board.Close()
	o.reachable = role.NewReachable(e.Now, s.Redis.GiveUp)
	return o.serve(ctx)
}

// serve runs the actors; the first to return stops all.
func (o *orchestrator) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	add := func(f func(context.Context) error) {
		g.Add(func() error { return f(ctx) }, func(error) { cancel() })
	}
	serve, err := o.serveHealth(ctx)
	if err != nil {
		return err
	}
	for _, f := range serve {
		add(f)
	}
	if o.host != nil {
		add(o.keepKeeper)
	}
	add(o.campaign)
	err = g.Run()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// campaign takes the lead when it is free, and leads until it is lost, for ever.
func (o *orchestrator) campaign(ctx context.Context) error {
	seat := o.seat() // only at first: who lost the lead waits for it like anybody
	for ctx.Err() == nil {
		lead, wait, err := o.board.TakeLead(ctx, o.holder, seat, o.settings.Lease)
		if err == nil { // also who waits has heard from the blackboard
			o.reachable.Back()
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			o.log.Warn("lead not taken", "error", err)
			if err := o.reachable.Lost(err); err != nil {
				return err
			}
			wait = time.Second
		case lead.Epoch != "":
			seat = ""
			o.log.Info("leading", "epoch", lead.Epoch, "version", o.env.Build.Version)
			o.metrics.leader.Set(1)
			err := newLeadership(o, lead).run(ctx)
			o.metrics.leader.Set(0)
			if err != nil && ctx.Err() == nil && !errors.Is(err, blackboard.ErrStale) {
				return err
			}
			o.log.Info("no longer leading", "epoch", lead.Epoch)
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(wait, o.pace.standby)):
		}
	}
	return ctx.Err()
}

// seat is where only one orchestrator can sit; empty when nobody makes sure of
// that.
func (o *orchestrator) seat() string {
	if o.runtime == nil {
		return ""
	}
	return o.settings.Seat
}

// keepKeeper restarts the keeper, which restarts us: of the two, one survives.
func (o *orchestrator) keepKeeper(ctx context.Context) error {
	units, err := o.host.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentKeeper})
	if err != nil || len(units) == 0 {
		<-ctx.Done() // nobody started one: not ours to begin
		return ctx.Err()
	}
	spec := runtime.Spec{Name: units[0].Name, Args: []string{"keeper"}, Env: env.WithoutUnit(o.env.Environ()), Labels: units[0].Labels}
	for ctx.Err() == nil {
		err := process.Keep(ctx, o.host, []runtime.Spec{spec}, process.KeepOptions{
			Logger: o.log, Stopping: func() bool { return o.stopping(ctx) },
		})
		if err != nil {
			return err
		}
		// Our own end is not ours to choose, and an `up` may come first.
		o.log.Info("keeper left alone: the instance is stopping")
		for ctx.Err() == nil && o.stopping(ctx) {
			select {
			case <-ctx.Done():
			case <-time.After(o.pace.tick):
			}
		}
	}
	return ctx.Err()
}

// stopping says whether the instance is being taken down, so that an end is no
// crash.
func (o *orchestrator) stopping(ctx context.Context) bool {
	s, err := o.board.State(ctx)
	return ctx.Err() != nil || (err == nil && s == redis.InstanceStopping)
}

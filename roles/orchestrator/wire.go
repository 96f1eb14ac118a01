// Package orchestrator is the role that opens claims and grants them. It does not
// read the contents of artefacts. The arbiter, a pure function, decides; this package
// loads the facts for a decision and applies it. Below it, supervisor and pool keep
// the agents running, and report tells how the instance is doing.
//
// Every duration is measured by one clock; a stamp of another clock is compared with
// stamps of the same one only:
//
//	lease of the lead, deadline of a heartbeat   the blackboard's, in its scripts
//	bid_timeout, question_timeout                the blackboard's (see clock), and ours from the first look on: what ends first
//	ages in list and watch                       the blackboard's
//	silence of an agent or worker                ours, from the first look at a new stamp
//	blackboard away, redis.give_up               ours
//	time to start, health checks, back-off       ours; for units of a former term, with their start as the
//	                                             runtime says it, which is on our host
//	timeout and duration of a tool               the cub's
//
// Ours and the cub's are monotonic: setting the clock does not change them.
//
// This file chooses where the blackboard is stored and where units run.
package orchestrator

import (
	"context"
	"log/slog"
	"net/url"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/blackboard/redis/archive"
	"sett/roles/orchestrator/pool"
	"sett/roles/orchestrator/report"
	"sett/roles/orchestrator/supervisor"
	"sett/roles/role"
	"sett/roles/role/repository"
	"sett/roles/view"
	"sett/runtime"
	"sett/runtime/docker"
	"sett/runtime/docker/engine"
	"sett/runtime/process"
)

// Run is the role's whole life.
func Run(ctx context.Context, e role.Env) error {
	if done, err := e.Arguments("orchestrator", Help); done {
		return err
	}
	s, err := parseSettings(e.Lookup)
	if err != nil {
		return role.Fail(role.Usage, err, "sett up starts the orchestrator with everything it needs; see sett orchestrator --help")
	}
	var at places
	if s.StateDir != "" {
		at.host = process.New(process.Options{Dir: s.StateDir, Executable: s.Executable, Logger: logger(e, s), Now: e.Now})
		at.agents = at.host
	}
	if s.containers() {
		open, err := openEngine(ctx, e)
		if err != nil {
			return err
		}
		defer open.Close()
		if s.StateDir == "" { // there is one container of our name
			s.Seat = seatAt(open.Facts().ID, s.Instance)
		}
		at.agents = docker.New(open, docker.Options{Instance: s.Instance, Logs: s.LogDir, Logger: logger(e, s), Now: e.Now,
			HostReach: s.StateDir != "",
			Labels:    runtime.Labels{runtime.LabelRun: s.Run, runtime.LabelWorkspace: s.Workspace}})
	}
	return runIn(ctx, e, s, at, usualPace())
}

// places are the places where units run.
type places struct {
	agents runtime.Runtime // nil: somebody else runs them
	host   runtime.Runtime // of a keeper; nil: there is none
}

// openEngine connects to the container engine.
func openEngine(ctx context.Context, e role.Env) (*engine.Engine, error) {
	at, err := engine.Find(e.Lookup)
	if err != nil {
		return nil, role.Fail(role.Environment, err, "sett up starts the orchestrator with the engine's socket")
	}
	open, err := engine.Open(ctx, at)
	return open, role.Fail(role.Environment, err, "sett up starts the orchestrator with the engine's socket")
}

func logger(e role.Env, s settings) *slog.Logger {
	return e.Logger("orchestrator").With("instance", s.Instance)
}

// runIn runs with the given places for units.
func runIn(ctx context.Context, e role.Env, s settings, at places, p pace) error {
	o := &orchestrator{env: e, log: logger(e, s), settings: s, places: at, pace: p, metrics: report.NewMetrics(), holder: s.Seat + e.NewID(),
		overruns: make(chan blackboard.Overrun, 16)}
	var err error
	if o.clan, err = loadClan(s.ConfigFile); err != nil {
		return role.Fail(role.Usage, err, "sett up writes the configuration anew")
	}
	if s.containers() && s.ownBlackboard() {
		awaitPort(ctx, s.Redis.URL)
	}
	seen := sightBeside(s.ConfigFile)
	o.reachable = role.NewReachable(e.Now, s.Redis.GiveUp)
	b, err := redis.Open(ctx, redis.Options{
		URL: s.Redis.URL, Instance: s.Instance, Name: "orchestrator", Sett: e.Build.Name(), Timeout: s.Redis.Timeout,
		Retries: s.Redis.BoardRetries(), CAFile: s.Redis.CAFile, Mend: true, Mark: seen.after(s.Redis.Mark), Observe: o.reachable.Observing(o.metrics.Registry.Called),
		Converting: converting(o.log),
		Overruns:   redis.Overruns{Ended: o.overran, Failed: o.overrunStays, Restart: s.BoardAddr != "" || s.containers() && s.ownBlackboard()},
	})
	if err != nil {
		return role.NotOpened(err, "is the blackboard running? sett list shows it, sett logs blackboard why not")
	}
	defer b.Close()
	o.use(b)
	if s.RepositoryURL != "" {
		o.repository = repository.NewSweeper(s.RepositoryURL, s.RepositoryKey)
		o.lander = repository.NewLander(s.RepositoryURL, s.RepositoryKey)
	}
	o.saw = func() {
		if err := seen.keep(b.Known()); err != nil {
			o.log.Debug("sight of the blackboard not kept", "error", err)
		}
	}
	return o.serve(ctx)
}

// converting logs that the records of an older sett are waited for, and the end of that.
func converting(log *slog.Logger) func(waits bool) {
	return func(waits bool) {
		if waits {
			log.Warn("waiting: sett up has to convert the records of an older sett; if none is running, run sett up")
			return
		}
		log.Info("the records are converted; going on")
	}
}

// use wires the orchestrator to its blackboard.
func (o *orchestrator) use(b *redis.Board) {
	o.board = board{lead: b.Leader, records: b.Records, decisions: b.Leader, conflicts: b.Leader, coursesPut: b.Leader, landings: landingBoard{b.Leader, b.Index, b.Records}, openWork: b.Index.OpenWork, serverTime: b.ServerTime,
		recorded: func(ctx context.Context, a blackboard.Artefact) error { return archive.Recorded(ctx, b, a) }}
	o.removed = removed{look: b.Ledger.Removed, log: o.log}
	o.listen = func(ctx context.Context, ready func(), notice func(string), lost func(error)) error {
		return b.Subscribe(ctx, []redis.Channel{redis.OrchestratorEvents}, ready, func(_ redis.Channel, id string) { notice(id) }, lost)
	}
	o.stopping = func(ctx context.Context) bool {
		s, err := b.State(ctx)
		return ctx.Err() != nil || (err == nil && s == blackboard.InstanceStopping)
	}
	var units report.Units
	if o.settings.containers() {
		units = o.places.agents
	}
	o.tracer = &tracer{log: o.log, clan: o.clan, changed: make(chan struct{}, 1),
		board:  view.Board{Moment: b, Artefacts: b.Records, Claims: b.Records, Index: b.Index, Landing: b.Index, Roster: b.Roster, Calls: b.Calls},
		ledger: b.Ledger, serverTime: b.ServerTime, instance: o.settings.Instance, version: o.env.Build.String(), values: o.settings.Values,
		inside: o.settings.containers() && o.settings.StateDir == "", pace: usualTracePace(), metrics: o.metrics}
	cubs := report.NewCubs(b.Roster, units, o.settings.anchorName)
	o.report = report.Options{
		Instance: o.settings.Instance, Run: o.settings.Run, Addr: o.settings.HealthAddr, Patient: o.settings.StateDir != "",
		Tick: o.pace.tick, Retry: o.pace.standby, Log: o.log, Now: o.env.Now, Config: o.clan.get,
		Board: marked{b}, Presences: b.Roster, Ledger: b.Ledger, Cubs: cubs, Repository: hostOf(o.settings.RepositoryURL), ModelGateway: hostOf(o.settings.GatewayURL), Metrics: o.metrics, Build: o.env.Build.Info(),
	}
	if o.places.agents != nil {
		o.newStaff = func(t *term) *staff { return o.staffOf(t, b, cubs) }
	}
}

// landingBoard is the part of the blackboard that landings use.
type landingBoard struct {
	redis.Leader
	index
	workflows
}

// index and workflows are reads of it.
type index interface {
	OpenLandings(ctx context.Context) ([]string, error)
	WorkflowArtefacts(ctx context.Context, workflow string) ([]string, error)
}

type workflows interface {
	Workflow(ctx context.Context, id string) (blackboard.Workflow, error)
	Outlines(ctx context.Context, ids []string) ([]blackboard.Outline, []error, error)
}

// marked is the board of health checks: one that is not the instance's is ill.
type marked struct{ *redis.Board }

// Ping says whether the board answers and is the one of before.
func (m marked) Ping(ctx context.Context) error {
	if err := m.Board.Ping(ctx); err != nil {
		return err
	}
	_, err := m.Look(ctx)
	return err
}

// staffOf makes the supervisor and the pool of a term.
func (o *orchestrator) staffOf(t *term, b *redis.Board, cubs *report.Cubs) *staff {
	units := specs{env: o.env, settings: o.settings, known: b.Known}
	loop, incarnations := supervisor.NewLoop(), supervisor.NewIncarnations()
	launcher := supervisor.NewLauncher(o.log, o.places.agents, units, incarnations)
	orphans := &supervisor.Orphans{Log: o.log, Config: o.clan.get, Running: b.Roster.Running, Snapshot: b.Records.Snapshot, Grants: t,
		Crashed: func(agent string) { crashed(t, agent) }, Incarnations: incarnations}
	workers := pool.New(pool.Options{
		Log: o.log, Now: o.env.Now, Config: o.clan.get, Stopping: o.stopping, Backoff: o.pace.backoff, Epoch: t.lead.Epoch,
		Spec:   units.Worker,
		Decide: t.Decide, Snapshot: b.Records.Snapshot, Registered: b.Roster.Workers, Board: b.Leader,
		Launcher: launcher, Orphans: orphans, Loop: loop,
	})
	agents := supervisor.New(supervisor.Options{
		Log: o.log, Now: o.env.Now, Config: o.clan.get, Stopping: o.stopping, Since: o.env.Now(), Steady: o.reachable.SteadySince,
		Tick: o.pace.tick, Pace: o.pace.units, Backoff: o.pace.backoff,
		Place: o.places.agents, Specs: units, Loop: loop, Launcher: launcher, Orphans: orphans, Incarnations: incarnations,
		Roster: b.Roster, ForgetWorker: b.Leader.ForgetWorker, ServerTime: b.ServerTime, Goodbye: b.Cub.Goodbye, ForgetNotified: b.Ledger.ForgetNotified,
		Prober: cubs, Metrics: o.metrics, Pool: workers, Workers: workers,
	})
	return &staff{supervise: agents.Run, wake: loop.Wake, offer: workers.Offer, runs: incarnations.Runs, end: agents.EndAgent}
}

// keep restarts units until the instance is stopping.
func keep(ctx context.Context, host runtime.Runtime, s runtime.Spec, log *slog.Logger, stopping func() bool) error {
	return process.Keep(ctx, host, []runtime.Spec{s}, process.KeepOptions{Logger: log, Stopping: stopping})
}

// agentURL is the blackboard's address for an agent, with the agent's own user.
func (s settings) agentURL(agent string) (string, error) {
	return s.unitURL(func(at, admin string) (string, error) { return redis.AgentURL(at, admin, agent) })
}

// notifierURL is the blackboard's address for the notifier.
func (s settings) notifierURL() (string, error) { return s.unitURL(redis.NotifierURL) }

// gatewayURL is the blackboard's address for the model gateway.
func (s settings) gatewayURL() (string, error) { return s.unitURL(redis.GatewayURL) }

// hostOf is the host and the port of a role's URL; empty: it has none.
func hostOf(base string) string {
	at, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return at.Host
}

// ownBlackboard says whether the blackboard is one of the instance's containers,
// and not somewhere outside its networks.
func (s settings) ownBlackboard() bool {
	at, err := url.Parse(s.AgentsRedis)
	return err == nil && at.Hostname() == redis.Host(s.Instance)
}

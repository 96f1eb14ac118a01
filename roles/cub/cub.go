// Package cub is an agent's entrypoint: it bids on claims for its agent, runs the
// agent's tool on the grants it gets, and hands in what the tool produced. The
// tool never talks to the blackboard, and never sees its credentials.
package cub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/run"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/cub/worktree"
	"sett/roles/role"
)

// Help is the role's help page.
const Help = `Usage: sett cub [--execute-claim ID | --standby]

An agent's entrypoint: bids on claims, runs the agent's tool on what it is
granted, and writes the tool's output to the blackboard. An agent with strategy
fresh_per_call only bids; each of its grants is run by a worker, which works on
that one claim and exits: started as "cub --execute-claim ID", or warm, as
"cub --standby", which waits until it is assigned its claim.

In a container it is the entrypoint, process 1, and reaps what tools leave
behind; the name "cub" alone will do. It is started by the orchestrator and
configured by environment variables:

  SETT_INSTANCE_NAME      the instance's name (required)
  SETT_AGENT_NAME         the agent's name in sett.yml (required)
  REDIS_URL               the blackboard: redis://[user:password@]host:port[/db] (required)
  SETT_AGENT_COMMAND      the tool, a JSON array: ["/app/run.sh"] (required)
  SETT_AGENT_ROLE         its role; default: the agent's name
  SETT_AGENT_STRATEGY     reuse (default) or fresh_per_call
  SETT_AGENT_BIDS         what to bid by artefact type, a JSON array: [{"type":"Code*","bid":"review"}]
  SETT_AGENT_BID_SCRIPT   a command that says what to bid, a JSON array
  SETT_AGENT_TIMEOUT      of one run of the tool; default 5m
  SETT_STOP_GRACE_PERIOD  for a running tool when the cub is stopped; default 10s
  SETT_WORKSPACE          the tool's directory, where the repository is; default /workspace
  SETT_WORKSPACE_MODE     ro (default) or rw
  SETT_TOOL_NETWORK       what the tool may reach: none, internal or full (default); the cub itself
                          enforces none, the others are the container's networks
  SETT_INCARNATION        by which it holds its grants; default: a new id
  SETT_PROMPT_CLAIM, SETT_PROMPT_EXECUTION   passed on to the tool
  SETT_HEALTH_ADDR        of /healthz and /metrics; default :8080, "off" for none
  SETT_REDIS_TIMEOUT, SETT_REDIS_RETRIES, SETT_REDIS_GIVE_UP, SETT_REDIS_CA_FILE
  SETT_LOG_FORMAT         json or text
  SETT_LOG_LEVEL          debug, info, warn or error

The first signal (INT or TERM) lets a running tool finish within the grace
period; the second ends it and hands the work back.

` + role.CodesHelp + "\n"

// presence of an agent on the blackboard.
const (
	beatEvery = 4 * time.Second
	aliveFor  = 12 * time.Second
	tick      = 5 * time.Second // how often open work is read again, in case a notice was lost
)

// mode is what a cub does of the two things a cub can do.
type mode string

const (
	standard    mode = "standard"
	bidderOnly  mode = "bidder-only"
	executeOnly mode = "execute-only"
	standby     mode = "standby" // execute-only, once it is told its claim
)

// cub is the role's state while the process lives.
type cub struct {
	env       role.Env
	settings  env.Cub
	mode      mode
	errand    *errand // of a worker
	log       *slog.Logger
	board     *redis.Board
	runner    toolrun.Runner
	tree      *worktree.Tree
	metrics   *metrics
	reachable *role.Reachable
	health    string
	grants    *inbox        // claims granted to this agent
	due       *inbox        // claims that await its bid
	look      chan struct{} // asks for what is open to be read; has room for one
	orphans   chan struct{} // asks whether a dead writer's tree is to be put back; likewise
	connected chan struct{} // says that notices come in, from now on or again; likewise
	hears     atomic.Bool   // whether they ever did
	scripts   *scripts
	hints     hints  // what notices said about them
	made      recent // on which it has bid
	executor  *executor
	gitless   sync.Once // it has been said that there is no git
}

// Run is the role's whole life.
func Run(ctx context.Context, e role.Env) error { return RunWith(ctx, e, toolrun.New()) }

// RunWith is Run with another way to run tools.
func RunWith(ctx context.Context, e role.Env, runner toolrun.Runner) error {
	if role.WantsHelp(e.Args) {
		_, err := fmt.Fprint(e.Stdout, Help)
		return err
	}
	settings, err := env.ParseCub(e.Lookup)
	if err != nil {
		return role.Fail(role.Usage, err, "see sett cub --help for what a cub is started with")
	}
	c := &cub{env: e, settings: settings, mode: standard, runner: runner, metrics: newMetrics()}
	if err := c.chooseMode(); err != nil {
		return err
	}
	if settings.Incarnation == "" {
		c.settings.Incarnation = e.NewID()
	}
	c.log = e.Logger("cub").With("instance", settings.Instance, "agent", settings.Agent)
	c.protect()
	c.board, err = redis.Open(ctx, redis.Options{
		URL: settings.Redis.URL, Instance: settings.Instance, Name: "cub-" + settings.Agent,
		Timeout: settings.Redis.Timeout, Retries: settings.Redis.BoardRetries(), CAFile: settings.Redis.CAFile,
		Observe: c.metrics.registry.Called,
	})
	if err != nil {
		return role.Fail(role.Environment, err, "is the blackboard running, and REDIS_URL right?")
	}
	defer c.board.Close()
	c.reachable = role.NewReachable(e.Now, settings.Redis.GiveUp)
	c.metrics.watch(c)
	if c.tree = worktree.New(settings.Workspace); c.noNetwork() {
		c.tree = c.tree.WithoutNetwork()
	}
	c.grants, c.due, c.scripts = newInbox(), newInbox(), newScripts()
	c.look, c.orphans, c.connected = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	c.executor = newExecutor(c)
	return c.serve(ctx)
}

// noNetwork says whether the tool is kept off the network.
func (c *cub) noNetwork() bool { return c.settings.Network == config.NetworkNone }

func (c *cub) chooseMode() error {
	switch args := c.env.Args; {
	case len(args) == 0 && c.settings.Fresh:
		c.mode = bidderOnly
	case len(args) == 0:
	case len(args) == 2 && args[0] == "--execute-claim" && args[1] != "":
		c.mode, c.errand = executeOnly, newErrand(args[1])
	case len(args) == 1 && args[0] == "--standby":
		c.mode, c.errand = standby, newErrand("")
	default:
		return role.Fail(role.Usage, fmt.Errorf("unknown arguments %q", args), "usage: sett cub [--execute-claim ID | --standby]")
	}
	return nil
}

// protect keeps the blackboard's credentials from the tool, makes this process the
// parent of whatever a tool leaves behind, and has it outlive a tool that takes all
// that its container has.
func (c *cub) protect() {
	toolrun.Fortify()
	if err := toolrun.ScrubEnv(env.Secret...); err != nil {
		c.log.Warn("credentials less protected than they could be", "error", err)
	}
	if err := toolrun.Protect(); err != nil {
		c.log.Warn("credentials less protected than they could be", "error", err)
	}
	if err := toolrun.BecomeReaper(); err != nil {
		c.log.Warn("processes that leave the tool's session may stay behind", "error", err)
	}
}

// serve runs the actors of the mode; the first to return stops all. Those that
// work stop at once, up to the grace of a running tool. Until the last of them
// has, the others go on: the cub stays alive to the orchestrator, and hears that
// a grant was cancelled.
func (c *cub) serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var g run.Group
	var worked error // how the last of those that work ended
	add := func(f func(context.Context) error) {
		g.Add(func() error { return f(life) }, func(error) { stop() })
	}
	work := func(f func(context.Context) error, last bool) {
		g.Add(func() error {
			err := f(ctx)
			if last {
				worked = err
				end()
			}
			return err
		}, func(error) { stop() })
	}
	c.health = "off"
	if c.settings.HealthAddr != "off" {
		h, err := role.ListenHealth(c.settings.HealthAddr, role.HealthOptions{
			Check: c.board.Ping, Metrics: c.metrics.registry, Instance: c.settings.Instance,
		})
		if err != nil {
			return err
		}
		c.health = h.Addr()
		add(h.Serve)
	}
	add(func(ctx context.Context) error { toolrun.ReapOrphans(ctx); return ctx.Err() })
	add(c.listen)
	if c.mode.works() {
		add(c.beatWorker)
	} else {
		add(c.beat)
		work(c.bidAll, c.mode == bidderOnly)
	}
	if c.mode != bidderOnly {
		work(c.executor.run, true)
	}
	c.log.Info("cub started", "mode", c.mode, "incarnation", c.settings.Incarnation, "health", c.health, "pid", os.Getpid())
	err := g.Run()
	if errors.Is(err, context.Canceled) { // told to stop: what counts is how the work ended
		err = worked
	}
	if !c.mode.works() {
		c.signOff(ctx)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, errOneClaimDone) {
		err = nil
	}
	c.log.Info("cub stopped", "error", err)
	return err
}

func (c *cub) signOff(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = c.board.Goodbye(ctx, c.settings.Agent, c.settings.Incarnation, "stopped") // without Redis nobody is there to be told
}

// beat registers the agent and keeps it registered.
func (c *cub) beat(ctx context.Context) error {
	p := redis.Presence{
		Incarnation: c.settings.Incarnation, Mode: string(c.mode), Version: c.env.Build.Version, PID: os.Getpid(),
		Health: c.health, Run: c.settings.Run, Config: c.settings.ConfigDigest, Since: c.env.Now().UTC().Format(time.RFC3339),
	}
	registered := false
	return c.everyBeat(ctx, func() error {
		if registered {
			return c.board.Beat(ctx, c.settings.Agent, c.settings.Incarnation, aliveFor)
		}
		err := c.board.Hello(ctx, c.settings.Agent, p, aliveFor)
		registered = err == nil
		return err
	})
}

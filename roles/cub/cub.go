// Package cub is an agent's entrypoint: it bids on claims for its agent, runs the
// agent's tool on the agent's grants, and records the tool's results. The tool never
// talks to the blackboard, and never sees its credentials.
package cub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/run"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cub/assemble"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

// Help is the role's help page.
const Help = `Usage: sett cub [--execute-claim ID | --standby | --once DIR]

An agent's entrypoint: bids on claims, runs the agent's tool on its grants, and
writes the tool's output to the blackboard. An agent with strategy
fresh_per_call only bids; a worker runs each of its grants, and exits after that
one claim. A worker starts as "cub --execute-claim ID", or warm as
"cub --standby", and then waits for the assignment of its claim.
"cub --once DIR" runs one program for sett try --container, and no more.

In a container it is the entrypoint, process 1, and reaps the processes that
tools leave behind; the name "cub" alone starts it, too. The orchestrator starts
it and configures it by environment variables:

  SETT_INSTANCE_NAME      the instance's name (required)
  SETT_AGENT_NAME         the agent's name in sett.yml (required)
  REDIS_URL               the blackboard (required):
                          redis://[user:password@]host:port[/db]
  SETT_AGENT_COMMAND      the tool, a JSON array: ["/app/run.sh"] (required)
  SETT_AGENT_ROLE         its role; default: the agent's name
  SETT_AGENT_STRATEGY     reuse (default) or fresh_per_call
  SETT_AGENT_BIDS         the bids by artefact type, a JSON array:
                          [{"type":"Code*","bid":"review"}]
  SETT_AGENT_BID_SCRIPT   a command that prints a bid, a JSON array
  SETT_AGENT_BIDS_REQUIRED  true: the claim waits when the script fails
  SETT_AGENT_TIMEOUT      of one run of the tool; default 5m
  SETT_STOP_GRACE_PERIOD  for a running tool when the cub stops; default 10s
  SETT_WORKSPACE          the tool's directory; default /workspace
  SETT_WORKSPACE_MODE     of the tool's private tree: ro, rw or none (default)
  SETT_REPOSITORY_URL     of the role repository, which prepares the tree;
                          required unless the mode is none
  SETT_REPOSITORY_TOKEN   the agent's token there; required with it
  SETT_TREE               the tree's name; default: the agent's name
  SETT_AGENT_SLOTS        for several grants at once the place of each, a JSON
                          array: [{"workspace":"/src/1","tree":"a.slot-1"}]
  SETT_TOOL_NETWORK       none, internal or full (default); the cub enforces
                          none, the networks of the container the others
  SETT_TOOL_WALLS         the places that a tool of local mode reaches, a JSON
                          object: {"write":[…],"hide":…,"read":[…],"tmp":…}
  SETT_TRACES             on: the tool gets TRACEPARENT; default: off
  SETT_PIN                directory of the clan's pinned files; tools get it
  SETT_PIN_DIGEST         of those files, for the ledger
  SETT_AGENT_LACKS        a program of its commands that the repository has not
  SETT_INCARNATION        the holder of its grants; default: a new id
  SETT_CONFIG_DIGEST      of the agent's part of sett.yml, for the ledger
  SETT_AGENT_IMAGE        id of the container's image, for the ledger
  SETT_PROMPT_CLAIM       the tool gets it
  SETT_PROMPT_EXECUTION   the tool gets it
  SETT_MODEL_GATEWAY      URL of the model gateway; empty: there is no model
  SETT_MODEL_TOKEN        the agent's token there; required with it
  SETT_MODEL              the model's name at its provider; required with it
  SETT_MODEL_API          chat (default), messages or responses
  SETT_MODEL_DOOR         off: the tool gets no variables of the door
  SETT_ON_BUDGET          fail (default), or ask a person
  SETT_LLM                settings of sett llm, a JSON object
  SETT_HEALTH_ADDR        of /healthz and /metrics; default :8080; off: none
  SETT_REDIS_TIMEOUT      of one call; default 2s
  SETT_REDIS_RETRIES      of one call; default 5
  SETT_REDIS_GIVE_UP      without Redis for so long, the cub ends; default 5m
  SETT_REDIS_CA_FILE      PEM file, for rediss://
  SETT_BOARD_MARK         the blackboard that it knows; on another the cub ends
  SETT_LOG_FORMAT         json or text
  SETT_LOG_LEVEL          debug, info, warn or error

The first signal (INT or TERM) lets a running tool finish within the grace
period; the second ends it and hands the work back.

Exit codes: sett --help
`

// Times of an agent's presence on the blackboard.
const (
	beatEvery = 4 * time.Second
	aliveFor  = 12 * time.Second
	tick      = 5 * time.Second // between two reads of open work, in case a notice was lost
)

// mode is the part of a cub's work that it does: bid, execute or both.
type mode string

const (
	standard    mode = "standard"
	bidderOnly  mode = "bidder-only"
	executeOnly mode = "execute-only"
	standby     mode = "standby" // execute-only, after the assignment of its claim
)

// state is the part of a cub that its crew uses, too.
type state struct {
	env        role.Env
	settings   env.Cub
	mode       mode
	assignment *assignment // of a worker
	log        *slog.Logger
	board      board
	runner     toolrun.Runner
	metrics    *metrics
	reachable  *role.Reachable
	grants     *inbox                 // claims granted to this agent
	program    toolrun.Program        // the agent's command, by digest
	ran        atomic.Bool            // its tool could be started
	memory     assemble.Memory        // of artefacts, for all slots
	scripting  sync.RWMutex           // held for reading while a bid script runs
	harmed     chan error             // ends the cub; has room for one
	trouble    atomic.Pointer[string] // the reason that the newest bid could not be evaluated; nil: it could
}

// cub is the role's state while the process lives.
type cub struct {
	*state
	health    string
	due       *inbox        // claims that wait for this agent's bid
	look      chan struct{} // asks for a look at the open work; has room for one
	connected chan struct{} // says that notices arrive, for the first time or again; has room for one
	hears     atomic.Bool   // notices have arrived
	scripts   *scripts
	noBids    noBids       // answers to them that were no bids
	models    *scripts     // questions to the model
	modelHTTP *http.Client // to the model gateway
	hints     hints        // from notices about due claims
	made      recent       // claims with a bid
	crew      *crew
}

// newCub returns a cub with its inboxes and its crew, which asks for its trees by name;
// nil: the tool has none.
func newCub(s *state, ask func(tree string) trees) *cub {
	s.grants, s.harmed = newInbox(), make(chan error, 1)
	return &cub{state: s, due: newInbox(), scripts: newScripts(), models: newScripts(), modelHTTP: gatewayClient(), look: make(chan struct{}, 1), connected: make(chan struct{}, 1),
		crew: newCrew(s, ask)}
}

// harm ends the cub after a tool did damage to it that cannot be undone. A new cub in a
// new container has all its limits again.
func (c *state) harm(damage string) error {
	err := fmt.Errorf("%w: %s", errHarmed, damage)
	select {
	case c.harmed <- err:
	default:
	}
	return err
}

// awaitHarm returns the first harm.
func (c *state) awaitHarm(ctx context.Context) error {
	select {
	case err := <-c.harmed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noNetwork says whether the tool has no network.
func (c *state) noNetwork() bool { return c.settings.Network == config.NetworkNone }

func (c *state) chooseMode() error {
	switch args := c.env.Args; {
	case len(args) == 0 && c.settings.Fresh:
		c.mode = bidderOnly
	case len(args) == 0:
	case len(args) == 2 && args[0] == "--execute-claim" && args[1] != "":
		c.mode, c.assignment = executeOnly, newAssignment(args[1])
	case len(args) == 1 && args[0] == "--standby":
		c.mode, c.assignment = standby, newAssignment("")
	default:
		return role.Fail(role.Usage, fmt.Errorf("unknown arguments %q", args), "usage: sett cub [--execute-claim ID | --standby]")
	}
	return nil
}

// protect keeps the blackboard's credentials from the tool, makes this process the
// parent of processes that a tool leaves behind, and lets it outlive a tool that
// uses up its container's resources.
func (c *state) protect() {
	toolrun.Fortify()
	if err := role.ScrubEnv(env.Secret...); err != nil {
		c.log.Warn("credentials are less protected than possible", "error", err)
	}
	if err := toolrun.Protect(); err != nil {
		c.log.Warn("credentials are less protected than possible", "error", err)
	}
	if err := toolrun.BecomeReaper(); err != nil {
		c.log.Warn("processes that leave the tool's session may outlive it", "error", err)
	}
}

// serve runs the actors of the mode; the first to return stops all. The working
// actors stop at once, up to the grace of a running tool. The other actors go on
// until the last of those has stopped: the cub stays alive for the orchestrator, and
// hears of a cancelled grant.
func (c *cub) serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var g run.Group
	var worked error // the error of the last working actor
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
			Check: c.check, Metrics: c.metrics.registry, Instance: c.settings.Instance,
		})
		if err != nil {
			return err
		}
		c.health = h.Addr()
		add(h.Serve)
	}
	add(func(ctx context.Context) error { toolrun.ReapOrphans(ctx); return ctx.Err() })
	add(c.listen)
	add(c.awaitHarm)
	if c.mode.works() {
		add(c.beatWorker)
	} else {
		add(c.beat)
		work(c.bidAll, c.mode == bidderOnly)
	}
	if c.mode != bidderOnly {
		work(c.crew.run, true)
	}
	c.log.Info("cub started", "mode", c.mode, "incarnation", c.settings.Incarnation, "health", c.health, "pid", os.Getpid())
	err := g.Run()
	if errors.Is(err, context.Canceled) { // told to stop: the end of the work counts
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
	_ = c.board.presence.Goodbye(ctx, c.settings.Agent, c.settings.Incarnation, "stopped") // without Redis there is nobody to tell
}

// beat registers the agent and keeps it registered.
func (c *cub) beat(ctx context.Context) error {
	p := blackboard.Presence{
		Incarnation: c.settings.Incarnation, Mode: string(c.mode), Version: c.env.Build.Version, PID: os.Getpid(),
		Health: c.health, Run: c.settings.Run, Config: c.settings.ConfigDigest, Since: c.env.Now().UTC().Format(time.RFC3339),
	}
	registered := false
	return c.everyBeat(ctx, func(ctx context.Context) error {
		trouble := c.troubleText()
		why, fails := unfit(c.settings, c.ran.Load())
		if p.Unfit = trouble == "" && fails; trouble == "" {
			trouble = why
		}
		if registered && trouble == p.Trouble {
			err := c.board.presence.Beat(ctx, c.settings.Agent, c.settings.Incarnation, aliveFor)
			if !errors.Is(err, blackboard.ErrRefused) { // else the registration is lost
				return err
			}
		}
		p.Trouble = trouble
		err := c.board.presence.Hello(ctx, c.settings.Agent, p, aliveFor)
		registered = err == nil
		return err
	})
}

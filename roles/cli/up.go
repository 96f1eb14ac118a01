package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
)

type upCmd struct {
	Runtime  string        `enum:",docker,process" default:"" placeholder:"docker|process" help:"Where agents run, instead of what sett.yml says."`
	Timeout  time.Duration `default:"60s" placeholder:"DURATION" help:"How long it may take until every agent is ready, not counting images; 0 for as long as it takes (default 60s)."`
	RedisURL string        `name:"redis-url" placeholder:"URL" help:"Use this Redis as the blackboard, instead of what sett.yml says."`
	Embedded bool          `help:"With containers: use sett's own blackboard instead of Redis, which needs no image."`
	DryRun   bool          `help:"Only say what would be done."`
	Host     string        `name:"orchestrator" enum:",container,host" default:"" placeholder:"container|host" help:"Where the orchestrator runs when agents are containers; on the host, no container gets the engine's socket."`
	outputs
}

// Help is shown by `sett up --help`.
func (upCmd) Help() string {
	return `Starts the clan of sett.yml in the background: the blackboard, the orchestrator and
one cub per agent, and waits until every agent is ready. They survive the terminal;
sett down ends them. If something does not start, nothing is left running.

Agents run in containers of the engine that DOCKER_HOST or the current Docker context
names, or of the first that is found: Docker's, a rootless one, Podman's. Images that
are not there are pulled or built; sett itself needs none. Where this machine is not
Linux, what SETT_LINUX_BINARY names goes into the containers, or sett-linux-ARCH
beside this program. With --runtime process agents are programs of this machine,
which needs no engine and isolates nothing. An instance stays where it was started, if
neither --runtime nor sett.yml says where agents run.

For an instance that runs already, sett up shows what changed in sett.yml and
applies just that. With --dry-run it does neither: it says what would be started,
stopped, pulled and built, in the form that -o names, and ends as sett up would where
that would not even begin. Whether an image can be pulled is not tried.

Examples: sett up
          sett up --runtime process
          sett up --dry-run -o json
          sett up --timeout 10s -f other.yml --name other`
}

// errTooLong is why the context of an up ends when the time is over.
var errTooLong = errors.New("time is over")

// upping is one `sett up` at work. It holds the instance's lock.
type upping struct {
	a       *app
	c       *config.Config
	in      *instance
	place   place
	launch  launcher
	board   *redis.Board // nil until it answers
	began   time.Time
	timeout time.Duration
	adopt   bool   // the instance ran before
	kept    bool   // where it runs is neither sett.yml's word nor a flag's, but as before
	other   string // it runs with this other sett; empty: with this one
	plan    *plan  // nil: this is no dry run
}

// launcher is what differs at a sett up between the places where agents run.
type launcher interface {
	// taken returns whose instance of that name there is besides those of this user's
	// state directory: its workspace; empty: there is none.
	taken(ctx context.Context, name string) (workspace string, err error)
	// provide makes sure that there is everything to run with, and completes the
	// configuration and the state. It starts nothing.
	provide(ctx context.Context) error
	// user is by which name the blackboard of our own knows us.
	user() string
	// ahead begins to start what will find the blackboard by itself, beside that. The
	// function it returns waits for it, and can be called again.
	ahead(ctx context.Context) (wait func() error)
	startBlackboard(ctx context.Context) (runtime.Unit, error)
	startOrchestrator(ctx context.Context) error
	// update hands what changed to the parts that run, and starts what does not.
	// The position is where in the ledger to look for a new orchestrator's entry;
	// empty: the present one goes on.
	update(ctx context.Context, c config.Changes) (position string, err error)
	// abandon removes what a failed start leaves besides units.
	abandon(ctx context.Context) error
	// foresee completes the plan of a dry run with what is special about this place.
	foresee(ctx context.Context) error
	// done ends what only the up itself needed.
	done()
	// blackboardDetail says which blackboard of our own is in use.
	blackboardDetail() string
	// notes are what there is to know about this place, once.
	notes() []string
}

// Run starts the instance, or applies what changed to a running one.
func (c *upCmd) Run(a *app) error {
	if c.DryRun {
		return c.foresee(a)
	}
	if !c.forPeople() {
		return role.Fail(role.Usage, errors.New("-o goes with --dry-run"), "sett list -o %s says how what was started is", c.Output)
	}
	u := &upping{a: a, began: a.Now(), timeout: c.Timeout}
	if err := keepDescriptors(); err != nil {
		return err
	}
	root, path, err := u.begin(c)
	if err != nil {
		return err
	}
	defer u.launch.done()
	in, release, err := a.claimInstance(a.ctx, root, u.launch.taken, lockDir)
	if err != nil {
		return err
	}
	defer in.letGo(release)
	u.in = in
	if err := u.run(root, path); err != nil {
		return u.explain(err)
	}
	return u.conclude()
}

// begin reads the configuration and finds the workspace, and what is to launch the
// clan there.
func (u *upping) begin(c *upCmd) (root, path string, err error) {
	if u.c, path, err = u.configuration(c); err != nil {
		return "", path, err
	}
	if root, err = u.a.workspace(u.a.ctx); err != nil {
		return "", path, err
	}
	u.launch, err = newLauncher(u.a.ctx, u, root)
	return root, path, err
}

// newLauncher returns what starts an instance where its configuration wants it.
func newLauncher(ctx context.Context, u *upping, root string) (launcher, error) {
	if u.c.Runtime == config.RuntimeDocker {
		return newContainerLauncher(ctx, u, root)
	}
	return &processLauncher{u}, nil
}

// run does the work, the instance being locked.
func (u *upping) run(root, path string) (err error) {
	ctx, cancel := bounded(u.a.ctx, u.timeout, errTooLong)
	defer cancel()
	if err := u.finishDown(ctx); err != nil {
		return u.inTime(ctx, err)
	}
	if err := u.provide(ctx, root, path); err != nil {
		return err
	}
	ctx, cancel = bounded(u.a.ctx, u.timeout, errTooLong) // images take what they take
	defer cancel()
	if u.adopt {
		err = u.apply(ctx)
	} else {
		err = u.start(ctx)
	}
	if u.board != nil {
		u.board.Close()
	}
	return u.inTime(ctx, err)
}

// provide settles what the instance is, and sees to all that there has to be before
// anything is started.
func (u *upping) provide(ctx context.Context, root, path string) (err error) {
	u.in.Workspace, u.in.ConfigFile, u.in.Runtime = root, path, u.c.Runtime
	if u.adopt {
		u.other = u.a.otherSett(u.in)
	} else {
		u.in.Run, u.in.StartedAt, u.in.Sett = u.a.NewID(), u.began.UTC(), u.a.builtAs()
	}
	if err := u.launch.provide(u.a.ctx); err != nil {
		return err
	}
	u.place, err = u.a.place(ctx, u.in)
	return err
}

// configuration reads sett.yml as the flags want it, with the variables that
// agents inherit filled in. Where neither says where agents run, the instance that
// there is stays where it is: elsewhere it would have another, empty ledger.
func (u *upping) configuration(c *upCmd) (*config.Config, string, error) {
	a, before, said := u.a, "", false
	if in, err := a.instance(a.ctx); err == nil { // which it is, who locks it finds out
		before = in.Runtime
	}
	cfg, path, err := a.configuration(a.ctx, config.WithRuntime(c.Runtime), config.DefaultRuntime(before), config.NoteRuntime(&said))
	if err != nil {
		return nil, path, err
	}
	u.kept = c.Runtime == "" && !said && before == config.RuntimeProcess
	if c.RedisURL != "" {
		cfg.Redis.URL, cfg.Services.Redis.URL = c.RedisURL, c.RedisURL
	}
	if c.Host != "" && cfg.Runtime == config.RuntimeDocker {
		cfg.Orchestrator.Run = c.Host
	}
	if c.Embedded {
		if cfg.Redis.URL != "" {
			return nil, path, role.Fail(role.Usage, errors.New("--embedded: there is a Redis of your own already"), "leave out redis.url and --redis-url, or --embedded")
		}
		cfg.Services.Redis.Embedded = true
	}
	for _, missing := range inheritVariables(cfg, a.Lookup) {
		a.sayf("sett: warning: %s is not set here, so it will not be there either\n", missing)
	}
	return cfg, path, nil
}

// inheritVariables gives the inherited variables of agents, and of what notifies
// people, this environment's values, and returns which have none: these are left out.
func inheritVariables(c *config.Config, lookup func(string) (string, bool)) []string {
	var missing []string
	inherit := func(who string, vars []config.EnvVar) []config.EnvVar {
		kept := vars[:0:0]
		for _, v := range vars {
			if v.Inherit {
				value, ok := lookup(v.Name)
				if !ok {
					missing = append(missing, fmt.Sprintf("%s: variable %s", who, v.Name))
					continue
				}
				v.Value, v.Inherit = value, false
			}
			kept = append(kept, v)
		}
		return kept
	}
	for i := range c.Agents {
		agent := &c.Agents[i]
		agent.Environment = inherit("agent "+agent.Name, agent.Environment)
	}
	if c.Notify != nil {
		c.Notify.Environment = inherit("notify", c.Notify.Environment)
	}
	return missing
}

// runs says whether an instance with these units is running, so that an up changes
// it.
func runs(units []runtime.Unit) bool {
	return slices.ContainsFunc(units, func(u runtime.Unit) bool {
		c := u.Labels[runtime.LabelComponent]
		return (u.Running || u.Restarting) && (c == runtime.ComponentKeeper || c == runtime.ComponentOrchestrator)
	})
}

// nameFlag is what commands need to find this instance from here, if anything.
func (u *upping) nameFlag() string {
	if u.a.flags.Name == "" {
		return ""
	}
	return " --name " + u.in.Name
}

// inTime makes the end of the time given the reason of an error that came of it.
func (u *upping) inTime(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) && role.CodeOf(err) != role.TimedOut {
		return role.Fail(role.TimedOut, fmt.Errorf("not ready after %s: %w", u.timeout, err), "--timeout gives it more time")
	}
	return err
}

// explain gives an error its exit code, and says what became of the instance.
func (u *upping) explain(err error) error {
	switch {
	case u.a.ctx.Err() != nil && u.adopt:
		return role.Fail(role.Interrupted, errors.New("interrupted; the instance goes on running"), "sett list")
	case u.a.ctx.Err() != nil:
		return role.Fail(role.Interrupted, errors.New("interrupted; what had been started was stopped"), "")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return role.Fail(role.Environment, err, "make room below %s", u.in.dir)
	}
	return err
}

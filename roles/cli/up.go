package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/process"
)

type upCmd struct {
	Runtime  string        `enum:",docker,process" default:"" placeholder:"docker|process" help:"Where agents run, instead of what sett.yml says."`
	Timeout  time.Duration `default:"60s" placeholder:"DURATION" help:"How long it may take until every agent is ready (default 60s)."`
	RedisURL string        `name:"redis-url" placeholder:"URL" help:"Use this Redis as the blackboard, instead of what sett.yml says."`
}

// Help is shown by `sett up --help`.
func (upCmd) Help() string {
	return `Starts the clan of sett.yml in the background: the blackboard, the orchestrator and
one cub per agent, and waits until every agent is ready. They survive the terminal;
sett down ends them. If something does not start, nothing is left running.

For an instance that runs already, sett up shows what changed in sett.yml and
applies just that.

Examples: sett up --runtime process
          sett up --timeout 10s -f other.yml --name other`
}

// errTooLong is why the context of an up ends when the time is over.
var errTooLong = errors.New("time is over")

// upping is one `sett up` at work. It holds the instance's lock.
type upping struct {
	a       *app
	c       *config.Config
	in      *instance
	rt      *process.Runtime
	board   *redis.Board // nil until it answers
	began   time.Time
	timeout time.Duration
	adopt   bool // the instance ran before
}

// Run starts the instance, or applies what changed to a running one.
func (c *upCmd) Run(a *app) error {
	began := a.Now()
	if err := keepDescriptors(); err != nil {
		return err
	}
	cfg, path, err := c.configuration(a)
	if err != nil {
		return err
	}
	root, err := a.workspace(a.ctx)
	if err != nil {
		return err
	}
	for _, missing := range missingTools(cfg, root) {
		a.sayf("sett: warning: %s\n", missing)
	}
	in, release, err := a.claimInstance(a.ctx, root)
	if err != nil {
		return err
	}
	defer release()
	u := &upping{a: a, c: cfg, in: in, rt: in.runtime(), began: began, timeout: c.Timeout}
	in.Workspace, in.ConfigFile, in.Runtime = root, path, cfg.Runtime
	ctx, cancel := context.WithTimeoutCause(a.ctx, c.Timeout, errTooLong)
	defer cancel()
	if err := u.finishDown(ctx); err != nil {
		return u.explain(ctx, err)
	}
	if u.adopt, err = u.runs(ctx); err != nil {
		return err
	}
	if u.adopt {
		err = u.apply(ctx)
	} else {
		err = u.start(ctx)
	}
	if u.board != nil {
		u.board.Close()
	}
	if err != nil {
		return u.explain(ctx, err)
	}
	return u.conclude()
}

// configuration reads sett.yml as the flags want it, with the variables that
// agents inherit filled in.
func (c *upCmd) configuration(a *app) (*config.Config, string, error) {
	cfg, path, err := a.configuration(a.ctx, config.WithRuntime(c.Runtime))
	if err != nil {
		return nil, path, err
	}
	if c.RedisURL != "" {
		cfg.Redis.URL, cfg.Services.Redis.URL = c.RedisURL, c.RedisURL
	}
	if cfg.Runtime == config.RuntimeDocker {
		return nil, path, role.Fail(role.Environment, errors.New("runtime docker: this build of sett has no container runtime"),
			"sett up --runtime process runs the agents as processes of this machine, isolated by nothing")
	}
	for _, missing := range inheritVariables(cfg, a.Lookup) {
		a.sayf("sett: warning: %s is not set here, so it will not be there either\n", missing)
	}
	return cfg, path, nil
}

// missingTools says which agents' programs cannot be run as things stand. That is
// no error: another agent may yet make them.
func missingTools(c *config.Config, root string) []string {
	var missing []string
	for _, agent := range c.Agents {
		for _, command := range [][]string{agent.Command, agent.BidScript} {
			if len(command) == 0 {
				continue
			}
			file := command[0]
			if strings.Contains(file, "/") && !filepath.IsAbs(file) {
				file = filepath.Join(root, file)
			}
			if _, err := exec.LookPath(file); err != nil {
				missing = append(missing, fmt.Sprintf("agent %s: %s cannot be run: %v; its claims will fail",
					agent.Name, clean(command[0]), errors.Unwrap(err)))
			}
		}
	}
	return missing
}

// inheritVariables gives the agents' inherited variables this environment's
// values, and returns which have none: these are left out.
func inheritVariables(c *config.Config, lookup func(string) (string, bool)) []string {
	var missing []string
	for i := range c.Agents {
		agent := &c.Agents[i]
		kept := agent.Environment[:0:0]
		for _, v := range agent.Environment {
			if v.Inherit {
				value, ok := lookup(v.Name)
				if !ok {
					missing = append(missing, fmt.Sprintf("agent %s: variable %s", agent.Name, v.Name))
					continue
				}
				v.Value, v.Inherit = value, false
			}
			kept = append(kept, v)
		}
		agent.Environment = kept
	}
	return missing
}

// runs says whether the instance is running, so that an up changes it.
func (u *upping) runs(ctx context.Context) (bool, error) {
	units, err := u.rt.List(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("list what runs: %w", err)
	}
	for _, unit := range units {
		c := unit.Labels[runtime.LabelComponent]
		if unit.Running && (c == runtime.ComponentKeeper || c == runtime.ComponentOrchestrator) {
			return true, nil
		}
	}
	return false, nil
}

// conclude says what there is to know about an instance that is up.
func (u *upping) conclude() error {
	a := u.a
	if !u.in.Told {
		a.sayf("\nnote: local mode isolates nothing: agents run as you, with your files and your network\n")
		u.in.Told = true
		if err := u.in.save(); err != nil {
			return err
		}
	}
	if !exists(filepath.Join(u.in.Workspace, ".git")) {
		a.sayf("\nnote: %s is no git repository; sett forage wants one: git init\n", clean(a.tilde(u.in.Workspace)))
	}
	a.printf("\nNext:\n  sett forage --goal \"…\" --wait%s\n", u.nameFlag())
	return nil
}

// nameFlag is what commands need to find this instance from here, if anything.
func (u *upping) nameFlag() string {
	if u.a.flags.Name == "" {
		return ""
	}
	return " --name " + u.in.Name
}

// explain gives an error its exit code, and says what became of the instance.
func (u *upping) explain(ctx context.Context, err error) error {
	if u.a.ctx.Err() != nil {
		if u.adopt {
			return role.Fail(role.Interrupted, errors.New("interrupted; the instance goes on running"), "sett list")
		}
		return role.Fail(role.Interrupted, errors.New("interrupted; what had been started was stopped"), "")
	}
	if errors.Is(context.Cause(ctx), errTooLong) && role.CodeOf(err) != role.TimedOut {
		return role.Fail(role.TimedOut, fmt.Errorf("not ready after %s: %w", u.timeout, err), "--timeout gives it more time")
	}
	return err
}

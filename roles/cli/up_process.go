package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"

	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

// processLauncher launches an instance as processes of this machine. What there is to
// start keeps itself running: the keeper the blackboard and the orchestrator, and
// this one the agents.
type processLauncher struct{ *upping }

func (*processLauncher) taken(context.Context, string) (string, error) { return "", nil }

// provide notes which sett agents are: those of another one are restarted.
func (p *processLauncher) provide(context.Context) error {
	for i := range p.c.Agents {
		p.c.Agents[i].Resolved = &config.Resolved{Sett: p.a.builtAs()}
	}
	if p.c.Notify != nil {
		p.c.Notify.Resolved = &config.Resolved{Sett: p.a.builtAs()}
	}
	for _, missing := range missingTools(p.c, p.in.Workspace) {
		p.warn("%s", missing)
	}
	return nil
}

func (*processLauncher) user() string { return "default" }

// ahead has nothing to do: what starts here starts in a moment.
func (*processLauncher) ahead(context.Context) func() error { return func() error { return nil } }

// startBlackboard starts the embedded blackboard before the keeper adopts it, so
// that nobody sees what its records said of the last run.
func (p *processLauncher) startBlackboard(ctx context.Context) (runtime.Unit, error) {
	return p.place.Start(ctx, p.spec(runtime.ComponentBlackboard))
}

// startOrchestrator leaves that to the keeper.
func (p *processLauncher) startOrchestrator(ctx context.Context) error {
	if _, err := p.place.Start(ctx, p.spec(runtime.ComponentKeeper)); err != nil {
		return fmt.Errorf("start keeper: %w", err)
	}
	return nil
}

func (p *processLauncher) update(ctx context.Context, _ config.Changes) (position string, err error) {
	if position, err = p.since(ctx); err != nil {
		return "", err
	}
	return position, p.startOrchestrator(ctx)
}

func (*processLauncher) abandon(context.Context) error { return nil }

func (*processLauncher) done() {}

func (p *processLauncher) blackboardDetail() string { return "embedded, " + p.board.Addr() }

func (*processLauncher) notes() []string {
	return []string{"local mode isolates nothing: agents run as you, with your files and your network"}
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
			if err := runnable(command[0], root); err != nil {
				missing = append(missing, fmt.Sprintf("agent %s: %s cannot be run: %v; its claims will fail",
					agent.Name, clean(command[0]), err))
			}
		}
	}
	if c.Notify != nil {
		if err := runnable(c.Notify.Command[0], root); err != nil {
			missing = append(missing, fmt.Sprintf("notify: %s cannot be run: %v; nobody will be notified", clean(c.Notify.Command[0]), err))
		}
	}
	return missing
}

// runnable says why a program cannot be run from the workspace, if it cannot.
func runnable(program, root string) error {
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(root, program)
	}
	_, err := exec.LookPath(program)
	return errors.Unwrap(err)
}

// environ is the environment of the keeper, and so of all it starts: each takes
// from it what it needs, and hands it on to whom it restarts.
func (p *processLauncher) environ() []string {
	vars := append(p.hostEnviron(), p.boardEnviron(p.in.URL)...)
	if at, err := url.Parse(p.in.URL); err == nil && !p.in.External {
		password, _ := at.User.Password()
		vars = append(vars, env.ListenAddr+"="+at.Host, env.Token+"="+password)
	}
	return vars
}

// hostEnviron is what every part that runs on the host is started with.
func (u *upping) hostEnviron() []string {
	vars := env.Inherited(u.a.Environ())
	for _, v := range []struct{ name, value string }{
		{env.StateDir, u.in.dir}, {env.Instance, u.in.Name}, {env.Config, u.in.configPath()},
		{env.Workspace, u.in.Workspace}, {env.Run, u.in.Run}, {env.HealthAddr, u.in.healthAddr()},
		{env.Lease, u.a.Getenv(env.Lease)},
	} {
		if v.value != "" {
			vars = append(vars, v.name+"="+v.value)
		}
	}
	return vars
}

func (p *processLauncher) spec(component string) runtime.Spec {
	return runtime.Spec{Name: component, Args: []string{component}, Env: p.environ(), Labels: p.labels(component)}
}

package deploy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
)

// processLauncher starts an instance as processes of this machine. They keep themselves
// running: the keeper the blackboard and the orchestrator, and this one the agents.
type processLauncher struct{ j *job }

// materials notes the version of sett in each agent, so that agents of another version
// are restarted.
func (p *processLauncher) materials(_ context.Context, f *facts, _ bool) (release func(), err error) {
	for i := range f.desired.Agents {
		f.desired.Agents[i].Resolved = &config.Resolved{Sett: f.sett}
	}
	if f.desired.Notify != nil {
		f.desired.Notify.Resolved = &config.Resolved{Sett: f.sett}
	}
	f.desired.Services.Repository.Resolved = &config.Resolved{Sett: f.sett}
	f.notices = nil
	for _, missing := range MissingTools(f.desired, f.root) {
		f.notices = append(f.notices, "warning: "+missing)
	}
	return func() {}, nil
}

func (p *processLauncher) owner() (uid, gid int) { return os.Geteuid(), os.Getegid() }

// launch starts the embedded blackboard before the keeper adopts it, so that no part sees
// the state of the last run there. The keeper starts the orchestrator.
func (p *processLauncher) launch(ctx context.Context, serve func(context.Context, *runtime.Unit) error) error {
	var board *runtime.Unit
	if !p.j.in.External {
		unit, err := p.j.place.Start(ctx, p.spec(runtime.ComponentBlackboard))
		if err != nil {
			return fmt.Errorf("start blackboard: %w", err)
		}
		board = &unit
	}
	if err := serve(ctx, board); err != nil {
		return err
	}
	if _, err := p.j.place.Start(ctx, p.spec(runtime.ComponentKeeper)); err != nil {
		return fmt.Errorf("start keeper: %w", err)
	}
	return nil
}

// spec has the environment of the keeper and so of all that it starts: each part takes
// its variables from it and passes all of them on.
func (p *processLauncher) spec(component string) runtime.Spec {
	j := p.j
	vars := slices.Concat(j.hostEnviron(), j.boardEnviron(j.in.URL), repositoryEnviron(j.in, "http://"+j.in.Repository))
	if at, err := url.Parse(j.in.URL); err == nil && !j.in.External {
		password, _ := at.User.Password()
		vars = append(vars, env.ListenAddr+"="+at.Host, env.Token+"="+password)
	}
	if component == runtime.ComponentKeeper {
		vars = append(vars, valuesEnviron(j.values)...)
	}
	return runtime.Spec{Name: component, Args: []string{component}, Env: vars, Labels: j.labels(component)}
}

// MissingTools describes the programs of agents and of the notifier that cannot be run
// now. That is no error: another agent may make them later.
func MissingTools(c *config.Config, root string) []string {
	var missing []string
	for _, agent := range c.Agents {
		for _, command := range [][]string{agent.Command, agent.BidScript} {
			if len(command) == 0 {
				continue
			}
			if err := runnable(command[0], root); err != nil {
				missing = append(missing, fmt.Sprintf("agent %s: %s cannot be run: %v; every goal that reaches it will fail",
					agent.Name, role.Clean(command[0]), err))
			}
		}
	}
	if c.Notify != nil {
		if err := runnable(c.Notify.Command[0], root); err != nil {
			missing = append(missing, fmt.Sprintf("notify: %s cannot be run: %v; nobody will be notified", role.Clean(c.Notify.Command[0]), err))
		}
	}
	return missing
}

// runnable returns the reason why a program cannot be run from the workspace, if any.
func runnable(program, root string) error {
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(root, program)
	}
	_, err := exec.LookPath(program)
	return errors.Unwrap(err)
}

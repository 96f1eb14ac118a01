package deploy

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"

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
	if len(f.desired.Models) > 0 {
		f.desired.Services.ModelGateway.Resolved = &config.Resolved{Sett: f.sett}
	}
	f.desired.Services.Repository.Resolved = &config.Resolved{Sett: f.sett}
	f.notices, p.j.unfit = nil, map[string]bool{}
	for _, missing := range MissingTools(f.desired, f.root) {
		f.notices = append(f.notices, "warning: "+missing.Text)
		p.j.unfit[missing.Agent] = true
	}
	return func() {}, nil
}

func (p *processLauncher) owner() (uid, gid int) { return os.Geteuid(), os.Getegid() }

// launch starts the embedded blackboard before the keeper adopts it, so that no part sees
// the state of the last run there. The keeper starts the orchestrator.
func (p *processLauncher) launch(ctx context.Context, serve func(context.Context, *runtime.Unit) error) error {
	if err := p.launchBlackboard(ctx, serve); err != nil {
		return err
	}
	if _, err := p.j.place.Start(ctx, p.spec(runtime.ComponentKeeper)); err != nil {
		return fmt.Errorf("start keeper: %w", err)
	}
	return nil
}

// launchBlackboard starts the blackboard, if it is sett's own, at another port if another
// program was faster.
func (p *processLauncher) launchBlackboard(ctx context.Context, serve func(context.Context, *runtime.Unit) error) error {
	if p.j.in.External {
		return serve(ctx, nil)
	}
	for range portTries {
		unit, err := p.j.place.Start(ctx, p.spec(runtime.ComponentBlackboard))
		if err != nil {
			return fmt.Errorf("start blackboard: %w", err)
		}
		if err = serve(ctx, &unit); err == nil || !p.robbed(ctx, unit) {
			return err
		}
		if err := p.j.takePort("127.0.0.1:0", p.j.in.Admin()); err != nil {
			return err
		}
		if err := p.j.in.Save(); err != nil {
			return err
		}
	}
	return role.Fail(role.Environment, errNoPort, "sett up again")
}

// robbed says that the blackboard has ended, and another program has its port.
func (p *processLauncher) robbed(ctx context.Context, board runtime.Unit) bool {
	return p.j.ended(ctx, &board) != nil && boardAddress(p.j.in.URL, nil) == ""
}

// spec has the environment of the keeper and so of all that it starts: each part takes
// its variables from it and passes all of them on.
func (p *processLauncher) spec(component string) runtime.Spec {
	j := p.j
	vars := slices.Concat(j.hostEnviron(), j.boardEnviron(j.in.URL, j.c.Redis.CAFile), repositoryEnviron(j.in, "http://"+j.in.Repository), modelEnviron(j, "http://"+j.in.ModelGateway))
	if at, err := url.Parse(j.in.URL); err == nil && !j.in.External {
		password, _ := at.User.Password()
		vars = append(vars, env.ListenAddr+"="+at.Host, env.Token+"="+password)
	}
	if component == runtime.ComponentKeeper {
		vars = slices.Concat(vars, valuesEnviron(j.values), keysEnviron(j))
	}
	return runtime.Spec{Name: component, Args: []string{component}, Env: vars, Labels: j.labels(component)}
}

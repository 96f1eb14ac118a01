package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime/docker"
)

// ofEngine returns the named instance as the container engine knows it, where no
// state directory of this user does: another one has it, or it is gone. Where the
// engine knows nothing either, the error is the one that was there before.
func (a *app) ofEngine(before error) (*instance, error) {
	name, err := a.wanted()
	if err != nil || name == "" || role.CodeOf(before) != role.NotFound {
		return nil, before
	}
	strangers, err := a.strangers(a.ctx, nil)
	if err != nil {
		return nil, before // without an engine there is nothing else to find
	}
	i := slices.IndexFunc(strangers, func(in *instance) bool { return in.Name == name })
	if i < 0 {
		return nil, before
	}
	return strangers[i], nil
}

// strangers returns the instances that only the container engine knows.
func (a *app) strangers(ctx context.Context, known []*instance) ([]*instance, error) {
	e, err := a.engine(ctx)
	if err != nil {
		return nil, err
	}
	all, err := e.Instances(ctx)
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("list what is on the engine: %w", err), "")
	}
	root, err := a.stateRoot()
	if err != nil {
		return nil, err
	}
	var out []*instance
	for _, o := range all {
		ours := func(in *instance) bool { return in.Name == o.Name && in.Runtime == config.RuntimeDocker }
		if config.ValidInstanceName(o.Name) != nil || slices.ContainsFunc(known, ours) {
			continue
		}
		out = append(out, &instance{dir: filepath.Join(root, o.Name), State: stateOf(o)})
	}
	return out, nil
}

// stateOf is what the engine tells of an instance.
func stateOf(o docker.Instance) State {
	return State{Name: o.Name, Workspace: o.Workspace, Runtime: config.RuntimeDocker, Run: o.Run}
}

// all ends every instance there is.
func (c *downCmd) all(a *app) error {
	if a.flags.Name != "" {
		return role.Fail(role.Usage, errors.New("either --all or --name"), "")
	}
	all, err := a.instances()
	if err != nil {
		return err
	}
	strangers, err := a.strangers(a.ctx, all)
	if err != nil {
		a.sayf("sett: note: no container engine was asked: %s\n", firstLine(err))
	}
	if all = append(all, strangers...); len(all) == 0 {
		a.sayf("sett: no instances\n")
		return nil
	}
	if !c.Yes {
		if err := a.sure(c.question(all, strangers)); err != nil {
			return err
		}
	}
	var errs []error
	for _, in := range all {
		if err := c.end(a, in); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", in.Name, err))
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// question names what is about to be ended, and what of it may be somebody else's.
func (c *downCmd) question(all, strangers []*instance) string {
	q := "Stop " + strings.Join(names(all), ", ")
	if len(strangers) > 0 {
		q += fmt.Sprintf(" (of these, %s may be another user's: only the engine knows them)", strings.Join(names(strangers), ", "))
	}
	if c.Purge {
		q += ", and remove everything that is kept of them"
	}
	return q + "?"
}

// firstLine is the gist of an error.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return clean(line)
}

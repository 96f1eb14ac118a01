package instance

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime/docker"
)

// OfEngine returns the named instance, else the one of this workspace, as the container
// engine knows it, if the user's state directory does not have it: another directory has
// it, or it was deleted. If the engine does not know the instance either, or several of
// the workspace, OfEngine returns the error before.
func (l *Locator) OfEngine(ctx context.Context, before error) (*Instance, error) {
	name, err := l.Named()
	if err != nil || role.CodeOf(before) != role.NotFound {
		return nil, before
	}
	root := ""
	if name == "" {
		if root, err = l.Workspace(); err != nil {
			return nil, before
		}
	}
	strangers, err := l.Strangers(ctx, nil)
	if err != nil {
		return nil, before // no engine knows more
	}
	strangers = slices.DeleteFunc(strangers, func(in *Instance) bool { return in.Name != name && (name != "" || in.Workspace != root) })
	if len(strangers) != 1 {
		return nil, before
	}
	return strangers[0], nil
}

// Strangers returns the instances on the container engine that are not in known.
func (l *Locator) Strangers(ctx context.Context, known []*Instance) ([]*Instance, error) {
	e, err := l.Engine(ctx)
	if err != nil {
		return nil, err
	}
	all, err := docker.Instances(ctx, e)
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("list what is on the engine: %w", err), "")
	}
	root, err := l.Root()
	if err != nil {
		return nil, err
	}
	var out []*Instance
	for _, o := range all {
		ours := func(in *Instance) bool { return in.Name == o.Name && in.Runtime == config.RuntimeDocker }
		if config.ValidInstanceName(o.Name) != nil || slices.ContainsFunc(known, ours) {
			continue
		}
		out = append(out, &Instance{Dir: filepath.Join(root, o.Name), State: stateOf(o)})
	}
	return out, nil
}

// stateOf is the state of an instance as far as the engine knows it.
func stateOf(o docker.Instance) State {
	return State{Name: o.Name, Workspace: o.Workspace, Runtime: config.RuntimeDocker, Run: o.Run}
}

package instance

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/docker"
	"sett/runtime/process"
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

// Unknown returns the instances that the user's state directory does not have, and that
// the command means by their name or by this workspace: by the processes of this user, by
// the container engine, or by both. With images, also one of which the engine has images
// alone. Where there are none it returns the error before.
func Unknown(ctx context.Context, l *Locator, before error, images bool) ([]*Instance, error) {
	var meant []*Instance
	if lost := lostOne(l, nil); lost != nil && role.CodeOf(before) == role.NotFound {
		meant = append(meant, lost)
	}
	in, err := l.OfEngine(ctx, before)
	if err == nil {
		meant = append(meant, in)
	}
	if len(meant) > 0 {
		return meant, nil
	}
	if images && role.CodeOf(before) == role.NotFound {
		if meant = imagesMeant(ctx, l); len(meant) > 0 {
			return meant, nil
		}
	}
	return nil, err
}

// meant is the name of an instance, as the user gave it, else (empty) this workspace.
func meant(l *Locator) (name, root string, err error) {
	if name, err = l.Named(); err == nil && name == "" {
		root, err = l.Workspace()
	}
	return name, root, err
}

// imagesMeant are the instances with images alone that the user named, else those of this
// workspace. The remains of failed builds do not tell the workspace: they are of one whose
// instance would have their name.
func imagesMeant(ctx context.Context, l *Locator) []*Instance {
	name, root, err := meant(l)
	if err != nil {
		return nil
	}
	all, err := ImagesAlone(ctx, l)
	if err != nil {
		return nil // no engine knows more
	}
	return slices.DeleteFunc(all, func(in *Instance) bool {
		if name != "" {
			return in.Name != name
		}
		return in.Workspace != root && (in.Workspace != "" || in.Name != config.MakeInstanceName(filepath.Base(root)))
	})
}

// ImagesAlone are the instances of which there are images on the engine, and nothing else, here or
// there: their first sett up failed, or sett try built them.
func ImagesAlone(ctx context.Context, l *Locator) ([]*Instance, error) {
	e, err := l.Engine(ctx)
	if err != nil {
		return nil, err
	}
	known, err := l.All()
	if err != nil {
		return nil, err
	}
	there, err := docker.Instances(ctx, e)
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("list what is on the engine: %w", err), "")
	}
	built, err := docker.Built(ctx, e)
	if err != nil {
		return nil, role.Fail(role.Environment, err, "")
	}
	root, err := l.Root()
	if err != nil {
		return nil, err
	}
	var out []*Instance
	for _, b := range built {
		if config.ValidInstanceName(b.Instance) != nil || slices.ContainsFunc(known, func(in *Instance) bool { return in.Name == b.Instance }) ||
			slices.ContainsFunc(there, func(o docker.Instance) bool { return o.Name == b.Instance }) {
			continue
		}
		in := &Instance{Dir: filepath.Join(root, b.Instance), Foreign: true, Images: b.Images, State: State{Name: b.Instance, Workspace: b.Workspace, Runtime: config.RuntimeDocker}}
		if !Exists(in.StatePath()) { // else its state cannot be read
			out = append(out, in)
		}
	}
	return out, nil
}

// Lost returns the instances of local mode of which processes run, and which are not in
// known: their state directories were removed.
func Lost(l *Locator, known []*Instance) ([]*Instance, error) {
	root, err := l.Root()
	if err != nil {
		return nil, err
	}
	all, err := process.Instances(root)
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("look for processes of instances: %w", err), "")
	}
	var out []*Instance
	for _, o := range all {
		name := filepath.Base(o.Dir)
		if config.ValidInstanceName(name) != nil || slices.ContainsFunc(known, func(in *Instance) bool { return in.Name == name }) {
			continue
		}
		out = append(out, &Instance{Dir: o.Dir, Lost: true, State: State{Name: name, Workspace: o.Workspace, Runtime: config.RuntimeProcess}})
	}
	return out, nil
}

// lostOne is the lost instance that the user named, else the only one of this workspace;
// nil: there is none.
func lostOne(l *Locator, known []*Instance) *Instance {
	lost, err := Lost(l, known)
	if err != nil || len(lost) == 0 {
		return nil
	}
	name, root, err := meant(l)
	if err != nil {
		return nil
	}
	lost = slices.DeleteFunc(lost, func(in *Instance) bool { return in.Name != name && (name != "" || in.Workspace != root) })
	if len(lost) != 1 {
		return nil
	}
	return lost[0]
}

// LostCure is the way on for an instance that has lost its state directory.
func (in *Instance) LostCure() string {
	return fmt.Sprintf("sett down --name %s ends what runs of it; after that, sett up in its repository begins anew", in.Name)
}

// Kept are the things on the container engine of an instance that its state directory knows as one of local mode, or not at all.
type Kept struct {
	Units  []runtime.Unit
	Ledger bool
}

// KeptOnEngine asks the engine for things with the name and the workspace of the instance.
func KeptOnEngine(ctx context.Context, l *Locator, in *Instance) (Kept, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	e, err := l.Engine(ctx)
	if err != nil {
		return Kept{}, err
	}
	all, err := docker.Instances(ctx, e)
	if err != nil {
		return Kept{}, err
	}
	i := slices.IndexFunc(all, func(o docker.Instance) bool { return o.Name == in.Name && o.Workspace == in.Workspace })
	if i < 0 {
		return Kept{}, nil
	}
	return Kept{all[i].Units, all[i].Ledger}, nil
}

// engineTime is how long an engine gets to answer a command that goes on without it.
const engineTime = 2 * time.Second

// NoteLost says whether processes of an instance run that has no state, and has Place
// list them.
func (in *Instance) NoteLost(ctx context.Context) error {
	if in.Known() {
		return nil
	}
	units, err := in.Processes().Strays(ctx)
	in.Lost = len(units) > 0
	return err
}

// Has says whether things on the engine with a name and a workspace are those of an instance; of one of local mode, which it
// left behind there.
func Has(in *Instance, name, workspace string) bool {
	return in.Name == name && (in.Runtime == config.RuntimeDocker || in.OnEngine && in.Workspace == workspace)
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
		ours := func(in *Instance) bool { return Has(in, o.Name, o.Workspace) }
		if config.ValidInstanceName(o.Name) != nil || slices.ContainsFunc(known, ours) {
			continue
		}
		out = append(out, &Instance{Dir: filepath.Join(root, o.Name), State: stateOf(o), Foreign: true})
	}
	return out, nil
}

// stateOf is the state of an instance as far as the engine knows it.
func stateOf(o docker.Instance) State {
	return State{Name: o.Name, Workspace: o.Workspace, Runtime: config.RuntimeDocker, Run: o.Run}
}

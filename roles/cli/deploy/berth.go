package deploy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/logline"
	"sett/roles/role"
	"sett/roles/role/container"
	"sett/runtime"
)

// Berth is an agent's image on the engine, and a place for containers from it that belong
// to no instance.
type Berth struct {
	at       *instance.Locator
	agent    config.Agent
	uid, gid int
	user     string
	in       *instance.Instance
	place    *instance.Containers
	release  func()
	scratch  *scratch
}

// berthUnit is the one unit of a berth.
const berthUnit = "tool"

// NewBerth gets the image of an agent as sett up does, after what berths of killed commands
// left is removed. The caller closes it; keep: its directory stays then.
func NewBerth(ctx context.Context, at *instance.Locator, c *config.Config, agent config.Agent, root, file string, keep bool) (b *Berth, err error) {
	if agent.Image == "" && agent.Build == nil && agent.NeedsImage() {
		return nil, role.Fail(role.Usage, fmt.Errorf("agent %s has no image", agent.Name), "image or build in %s, or sett try without --container", instance.ConfigName)
	}
	SweepBerths(ctx, at)
	place, err := newScratch(at, keep)
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("make a place for the tool: %w", err), "")
	}
	b = &Berth{at: at, agent: agent, scratch: place, release: func() {}}
	defer func() {
		if err != nil {
			b.Close(ctx)
			b = nil
		}
	}()
	return b, b.open(ctx, c, root, file)
}

// open finds the engine and gets the image.
func (b *Berth) open(ctx context.Context, c *config.Config, root, file string) error {
	at, agent := b.at, b.agent
	alone := *c
	alone.Runtime, alone.Agents, alone.Notify, alone.Models, alone.Redis.URL = config.RuntimeDocker, []config.Agent{agent}, nil, nil, ""
	own := &job{at: at, c: &alone, in: &instance.Instance{State: instance.State{Name: config.MakeInstanceName(filepath.Base(root)), Workspace: root, ConfigFile: file}}}
	if in, err := at.Find(); err == nil { // the image that is built for it is the same one
		own.in.Name = in.Name
	}
	e, err := at.Engine(ctx)
	if err != nil {
		return err
	}
	l := &containerLauncher{j: own, engine: e}
	if err := Reachable(e.Endpoint(), &alone); err != nil {
		return err
	}
	if l.workspace, err = Survey(ctx, at.Env, e, root, false); err != nil {
		return err
	}
	b.uid, b.gid, b.user = l.workspace.uid, l.workspace.gid, l.workspace.user()
	b.in = b.scratch.instance(root)
	place, err := at.Place(ctx, b.in)
	if err != nil {
		return err
	}
	b.place = place.(*instance.Containers) //nolint:forcetypeassert // its runtime is docker
	m := &materials{l: l, supply: newStore(e), volumes: map[string]string{}, holder: b.in}
	b.release = m.release
	return m.one(ctx, &b.agent)
}

// one gets the image of one agent.
func (m *materials) one(ctx context.Context, agent *config.Agent) (err error) {
	l := m.l
	if l.control, err = m.controlFor(ctx, l.engine.Facts().Arch); err != nil {
		return err
	}
	if agent.Image == "" && agent.Build == nil { // sett llm needs nothing else
		agent.Resolved = &config.Resolved{Image: l.control.ID}
		return nil
	}
	_, unset, err := agent.Build.Values(l.j.at.Lookup)
	if err != nil {
		return role.Fail(role.Usage, fmt.Errorf("build.args: %w", err), "export it, or give it a default in %s", instance.ConfigName)
	}
	for _, sentence := range unset {
		l.j.at.Sayf("sett: warning: build.args: %s\n", role.Clean(sentence))
	}
	var wants []imageWant
	for _, w := range wantedImages(l.j.c, l.j.in, l.j.at.Lookup) {
		if w.Name == agentImage(agent.Name) {
			wants = append(wants, w)
		}
	}
	shown := showImages(ctx, l.j.at.Terminal)
	got, err := m.supply.Images(ctx, wants, shown.step)
	shown.end()
	if err != nil {
		return noImages(ctx, err, "sett try without --container runs it as a program of this machine")
	}
	p, err := m.program(ctx, got[agentImage(agent.Name)])
	if err != nil {
		return fmt.Errorf("agent %s: %w", agent.Name, err)
	}
	agent.Resolved = &config.Resolved{Image: p.image, Binary: p.binary}
	return nil
}

// Image is the agent's image, and the way in which it runs sett.
func (b *Berth) Image() config.Resolved { return *b.agent.Resolved }

// Owner is the user of the containers, and so of the files that they may write.
func (b *Berth) Owner() (uid, gid int) { return b.uid, b.gid }

// Run runs a program of the sett binary in a container with these mounts, in dir, and
// returns when it has ended. said gets each line that it prints. When the context ends, the
// program is told to end.
func (b *Berth) Run(ctx context.Context, args, environ []string, dir string, mounts []runtime.Mount, said func(string)) error {
	spec := runtime.Spec{Name: berthUnit, Args: args, Env: append([]string{"HOME=" + container.Home}, environ...), Dir: dir,
		Labels: runtime.Labels{runtime.LabelComponent: runtime.ComponentWorker, runtime.LabelAgent: b.agent.Name}}
	spec.Container = container.Of(b.agent, b.user)
	spec.Container.Mounts = mounts
	if b.agent.Network != config.NetworkNone {
		spec.Container.Network = b.agent.Network
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ends, err := b.place.Exits(life)
	if err != nil {
		return err
	}
	unit, err := b.place.Start(ctx, spec)
	if err != nil {
		return fmt.Errorf("start a container: %w", err)
	}
	quiet := b.hear(life, said)
	exit, err := b.end(ctx, ends, unit)
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("its container ended: %s", exit.Text)
	}
	return errors.Join(err, quiet(), b.place.Stop(life, berthUnit, 0))
}

// hear hands on each line that the unit prints. quiet is called when the unit has ended, and
// returns when all lines are handed on.
func (b *Berth) hear(ctx context.Context, said func(string)) (quiet func() error) {
	own := logline.Source{Unit: berthUnit}
	following, stop := context.WithCancel(ctx)
	heard, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)
		// What it misses is read at the end.
		_ = logline.Read(following, b.place, own, runtime.LogOptions{Follow: true, Lines: -1}, func(l logline.Line) { heard++; said(l.Text) })
	}()
	return func() error {
		stop()
		<-ended
		n := 0
		return logline.Read(ctx, b.place, own, runtime.LogOptions{Lines: -1}, func(l logline.Line) {
			if n++; n > heard {
				said(l.Text)
			}
		})
	}
}

// end waits for the end of the unit, which is told to end with the context.
func (b *Berth) end(ctx context.Context, ends <-chan runtime.Exit, unit runtime.Unit) (runtime.Exit, error) {
	done := ctx.Done()
	for {
		select {
		case exit, more := <-ends:
			if !more || exit.Unit.ID == unit.ID {
				return exit, nil
			}
		case <-done:
			if err := b.place.Stop(context.WithoutCancel(ctx), berthUnit, berthGrace); err != nil {
				return runtime.Exit{}, err
			}
			return runtime.Exit{}, nil
		}
	}
}

// berthGrace is enough for a tool that gets its own time to end.
const berthGrace = 10 * time.Second

// Dir is the berth's directory, which the engine sees.
func (b *Berth) Dir() string { return b.scratch.dir }

// Close removes the networks and all else that was made for the berth, but for images.
func (b *Berth) Close(ctx context.Context) {
	b.release()
	var err error
	if b.place != nil {
		err = b.place.Clear(context.WithoutCancel(ctx), false)
	}
	if err = errors.Join(err, b.scratch.end()); err != nil {
		b.at.Sayf("sett: warning: %v\n", err)
	}
}

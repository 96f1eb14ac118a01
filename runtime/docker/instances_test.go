package docker

import (
	"context"
	"slices"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"sett/runtime"
)

// instance is the place's instance on the engine; nil: there is none.
func (p *place) instance() *Instance {
	p.t.Helper()
	all, err := Instances(p.t.Context(), p.e)
	if err != nil {
		p.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(i Instance) bool { return i.Name == p.o.Instance })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func TestInstances(t *testing.T) {
	p := newPlace(t)
	if i := p.instance(); i != nil {
		t.Fatalf("%+v", i)
	}
	p.full("blackboard")
	s := p.spec("agent-a", "exit", "0")
	s.Labels[runtime.LabelClaim] = ""
	p.await(p.start(s))
	// Not a unit: it has the label from the image it was started from.
	labels := map[string]string{runtime.LabelInstance: p.o.Instance, runtime.LabelComponent: runtime.ComponentAgent}
	c, err := p.api.ContainerCreate(t.Context(), &container.Config{Image: p.image, Labels: labels}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	i := p.instance()
	if i == nil || i.Workspace != "/the/workspace" || i.Run != "run" || !i.Ledger || len(i.Units) != 2 {
		t.Fatalf("%+v", i)
	}
	a, b := i.Units[0], i.Units[1]
	if a.Name != "agent-a" || a.Running || a.Labels[runtime.LabelAgent] != "agent-a" || b.Name != "blackboard" || !b.Running {
		t.Errorf("%+v", i.Units)
	}
	for _, unit := range []string{"agent-a", "blackboard"} {
		if err := p.Stop(t.Context(), unit, 0); err != nil {
			t.Fatal(err)
		}
	}
	if i := p.instance(); i == nil || len(i.Units) != 0 || !i.Ledger || i.Workspace != "/the/workspace" || i.Run != "" {
		t.Errorf("stopped: %+v", i)
	}
	if err := p.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if i := p.instance(); i != nil {
		t.Errorf("with nothing but somebody's container: %+v", i)
	}
	if err := p.api.ContainerRemove(t.Context(), c.ID, container.RemoveOptions{}); err != nil {
		t.Error(err)
	}
}

// An instance of which only a volume is left, as after the engine was told to prune.
func TestInstancesVolumeAlone(t *testing.T) {
	p := newPlace(t)
	_, err := p.api.VolumeCreate(t.Context(), volume.CreateOptions{Name: p.ControlVolume(), Labels: map[string]string{runtime.LabelInstance: p.o.Instance}})
	if err != nil {
		t.Fatal(err)
	}
	if i := p.instance(); i == nil || i.Ledger || i.Workspace != "" {
		t.Errorf("%+v", i)
	}
	if err := p.Purge(context.Background()); err != nil || p.instance() != nil {
		t.Errorf("%v", err)
	}
}

package docker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"

	"sett/runtime"

	"sett/runtime/docker/image"
)

// left is all that carries the instance's label, but for images.
func (p *place) left() []string {
	p.t.Helper()
	var all []string
	containers, err := p.api.ContainerList(p.t.Context(), container.ListOptions{All: true, Filters: p.names.labelled()})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range containers {
		all = append(all, "container "+strings.Join(c.Names, ","))
	}
	networks, err := p.api.NetworkList(p.t.Context(), network.ListOptions{Filters: p.names.labelled()})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, n := range networks {
		all = append(all, "network "+n.Name)
	}
	volumes, err := p.api.VolumeList(p.t.Context(), volume.ListOptions{Filters: p.names.labelled()})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, v := range volumes.Volumes {
		all = append(all, "volume "+v.Name)
	}
	slices.Sort(all)
	return all
}

// stranger is somebody else's container, gone when the test ends.
func (p *place) stranger(host *container.HostConfig) (name string) {
	p.t.Helper()
	name = "sett-test-stranger-" + p.o.Instance
	c, err := p.api.ContainerCreate(p.t.Context(), &container.Config{Image: p.image, Cmd: []string{"wait"}}, host, nil, nil, name)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		p.api.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{Force: true})
	})
	if err := p.api.ContainerStart(p.t.Context(), c.ID, container.StartOptions{}); err != nil {
		p.t.Fatal(err)
	}
	return name
}

// full starts a unit that has the ledger and is on the network.
func (p *place) full(name string) runtime.Unit {
	p.t.Helper()
	s := p.with(p.spec(name, "wait"), func(c *runtime.Container) {
		c.Network = runtime.NetworkFull
		c.Mounts = []runtime.Mount{{Source: p.LedgerVolume(), Volume: true, Target: "/data"}}
	})
	return p.startUp(s)
}

func TestClear(t *testing.T) {
	p := newPlace(t)
	neighbour := newPlace(t, func(o *Options) { o.Instance = p.o.Instance + "-2" })
	neighbour.full("blackboard")
	before := neighbour.left()
	p.full("blackboard")
	s := p.with(p.spec("inside", "wait"), func(c *runtime.Container) { c.Network = runtime.NetworkInternal })
	p.startUp(s)
	// A killed `sett up` leaves this container.
	labels := map[string]string{runtime.LabelInstance: p.o.Instance, runtime.LabelComponent: image.ComponentBinary}
	if _, err := p.api.ContainerCreate(t.Context(), &container.Config{Image: p.image, Labels: labels}, nil, nil, nil, p.o.Instance+".pin"); err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{"blackboard", "inside"} {
		if err := p.Stop(t.Context(), unit, 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := p.Clear(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := p.left(), []string{"volume " + p.LedgerVolume()}; !slices.Equal(got, want) {
			t.Fatalf("left %v, want %v", got, want)
		}
	}
	for range 2 {
		if err := p.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.left(); len(got) > 0 {
			t.Fatalf("left %v", got)
		}
	}
	if after := neighbour.left(); !slices.Equal(after, before) {
		t.Errorf("of another instance there is %v, there was %v", after, before)
	}
	if err := New(p.e, Options{Instance: "t-nobody"}).Purge(t.Context()); err != nil {
		t.Error(err)
	}
}

// Things that somebody else uses stay.
func TestClearOthers(t *testing.T) {
	p := newPlace(t)
	p.full("blackboard")
	name := p.stranger(&container.HostConfig{NetworkMode: container.NetworkMode(p.names.network(runtime.NetworkFull)),
		Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: p.LedgerVolume(), Target: "/data"}}})
	if err := p.Stop(t.Context(), "blackboard", 0); err != nil {
		t.Fatal(err)
	}
	if err := p.Clear(t.Context()); err == nil || !strings.Contains(err.Error(), p.names.network(runtime.NetworkFull)+": "+name+" still on it") {
		t.Errorf("got %v", err)
	}
	if err := p.Purge(t.Context()); err == nil || strings.Contains(err.Error(), "volume") {
		t.Errorf("got %v", err)
	}
	if got, want := p.left(), []string{"network " + p.names.network(runtime.NetworkFull), "volume " + p.LedgerVolume()}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	if err := p.api.ContainerRemove(t.Context(), name, container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := p.Purge(t.Context()); err != nil || len(p.left()) > 0 {
		t.Errorf("left %v, %v", p.left(), err)
	}
}

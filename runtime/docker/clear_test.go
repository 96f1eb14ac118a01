package docker

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"

	"sett/runtime"
)

// left is all that carries the instance's label, but for images.
func (p *place) left() []string {
	p.t.Helper()
	var all []string
	containers, err := p.e.api.ContainerList(p.t.Context(), container.ListOptions{All: true, Filters: p.mine()})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range containers {
		all = append(all, "container "+strings.Join(c.Names, ","))
	}
	networks, err := p.e.api.NetworkList(p.t.Context(), network.ListOptions{Filters: p.mine()})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, n := range networks {
		all = append(all, "network "+n.Name)
	}
	volumes, err := p.e.api.VolumeList(p.t.Context(), volume.ListOptions{Filters: p.mine()})
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
	c, err := p.e.api.ContainerCreate(p.t.Context(), &container.Config{Image: p.image, Cmd: []string{"wait"}}, host, nil, nil, name)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		p.e.api.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{Force: true})
	})
	if err := p.e.api.ContainerStart(p.t.Context(), c.ID, container.StartOptions{}); err != nil {
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
	v := binaryVolume{e: p.e, name: p.o.Instance, image: p.image, labels: runtime.Labels{runtime.LabelInstance: p.o.Instance}}
	t.Cleanup(func() { p.e.api.VolumeRemove(context.Background(), v.name, true) })
	if _, err := v.create(t.Context(), v.name+".pin", true); err != nil { // what a killed `sett up` leaves
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

// What somebody else uses is not taken away.
func TestClearOthers(t *testing.T) {
	p := newPlace(t)
	p.full("blackboard")
	name := p.stranger(&container.HostConfig{NetworkMode: container.NetworkMode(p.networkName()),
		Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: p.LedgerVolume(), Target: "/data"}}})
	if err := p.Stop(t.Context(), "blackboard", 0); err != nil {
		t.Fatal(err)
	}
	if err := p.Clear(t.Context()); err == nil || !strings.Contains(err.Error(), p.networkName()+": "+name+" still on it") {
		t.Errorf("got %v", err)
	}
	if err := p.Purge(t.Context()); err == nil || strings.Contains(err.Error(), "volume") {
		t.Errorf("got %v", err)
	}
	if got, want := p.left(), []string{"network " + p.networkName(), "volume " + p.LedgerVolume()}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	if err := p.e.api.ContainerRemove(t.Context(), name, container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := p.Purge(t.Context()); err != nil || len(p.left()) > 0 {
		t.Errorf("left %v, %v", p.left(), err)
	}
}

func TestPurgeControl(t *testing.T) {
	e := ownControl(t)
	old, used, latest := control(t, e, executable(t)), control(t, e, executable(t)), control(t, e, executable(t))
	p := newPlace(t)
	c, err := e.api.ContainerCreate(t.Context(), &container.Config{Image: used.ID, Labels: map[string]string{runtime.LabelInstance: p.o.Instance}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	there := func() (refs []string) {
		for _, i := range []Image{old, used, latest} {
			if _, _, err := e.image(t.Context(), i.Ref); err == nil {
				refs = append(refs, i.Ref)
			}
		}
		return refs
	}
	purge := func(at time.Duration) {
		t.Helper()
		if err := e.purgeControl(t.Context(), time.Now().Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	purge(0)
	if got := there(); len(got) != 3 {
		t.Errorf("one that was just made is gone: %v", got)
	}
	purge(time.Hour)
	if got := there(); !slices.Equal(got, []string{used.Ref, latest.Ref}) {
		t.Errorf("there is %v; old %s, used %s, latest %s", got, old.Ref, used.Ref, latest.Ref)
	}
	if err := e.api.ContainerRemove(t.Context(), c.ID, container.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	purge(time.Hour)
	if got := there(); !slices.Equal(got, []string{latest.Ref}) {
		t.Errorf("there is %v", got)
	}
}

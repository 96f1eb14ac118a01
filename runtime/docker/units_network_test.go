package docker

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"

	"sett/runtime"
)

func onNetwork(reach string, aliases ...string) func(*runtime.Container) {
	return func(c *runtime.Container) { c.Network, c.Aliases = reach, aliases }
}

// component is the spec of a unit of that component.
func (p *place) component(component, name string, args ...string) runtime.Spec {
	s := p.spec(name, args...)
	s.Labels[runtime.LabelComponent] = component
	return s
}

func TestJoin(t *testing.T) {
	p := newPlace(t)
	anchor := p.startUp(p.with(p.component(runtime.ComponentAnchor, "net-x", "wait"), onNetwork(runtime.NetworkFull)))
	if net.ParseIP(anchor.Address).To4() == nil {
		t.Errorf("address %q", anchor.Address)
	}
	worker := p.start(p.with(p.spec("worker-1", "addresses"), func(c *runtime.Container) {
		c.Join, c.Network = "net-x", runtime.NetworkFull
	}))
	p.await(worker)
	if out := p.logText("worker-1", -1); !strings.Contains(out, "address "+anchor.Address+"/") {
		t.Errorf("the worker has %s, want %s", out, anchor.Address)
	}
	p.signal("net-x", "KILL")
	p.await(anchor)
	_, err := p.Start(t.Context(), p.with(p.spec("worker-2", "wait"), func(c *runtime.Container) { c.Join = "net-x" }))
	if err == nil || !strings.Contains(err.Error(), "join the network of unit net-x: it does not run") {
		t.Errorf("join of what has ended: %v", err)
	}
	if left, err := p.List(t.Context(), runtime.Labels{runtime.LabelAgent: "worker-2"}); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPublishOnLoopbackOnly(t *testing.T) {
	p := newPlace(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	p.startUp(p.with(p.spec("x", "listen", ":7777"), func(c *runtime.Container) {
		c.Network, c.Publish = runtime.NetworkFull, runtime.Publish{Port: 7777, Host: port}
	}))
	c, err := net.DialTimeout("tcp", fmt.Sprint("127.0.0.1:", port), deadline)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, bound := range p.inspect("x").NetworkSettings.Ports {
		for _, b := range bound {
			if b.HostIP != "127.0.0.1" {
				t.Errorf("published on %s", b.HostIP)
			}
		}
	}
}

// hostListener listens on all addresses of the host.
func hostListener(t *testing.T) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "hello")
			c.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// hostAddress is a listener of the host at an address that it has beside those of
// the engine's bridges: traffic to it leaves the network.
func hostAddress(t *testing.T, port int) string {
	t.Helper()
	c, err := net.Dial("udp", "198.51.100.1:9") // sends nothing, but chooses an address
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return fmt.Sprint(c.LocalAddr().(*net.UDPAddr).IP, ":", port)
}

// TestInternalNetwork has the hubs on both networks, in every order of starts, and no
// way out for units on the internal one.
func TestInternalNetwork(t *testing.T) {
	p := newPlace(t)
	port := hostListener(t)
	board := p.startUp(p.with(p.component(runtime.ComponentBlackboard, "blackboard", "listen", ":7777"), onNetwork(runtime.NetworkFull, "board", "sett-x-redis")))
	inside := p.startUp(p.with(p.spec("inside", "listen", ":7777"), onNetwork(runtime.NetworkInternal)))
	other := New(p.e, p.o) // another process, which does not know that there are two networks
	late := p.with(p.component(runtime.ComponentOrchestrator, "orchestrator", "listen", ":7777"), onNetwork(runtime.NetworkFull, "boss"))
	if _, err := other.Start(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	p.startUp(p.with(p.component(runtime.ComponentRepository, "repository", "listen", ":7777"), onNetwork(runtime.NetworkFull, "store")))
	outside := p.startUp(p.with(p.spec("outside", "listen", ":7777"), onNetwork(runtime.NetworkFull, "outside")))
	p.until("orchestrator up", func() bool { return strings.Contains(p.logText("orchestrator", -1), "up") })

	gateway := func(name string) string {
		n, err := p.api.NetworkInspect(t.Context(), name, network.InspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(n.IPAM.Config[0].Gateway, ":", port)
	}
	host := hostAddress(t, port)
	out := p.ran(p.with(p.spec("probe", "dial", "board:7777", "sett-x-redis:7777", "boss:7777", "store:7777", inside.Address+":7777",
		outside.Address+":7777", board.Address+":7777", gateway(p.names.network(runtime.NetworkInternal)), gateway(p.names.network(runtime.NetworkFull)), host), onNetwork(runtime.NetworkInternal)))
	for _, want := range []string{"dial board:7777 ok", "dial sett-x-redis:7777 ok", "dial boss:7777 ok", "dial store:7777 ok", "dial " + inside.Address + ":7777 ok",
		"dial " + outside.Address + ":7777 error", "dial " + board.Address + ":7777 error",
		"dial " + gateway(p.names.network(runtime.NetworkInternal)) + " error", "dial " + gateway(p.names.network(runtime.NetworkFull)) + " error"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out = p.ran(p.with(p.spec("free", "dial", "board:7777", "boss:7777", "store:7777", host, gateway(p.names.network(runtime.NetworkFull)), inside.Address+":7777"), onNetwork(runtime.NetworkFull)))
	for _, want := range []string{"dial board:7777 ok", "dial boss:7777 ok", "dial store:7777 ok", "dial " + host + " ok", "dial " + gateway(p.names.network(runtime.NetworkFull)) + " ok", "dial " + inside.Address + ":7777 error"} {
		if !strings.Contains(out, want) {
			t.Errorf("outside, no %q in\n%s", want, out)
		}
	}
	if out := p.ran(p.with(p.spec("alone", "addresses"), onNetwork(""))); strings.Count(out, "address") != 1 {
		t.Errorf("without a network: %s", out)
	}
}

func TestHostReachesInternalNetwork(t *testing.T) {
	p := newPlace(t, func(o *Options) { o.HostReach = true })
	u := p.startUp(p.with(p.spec("x", "listen", ":7777"), onNetwork(runtime.NetworkInternal)))
	c, err := net.DialTimeout("tcp", u.Address+":7777", 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestNetworkIsMadeOnce(t *testing.T) {
	p := newPlace(t)
	var wg sync.WaitGroup
	for range 6 {
		r := New(p.e, p.o)
		wg.Go(func() {
			if err := r.nets.ensure(t.Context(), runtime.NetworkFull); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := p.api.NetworkList(t.Context(), network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", runtime.LabelInstance+"="+p.o.Instance))})
	if err != nil || len(all) != 1 {
		t.Errorf("networks %+v, %v; want one", all, err)
	}
	// Somebody removes it, and this value still believes that it exists.
	if err := p.nets.ensure(t.Context(), runtime.NetworkFull); err != nil {
		t.Fatal(err)
	}
	if err := p.api.NetworkRemove(context.Background(), p.names.network(runtime.NetworkFull)); err != nil {
		t.Fatal(err)
	}
	p.start(p.with(p.spec("x", "wait"), onNetwork(runtime.NetworkFull)))
}

// TestHas looks for a network before and after it is made.
func TestHas(t *testing.T) {
	r := newPlace(t)
	if has, err := r.e.HasNetwork(t.Context(), r.Network(runtime.NetworkFull)); has || err != nil {
		t.Errorf("before: %v %v", has, err)
	}
	if err := r.nets.ensure(t.Context(), runtime.NetworkFull); err != nil {
		t.Fatal(err)
	}
	if has, err := r.e.HasNetwork(t.Context(), r.Network(runtime.NetworkFull)); !has || err != nil {
		t.Errorf("after: %v %v", has, err)
	}
}

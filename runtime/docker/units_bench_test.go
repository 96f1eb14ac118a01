package docker

import (
	"fmt"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"sett/runtime"
)

// BenchmarkStart compares Start, on the instance's bridge, in the namespace of an
// anchor and without a network, with the two calls that the engine's own client
// makes for the same container on the bridge.
func BenchmarkStart(b *testing.B) {
	p := newPlace(b)
	p.start(p.with(p.component(runtime.ComponentAnchor, "net-x", "wait"), onNetwork(runtime.NetworkFull)))
	hardened := func(c *runtime.Container) {
		c.User, c.CPUs, c.Memory, c.Pids, c.Tmp = "4321:4322", 1, 256<<20, 100, 1<<20
	}
	variants := map[string]func(*runtime.Container){
		"bridge": onNetwork(runtime.NetworkFull),
		"join":   func(c *runtime.Container) { c.Join = "net-x" },
		"none":   func(*runtime.Container) {},
	}
	n := 0
	spec := func(kind string) runtime.Spec {
		n++
		return p.with(p.with(p.spec(fmt.Sprint("x", n), "wait"), hardened), variants[kind])
	}
	took := map[string]time.Duration{}
	for b.Loop() {
		sh, err := p.shapes.of(b.Context(), spec("bridge"))
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		made, err := p.api.ContainerCreate(b.Context(), sh.config, sh.host, sh.network, nil, p.names.container(fmt.Sprint("x", n)))
		if err == nil {
			err = p.api.ContainerStart(b.Context(), made.ID, container.StartOptions{})
		}
		took["floor"] += time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		for kind := range variants {
			s := spec(kind)
			began := time.Now()
			p.start(s)
			took[kind] += time.Since(began)
		}
		for i := n; i > n-4; i-- {
			if err := p.Stop(b.Context(), fmt.Sprint("x", i), 0); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(took["floor"].Milliseconds())/float64(b.N), "floor-ms")
	for kind := range variants {
		b.ReportMetric(float64(took[kind].Milliseconds())/float64(b.N), kind+"-ms")
		b.ReportMetric(float64(took[kind])/float64(took["floor"]), kind+"/floor")
	}
}

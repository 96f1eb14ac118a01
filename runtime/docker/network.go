package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// networks are the instance's two networks: a bridge, and one without a way out, the
// internal network. A unit makes the network that it needs.
type networks struct {
	o     Options
	units *units
	facts engine.Facts

	mu    sync.Mutex
	known map[string]bool // by name: it exists
}

// forget makes the next unit look again: somebody removed a network.
func (n *networks) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.known)
}

// ensure makes the network with this reach unless it exists. It asks the engine once,
// and again only after forget.
func (n *networks) ensure(ctx context.Context, reach string) error {
	name := n.units.names.network(reach)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known[name] {
		return nil
	}
	internal := reach == runtime.NetworkInternal
	if err := n.make(ctx, name, internal); err != nil {
		return fmt.Errorf("make network %s: %w", name, err)
	}
	if internal {
		if err := n.joinHubs(ctx); err != nil {
			return err
		}
	}
	if n.known == nil {
		n.known = map[string]bool{}
	}
	n.known[name] = true
	return nil
}

// make makes the network. Its name alone does not keep two makers apart: engines
// before API 1.44 let both succeed at the same moment, and the name is then of no
// use. The name of the bridge keeps them apart.
func (n *networks) make(ctx context.Context, name string, internal bool) error {
	for late := n.o.Now().Add(againTime); ; {
		there, err := n.there(ctx, name)
		if err != nil || there {
			return err
		}
		err = n.create(ctx, name, internal)
		taken := errdefs.IsConflict(err) || errdefs.IsPermissionDenied(err) // by name, by bridge
		if err == nil || !taken || n.o.Now().After(late) {
			return engine.Plain(err)
		}
		// Somebody was faster, which shows in a moment.
		if err := pause(ctx, shortPause); err != nil {
			return err
		}
	}
}

// create asks the engine for the network, and waits for the answer even if the context
// ends: an engine that is no longer listened to makes the network all the same, after
// the caller has removed what there was.
func (n *networks) create(ctx context.Context, name string, internal bool) error {
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	_, err := n.units.api.NetworkCreate(work, name, n.options(name, internal))
	if err == nil {
		err = ctx.Err()
	}
	return err
}

func (n *networks) options(name string, internal bool) network.CreateOptions {
	o := network.CreateOptions{Driver: "bridge", Internal: internal, Labels: n.o.owned(), Options: map[string]string{}}
	if n.facts.Name != "Docker" {
		return o // Podman keeps makers apart and knows no such options
	}
	// The names of the host's interfaces have 15 bytes at most. Other engines may make
	// bridges on the same host.
	sum := sha256.Sum256([]byte(n.facts.ID + "/" + name))
	o.Options["com.docker.network.bridge.name"] = "sett-" + hex.EncodeToString(sum[:5])
	// An internal network routes nowhere, but its bridge has an address of the host,
	// and so leads to every program that listens there, unless it gets no address.
	if internal && !n.o.HostReach {
		o.Options["com.docker.network.bridge.inhibit_ipv4"] = "true"
	}
	return o
}

// there says whether the network exists, and refuses somebody else's.
func (n *networks) there(ctx context.Context, name string) (bool, error) {
	got, err := n.units.api.NetworkInspect(ctx, name, network.InspectOptions{})
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, engine.Plain(err)
	}
	return true, n.units.refuseForeign(got.Labels)
}

// hubs are the components that every unit speaks to. They are on both networks as
// soon as there are two. A repository that only units of the internal network speak to is
// on that one alone.
var hubs = []string{runtime.ComponentBlackboard, runtime.ComponentOrchestrator, runtime.ComponentRepository, runtime.ComponentModelGateway}

func isHub(l runtime.Labels) bool { return slices.Contains(hubs, l[runtime.LabelComponent]) }

// joinHubs connects the existing hubs to the new internal network.
func (n *networks) joinHubs(ctx context.Context) error {
	all, err := n.units.list(ctx, nil)
	if err != nil {
		return err
	}
	full := n.units.names.network(runtime.NetworkFull)
	for _, c := range all {
		if !isHub(c.Labels) || c.NetworkSettings == nil || c.NetworkSettings.Networks[full] == nil {
			continue
		}
		got, err := n.units.api.ContainerInspect(ctx, c.ID)
		if errdefs.IsNotFound(err) {
			continue
		}
		if err != nil {
			return engine.Plain(err)
		}
		if err := n.connect(ctx, c.ID, aliases(got, full)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// aliases are a container's names on a network, without those that the engine adds.
func aliases(c container.InspectResponse, name string) []string {
	ep := c.NetworkSettings.Networks[name]
	if ep == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ep.Aliases), func(a string) bool { return strings.HasPrefix(c.ID, a) })
}

// connectHub connects a new hub to the internal network, if there is one. The maker of
// the network looks for hubs afterwards, and a new hub looks for the network: one of
// them sees the other.
func (n *networks) connectHub(ctx context.Context, id string, s runtime.Spec) error {
	if !isHub(s.Labels) || s.Container.Network != runtime.NetworkFull {
		return nil
	}
	there, err := n.there(ctx, n.units.names.network(runtime.NetworkInternal))
	if err != nil || !there {
		return err
	}
	return n.connect(ctx, id, s.Container.Aliases)
}

func (n *networks) connect(ctx context.Context, id string, aliases []string) error {
	name := n.units.names.network(runtime.NetworkInternal)
	err := n.units.api.NetworkConnect(ctx, name, id, &network.EndpointSettings{Aliases: aliases})
	if err != nil && !strings.Contains(err.Error(), "already exists in network") && !strings.Contains(err.Error(), "already connected") {
		return fmt.Errorf("join network %s: %w", name, engine.Plain(err))
	}
	return nil
}

// clear removes the networks.
func (n *networks) clear(ctx context.Context) error {
	all, err := n.units.api.NetworkList(ctx, network.ListOptions{Filters: n.units.names.labelled()})
	if err != nil {
		return fmt.Errorf("list networks: %w", engine.Plain(err))
	}
	var errs []error
	for _, net := range all {
		if err := n.remove(ctx, net.ID, net.Name); err != nil {
			errs = append(errs, fmt.Errorf("remove network %s: %w", net.Name, err))
		}
	}
	return errors.Join(errs...)
}

// leaveTime is how long the engine may take to notice that a removed container left
// its network. On a busy machine it does so after it has confirmed the removal.
const leaveTime = 5 * time.Second

// remove removes a network. One with an endpoint that the engine counts and has not stays,
// with a warning: only a restart of the engine corrects the count, and the next unit of the
// instance uses the network as it is.
func (n *networks) remove(ctx context.Context, id, name string) error {
	for until := n.o.Now().Add(leaveTime); ; {
		err := n.units.api.NetworkRemove(ctx, id)
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		on, found := n.members(ctx, id)
		switch {
		case len(on) > 0:
			return fmt.Errorf("%s still on it", strings.Join(on, ", "))
		case !found:
			return engine.Plain(err)
		case n.o.Now().Before(until):
		case strings.Contains(err.Error(), "active endpoints"):
			n.o.Warn("network " + name + " stays: the engine counts a container on it that is gone, until the engine restarts; then docker network rm " + name + " removes it")
			return nil
		default:
			return engine.Plain(err)
		}
		if err := pause(ctx, shortPause); err != nil {
			return err
		}
	}
}

// members are the containers on a network. After a crash, the engine may list removed
// containers, which members disconnects.
func (n *networks) members(ctx context.Context, id string) (names []string, found bool) {
	net, err := n.units.api.NetworkInspect(ctx, id, network.InspectOptions{})
	if err != nil {
		return nil, false
	}
	for c, ep := range net.Containers {
		if _, err := n.units.api.ContainerInspect(ctx, c); errdefs.IsNotFound(err) {
			_ = n.units.api.NetworkDisconnect(ctx, id, ep.Name, true)
			continue
		}
		names = append(names, ep.Name)
	}
	slices.Sort(names)
	return names, true
}

package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"

	"sett/runtime"
)

// networks are the instance's networks that are known to be there.
type networks struct {
	mu    sync.Mutex
	known map[string]bool
}

// forget makes the next unit look again: somebody removed a network.
func (n *networks) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.known)
}

// networkFor is the name of the network that a unit is on first. Who is on the
// internal one has no other.
func (r *Runtime) networkFor(reach string) string {
	if reach == runtime.NetworkInternal {
		return r.internalName()
	}
	return r.networkName()
}

// ensureNetwork makes the network unless it is there. It asks the engine once,
// and again only after forget.
func (r *Runtime) ensureNetwork(ctx context.Context, name string) error {
	n := &r.networks
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known[name] {
		return nil
	}
	if err := r.makeNetwork(ctx, name); err != nil {
		return fmt.Errorf("make network %s: %w", name, err)
	}
	if name == r.internalName() {
		if err := r.joinHubs(ctx); err != nil {
			return err
		}
	}
	if n.known == nil {
		n.known = map[string]bool{}
	}
	n.known[name] = true
	return nil
}

// makeNetwork makes the network. The name alone does not keep two makers apart:
// engines before API 1.44 let both succeed at the same moment, and then the name
// is of no use. The name of the bridge does.
func (r *Runtime) makeNetwork(ctx context.Context, name string) error {
	for late := r.now().Add(againTime); ; {
		there, err := r.networkThere(ctx, name)
		if err != nil || there {
			return err
		}
		_, err = r.e.api.NetworkCreate(ctx, name, r.networkOptions(name))
		taken := errdefs.IsConflict(err) || errdefs.IsPermissionDenied(err) // by name, by bridge
		if err == nil || !taken || r.now().After(late) {
			return plain(err)
		}
		// Somebody was faster, and it shows in a moment.
		if err := pause(ctx, halfPause); err != nil {
			return err
		}
	}
}

func (r *Runtime) networkOptions(name string) network.CreateOptions {
	o := network.CreateOptions{Driver: "bridge", Internal: name == r.internalName(),
		Labels: map[string]string{}, Options: map[string]string{}}
	maps.Copy(o.Labels, r.o.Labels)
	o.Labels[runtime.LabelInstance] = r.o.Instance
	if r.e.Facts().Name != "Docker" {
		return o // Podman keeps makers apart, and knows no such options
	}
	o.Options["com.docker.network.bridge.name"] = r.bridgeName(name)
	// An internal network routes nowhere, but its bridge has an address of the host,
	// and with it all that listens there, unless it is given none.
	if o.Internal && !r.o.HostReach {
		o.Options["com.docker.network.bridge.inhibit_ipv4"] = "true"
	}
	return o
}

// bridgeName is the network's bridge among the host's interfaces, whose names have
// 15 bytes at most. Other engines may make bridges there, too.
func (r *Runtime) bridgeName(network string) string {
	sum := sha256.Sum256([]byte(r.e.Facts().ID + "/" + network))
	return "sett-" + hex.EncodeToString(sum[:5])
}

// networkThere says whether the network is there, and refuses somebody else's.
func (r *Runtime) networkThere(ctx context.Context, name string) (bool, error) {
	n, err := r.e.api.NetworkInspect(ctx, name, network.InspectOptions{})
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, plain(err)
	}
	return true, r.refuseForeign(n.Labels)
}

// hubs are the components that every unit speaks to. They are on both networks,
// once there are two.
var hubs = []string{runtime.ComponentBlackboard, runtime.ComponentOrchestrator}

func isHub(l runtime.Labels) bool { return slices.Contains(hubs, l[runtime.LabelComponent]) }

// joinHubs brings the hubs that there are already to the new internal network.
func (r *Runtime) joinHubs(ctx context.Context) error {
	all, err := r.listed(ctx, nil)
	if err != nil {
		return err
	}
	for _, c := range all {
		if !isHub(c.Labels) || c.NetworkSettings == nil || c.NetworkSettings.Networks[r.networkName()] == nil {
			continue
		}
		full, err := r.e.api.ContainerInspect(ctx, c.ID)
		if errdefs.IsNotFound(err) {
			continue
		}
		if err != nil {
			return plain(err)
		}
		if err := r.connect(ctx, c.ID, r.aliases(full)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// aliases are a container's names on the instance's network, without those that
// the engine adds.
func (r *Runtime) aliases(c container.InspectResponse) []string {
	var all []string
	if ep := c.NetworkSettings.Networks[r.networkName()]; ep != nil {
		for _, a := range ep.Aliases {
			if !strings.HasPrefix(c.ID, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

// connectHub brings a hub that was just made to the internal network, if there is
// one. Who makes the network looks for hubs after it, and the hub looks for the
// network after it was made: one of them sees the other.
func (r *Runtime) connectHub(ctx context.Context, id string, s runtime.Spec) error {
	if !isHub(s.Labels) || s.Container.Network != runtime.NetworkFull {
		return nil
	}
	there, err := r.networkThere(ctx, r.internalName())
	if err != nil || !there {
		return err
	}
	return r.connect(ctx, id, s.Container.Aliases)
}

func (r *Runtime) connect(ctx context.Context, id string, aliases []string) error {
	err := r.e.api.NetworkConnect(ctx, r.internalName(), id, &network.EndpointSettings{Aliases: aliases})
	if err != nil && !strings.Contains(err.Error(), "already exists in network") && !strings.Contains(err.Error(), "already connected") {
		return fmt.Errorf("join network %s: %w", r.internalName(), plain(err))
	}
	return nil
}

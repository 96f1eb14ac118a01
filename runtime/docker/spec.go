package docker

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/go-connections/nat"

	"sett/runtime"
)

// stopSeconds is the grace that the engine gives when it stops a container of its
// own accord, with the machine.
const stopSeconds = 15

// How much of what a container writes the engine keeps: the newest logFiles times
// logSize.
const (
	logSize  = "10m"
	logFiles = "3"
)

// cpuShare is the weight of a container that nobody gave one, which is taken for
// that of one processor.
const cpuShare = 1024

// shmSize is the engines' own size of /dev/shm, in bytes.
const shmSize = 64 << 20

// shape is a unit's container as the engine wants to be told of it.
type shape struct {
	config  *container.Config
	host    *container.HostConfig
	network *network.NetworkingConfig
}

// shapeOf says what container the unit is. Nothing in it depends on who asks, so
// that it can be made before anything is known of the engine's state.
func (r *Runtime) shapeOf(ctx context.Context, s runtime.Spec) (shape, error) {
	if err := r.check(s); err != nil {
		return shape{}, err
	}
	c := s.Container
	binds, err := r.mounts(ctx, s)
	if err != nil {
		return shape{}, err
	}
	sh := shape{config: r.config(s), host: r.hostConfig(s, binds)}
	switch {
	case c.Join != "":
		sh.host.NetworkMode = container.NetworkMode("container:" + r.containerName(c.Join))
	case c.Network == "":
		sh.host.NetworkMode = network.NetworkNone
	default:
		name := r.networkFor(c.Network)
		sh.host.NetworkMode = container.NetworkMode(name)
		sh.network = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			name: {Aliases: slices.Clone(c.Aliases)}}}
		// In the namespace of another container, or in none, it would be refused.
		sh.config.Hostname = hostname(s.Name)
	}
	if p := c.Publish; p.Port != 0 {
		port := nat.Port(strconv.Itoa(p.Port) + "/tcp")
		sh.config.ExposedPorts = nat.PortSet{port: {}}
		sh.host.PortBindings = nat.PortMap{port: {{HostIP: "127.0.0.1", HostPort: hostPort(p.Host)}}}
	}
	return sh, nil
}

func hostPort(port int) string {
	if port == 0 {
		return "" // the engine chooses
	}
	return strconv.Itoa(port)
}

// hostname is the unit's name where a host can have it.
func hostname(unit string) string {
	if len(unit) > 63 {
		return ""
	}
	return unit
}

// check refuses what contradicts itself, and the socket for whom it is not meant.
func (r *Runtime) check(s runtime.Spec) error {
	c := s.Container
	component := s.Labels[runtime.LabelComponent]
	switch {
	case c.Image == "":
		return fmt.Errorf("no image is named: %w", ErrImage)
	case c.Socket && component != runtime.ComponentOrchestrator:
		return fmt.Errorf("the engine's socket is for the orchestrator alone, not for a unit of component %q", component)
	case c.Network != "" && c.Network != runtime.NetworkInternal && c.Network != runtime.NetworkFull:
		return fmt.Errorf("unknown network %q", c.Network)
	case c.Join != "" && c.Publish.Port != 0:
		return fmt.Errorf("a unit in the network namespace of %s cannot publish a port of its own", c.Join)
	case c.Join != "" && runtime.CheckName(c.Join) != nil:
		return runtime.CheckName(c.Join)
	}
	for _, f := range c.Files {
		if _, ok := volumeOf(c.Mounts, f.Path); !ok {
			return fmt.Errorf("file %s is not below a writable volume", f.Path)
		}
	}
	return nil
}

func (r *Runtime) config(s runtime.Spec) *container.Config {
	c := s.Container
	stop := stopSeconds
	cfg := &container.Config{
		Image:       c.Image,
		Cmd:         slices.Clone(s.Args),
		Env:         slices.Clone(s.Env),
		WorkingDir:  s.Dir,
		User:        c.User,
		Labels:      r.labels(s.Labels),
		StopSignal:  "SIGTERM",
		StopTimeout: &stop,
		// What the image wants to have run every now and then would run beside the
		// tool, and keep warm what nobody asked for.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	switch {
	case len(c.Entrypoint) > 0:
		cfg.Entrypoint = slices.Clone(c.Entrypoint)
	case c.Binary != "":
		cfg.Entrypoint = []string{Binary}
	}
	if c.Socket {
		cfg.Env = append(cfg.Env, "DOCKER_HOST=unix://"+socketTarget)
	}
	return cfg
}

// hostConfig holds the hardening. Every container has it, whatever it is for.
func (r *Runtime) hostConfig(s runtime.Spec, mounts []mount.Mount) *container.HostConfig {
	c := s.Container
	never := false
	h := &container.HostConfig{
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: !c.Writable,
		IpcMode:        container.IPCModePrivate,
		// The engine's init would hold its environment, and so the cub's, open to
		// every process of the same user.
		Init:   &never,
		Mounts: mounts,
		LogConfig: container.LogConfig{Type: "json-file",
			Config: map[string]string{"max-size": logSize, "max-file": logFiles}},
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Resources: container.Resources{
			Memory:     c.Memory,
			MemorySwap: c.Memory,
			NanoCPUs:   nanoCPUs(c.CPUs, r.e.Facts().CPUs),
		},
	}
	h.MemoryReservation = c.MemoryKept
	if c.CPUsKept > 0 {
		h.CPUShares = max(2, int64(c.CPUsKept*cpuShare))
	}
	if c.Pids > 0 {
		h.PidsLimit = &c.Pids
	}
	if c.Restart {
		h.RestartPolicy.Name = container.RestartPolicyUnlessStopped
	}
	if c.Memory > 0 {
		// /dev/shm counts as memory, too, and keeps what it has when a tool is gone.
		h.ShmSize = min(shmSize, c.Memory/8)
	}
	if c.Tmp > 0 {
		h.Tmpfs = map[string]string{"/tmp": fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,size=%d", c.Tmp)}
	}
	if c.Socket {
		h.GroupAdd = r.socketGroup(c.User)
	}
	facts := r.e.Facts()
	if facts.SELinux && slices.ContainsFunc(mounts, func(m mount.Mount) bool { return m.Type == mount.TypeBind }) {
		h.SecurityOpt = append(h.SecurityOpt, "label=disable") // relabelling the user's files is not ours to do
	}
	if facts.UserNamespaces {
		h.UsernsMode = "host" // or the workspace's owner would be somebody else inside
	}
	return h
}

// nanoCPUs is a limit as the engine takes it: it refuses one above what it has, and
// sett.yml, or a default, may come from a bigger machine.
func nanoCPUs(limit float64, has int) int64 {
	if has > 0 {
		limit = min(limit, float64(has))
	}
	return int64(limit * 1e9)
}

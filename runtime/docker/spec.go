package docker

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/go-connections/nat"

	"sett/contract/env"
	"sett/runtime"
	"sett/runtime/docker/engine"
	"sett/runtime/docker/image"
)

// stopSeconds is the grace of a container that the engine stops by itself, with the
// machine.
const stopSeconds = 15

// The engine keeps the newest logFiles times logSize of a container's log.
const (
	logSize  = "10m"
	logFiles = "3"
)

// cpuShare is the engine's weight for a container without one, which counts as the
// weight of one processor.
const cpuShare = 1024

// shmSize is the engine's own size of /dev/shm, in bytes.
const shmSize = 64 << 20

// shape is a unit's container in the engine's types.
type shape struct {
	config  *container.Config
	host    *container.HostConfig
	network *network.NetworkingConfig
}

// shaper makes shapes for the units of an instance.
type shaper struct {
	o       Options
	names   names
	facts   engine.Facts
	sockets *sockets
}

// of returns the shape of a unit. It does not depend on the engine's present state.
func (b *shaper) of(ctx context.Context, s runtime.Spec) (shape, error) {
	if err := check(s); err != nil {
		return shape{}, err
	}
	c := s.Container
	binds, err := b.mounts(ctx, s)
	if err != nil {
		return shape{}, err
	}
	sh := shape{config: b.config(s), host: b.hostConfig(s, binds)}
	switch {
	case c.Join != "":
		sh.host.NetworkMode = container.NetworkMode("container:" + b.names.container(c.Join))
	case c.Network == "":
		sh.host.NetworkMode = network.NetworkNone
	default:
		name := b.names.network(c.Network)
		sh.host.NetworkMode = container.NetworkMode(name)
		sh.network = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			name: {Aliases: slices.Clone(c.Aliases)}}}
		// The engine refuses a host name in another container's namespace, or in none.
		if len(s.Name) <= 63 {
			sh.config.Hostname = s.Name
		}
	}
	if p := c.Publish; p.Port != 0 {
		port := nat.Port(strconv.Itoa(p.Port) + "/tcp")
		binding := nat.PortBinding{HostIP: "127.0.0.1"}
		if p.Host != 0 { // else the engine chooses
			binding.HostPort = strconv.Itoa(p.Host)
		}
		sh.config.ExposedPorts = nat.PortSet{port: {}}
		sh.host.PortBindings = nat.PortMap{port: {binding}}
	}
	return sh, nil
}

// check refuses a contradictory spec, the socket for all but the orchestrator, and another
// program than the sett binary for all but the blackboard.
func check(s runtime.Spec) error {
	c := s.Container
	component := s.Labels[runtime.LabelComponent]
	switch {
	case c.Image == "":
		return fmt.Errorf("no image is named: %w", engine.ErrImage)
	case c.Socket && component != runtime.ComponentOrchestrator:
		return fmt.Errorf("the engine's socket is for the orchestrator alone, not for a unit of component %q", component)
	case len(c.Entrypoint) > 0 && component != runtime.ComponentBlackboard:
		return fmt.Errorf("a unit of component %q runs sett's own binary, not the program %q", component, c.Entrypoint[0])
	case c.Network != "" && c.Network != runtime.NetworkInternal && c.Network != runtime.NetworkFull:
		return fmt.Errorf("unknown network %q", c.Network)
	case c.Join != "" && c.Publish.Port != 0:
		return fmt.Errorf("a unit in the network namespace of %s cannot publish a port of its own", c.Join)
	case c.Join != "" && runtime.CheckName(c.Join) != nil:
		return runtime.CheckName(c.Join)
	}
	_, err := byVolume(c.Mounts, c.Files)
	return err
}

func (b *shaper) config(s runtime.Spec) *container.Config {
	c := s.Container
	stop := stopSeconds
	cfg := &container.Config{
		Image:       c.Image,
		Cmd:         slices.Clone(s.Args),
		Env:         env.Whole(s.Env), // an image could set Sett's own variables
		WorkingDir:  s.Dir,
		User:        c.User,
		Labels:      b.labels(s.Labels),
		StopSignal:  "SIGTERM",
		StopTimeout: &stop,
		// The image's own check would run beside the tool and use its processor.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	switch {
	case len(c.Entrypoint) > 0:
		cfg.Entrypoint = slices.Clone(c.Entrypoint)
	case c.Binary != "":
		cfg.Entrypoint = []string{image.Binary}
	}
	if c.Socket {
		cfg.Env = append(cfg.Env, "DOCKER_HOST=unix://"+socketTarget)
	}
	return cfg
}

// hostConfig holds the hardening, which every container has.
func (b *shaper) hostConfig(s runtime.Spec, mounts []mount.Mount) *container.HostConfig {
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
		Resources:     b.resources(c),
	}
	if c.Restart {
		h.RestartPolicy.Name = container.RestartPolicyUnlessStopped
	}
	if c.Memory > 0 {
		// /dev/shm counts as memory, too, and keeps its content after a tool has ended.
		h.ShmSize = min(shmSize, c.Memory/8)
	}
	if c.ToHost {
		h.ExtraHosts = []string{runtime.HostName + ":host-gateway"}
	}
	if c.Tmp > 0 {
		h.Tmpfs = map[string]string{"/tmp": fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,size=%d", c.Tmp)}
	}
	if c.Socket {
		h.GroupAdd = b.sockets.group(c.User)
	}
	if b.facts.SELinux && slices.ContainsFunc(mounts, func(m mount.Mount) bool { return m.Type == mount.TypeBind }) {
		h.SecurityOpt = append(h.SecurityOpt, "label=disable") // Sett must not relabel the user's files
	}
	if b.facts.UserNamespaces {
		h.UsernsMode = "host" // or the workspace's owner would be another user inside
	}
	return h
}

func (b *shaper) resources(c runtime.Container) container.Resources {
	// The engine refuses a limit above its processors; sett.yml, or a default, may come
	// from a bigger machine.
	cpus := c.CPUs
	if b.facts.CPUs > 0 {
		cpus = min(cpus, float64(b.facts.CPUs))
	}
	r := container.Resources{Memory: c.Memory, MemorySwap: c.Memory, MemoryReservation: c.MemoryKept, NanoCPUs: int64(cpus * 1e9)}
	if c.CPUsKept > 0 {
		r.CPUShares = max(2, int64(c.CPUsKept*cpuShare))
	}
	if c.Pids > 0 {
		r.PidsLimit = &c.Pids
	}
	return r
}

// volumeName matches a volume's name, and no path.
var volumeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`) })

// mounts returns the unit's volumes and directories of the host, each checked.
func (b *shaper) mounts(ctx context.Context, s runtime.Spec) ([]mount.Mount, error) {
	var all []mount.Mount
	want := s.Container.Mounts
	if b := s.Container.Binary; b != "" {
		want = append(slices.Clone(want), runtime.Mount{Source: b, Volume: true, Target: image.BinaryDir, ReadOnly: true})
	}
	for _, m := range want {
		if !path.IsAbs(m.Target) {
			return nil, fmt.Errorf("mount %s: its place in the container, %q, is not an absolute path", m.Source, m.Target)
		}
		to := mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: path.Clean(m.Target), ReadOnly: m.ReadOnly}
		switch {
		case m.Volume && !volumeName().MatchString(m.Source):
			return nil, fmt.Errorf("mount %q: not the name of a volume", m.Source)
		case m.Volume:
			// Without NoCopy, an image could fill a volume before its owner does.
			to.Type, to.VolumeOptions = mount.TypeVolume, &mount.VolumeOptions{NoCopy: true, Labels: b.volumeLabels(m.Source)}
		default:
			if err := refuseSocket(m.Source, b.sockets.all(ctx)); err != nil {
				return nil, err
			}
		}
		all = append(all, to)
	}
	if s.Container.Socket {
		all = append(all, mount.Mount{Type: mount.TypeBind, Source: b.sockets.source(), Target: socketTarget})
	}
	return all, nil
}

// known are the labels with a meaning. A container has every one of them, empty where
// it does not apply: otherwise it would inherit the label from its image, whose maker
// may have set it.
var known = []string{
	runtime.LabelInstance, runtime.LabelComponent, runtime.LabelAgent, runtime.LabelRole, runtime.LabelRun,
	runtime.LabelIncarnation, runtime.LabelClaim, runtime.LabelAttempt, runtime.LabelTree, runtime.LabelConfig,
	runtime.LabelSett, runtime.LabelPin, runtime.LabelWorkspace, runtime.LabelStarted,
}

// labels are a container's: the instance's and the unit's own.
func (b *shaper) labels(own runtime.Labels) map[string]string {
	all := b.o.owned()
	for k, v := range own {
		if k != runtime.LabelInstance {
			all[k] = v
		}
	}
	for _, k := range known {
		all[k] += ""
	}
	return all
}

// ownLabels is the inverse: the labels of a container's unit.
func ownLabels(all map[string]string) runtime.Labels {
	own := runtime.Labels{}
	for k, v := range all {
		if v != "" && strings.HasPrefix(k, "sett.") {
			own[k] = v
		}
	}
	return own
}

// volumeLabels are those of a volume that the engine makes for the first unit that
// needs it. The instance's own volumes get its labels. A binary volume that the engine
// makes so is empty and of no use; its label lets Purge find and remove it.
func (b *shaper) volumeLabels(name string) map[string]string {
	switch {
	case strings.HasPrefix(name, image.VolumePrefix):
		return image.VolumeLabels()
	case !strings.HasPrefix(name, b.names.prefix()):
		return nil
	}
	return b.o.owned()
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/docker"
)

// The names of images in messages, besides agents'.
const (
	redisImage        = "redis"
	orchestratorImage = "orchestrator"
)

func agentImage(agent string) string { return "agent " + agent }

// supply is where a start has images and the binary's volumes from: the engine, or
// for a dry run what makes nothing and takes down what would have been made.
type supply interface {
	Control(ctx context.Context, x docker.Executable) (docker.Image, error)
	Images(ctx context.Context, wants []docker.Want, p docker.Progress) (map[string]docker.Image, error)
	BinaryVolume(ctx context.Context, control docker.Image, digest12, arch string, labels runtime.Labels) (name string, release func(), err error)
}

// images gets what containers are made of: sett itself first, since builds may copy
// from it, then all others at once.
func (l *containerLauncher) images(ctx context.Context) error {
	arch := l.engine.Facts().Arch
	exe, err := l.a.linuxExecutable(arch)
	if err != nil {
		return err
	}
	if l.control, err = l.supply.Control(ctx, exe); err != nil {
		return role.Fail(role.Environment, fmt.Errorf("make sett's own image: %w", err), "")
	}
	got, err := l.supply.Images(ctx, l.wanted(), func(name, line string) { l.a.sayf("  %s: %s\n", clean(name), clean(line)) })
	if err != nil {
		return l.noImages(ctx, err)
	}
	l.redis = got[redisImage]
	binaries := &binaries{l: l, volumes: map[string]string{}, controls: map[string]docker.Image{arch: l.control}}
	l.brain = program{image: l.control.ID}
	if image, own := got[orchestratorImage]; own {
		if l.brain, err = binaries.program(ctx, image); err != nil {
			return err
		}
	}
	for i := range l.c.Agents {
		agent := &l.c.Agents[i]
		p, err := binaries.program(ctx, got[agentImage(agent.Name)])
		if err != nil {
			return fmt.Errorf("agent %s: %w", agent.Name, err)
		}
		agent.Resolved = &config.Resolved{Image: p.image, Binary: p.binary, Program: p.entrypoint}
	}
	return l.notifierImage(ctx, binaries, got)
}

// wanted lists the images that there have to be.
func (l *containerLauncher) wanted() []docker.Want {
	var all []docker.Want
	if l.c.Redis.URL == "" && !l.embedded() {
		all = append(all, docker.Want{Name: redisImage, Ref: l.c.Services.Redis.Image})
	}
	if ref := l.c.Services.Orchestrator.Image; ref != "" && !l.onHost() {
		all = append(all, docker.Want{Name: orchestratorImage, Ref: ref})
	}
	if n := l.c.Notify; n != nil && n.Image != "" {
		all = append(all, docker.Want{Name: runtime.ComponentNotifier, Ref: n.Image})
	}
	for _, agent := range l.c.Agents {
		want := docker.Want{Name: agentImage(agent.Name), Ref: agent.Image}
		if b := agent.Build; b != nil {
			dir := b.Context
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(filepath.Dir(l.in.ConfigFile), dir)
			}
			want.Ref = "sett-" + l.in.Name + ".agent-" + agent.Name + ":latest"
			want.Build = &docker.Build{Context: dir, Dockerfile: b.Dockerfile, Args: b.Args}
			want.Labels = l.in.labels()
		}
		all = append(all, want)
	}
	return all
}

// noImages is the error about images that cannot be had.
func (l *containerLauncher) noImages(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var missing *docker.MissingError
	if !errors.As(err, &missing) {
		return err
	}
	hint := "docker pull and docker build show more of what is wrong"
	if slices.ContainsFunc(missing.Images, func(m docker.Missing) bool { return m.Name == redisImage }) {
		hint = "sett up --embedded uses sett's own blackboard, which needs no Redis image"
	}
	return role.Fail(role.Environment, errors.New(cleanText(err.Error())), "%s", hint)
}

// binaries puts the sett binary where images have none, once for each architecture.
type binaries struct {
	l        *containerLauncher
	mu       sync.Mutex
	volumes  map[string]string
	controls map[string]docker.Image
}

// isSett says whether an image's entrypoint is the sett binary already.
func isSett(entrypoint []string) bool {
	return len(entrypoint) > 0 && slices.Contains([]string{"sett", "cub", "sett-orchestrator"}, path.Base(entrypoint[0]))
}

// program says how the image is to run the sett binary.
func (b *binaries) program(ctx context.Context, image docker.Image) (program, error) {
	if image.OS != "" && image.OS != "linux" {
		return program{}, role.Fail(role.Usage, fmt.Errorf("image %s is for %s; containers are Linux", clean(image.Ref), clean(image.OS)), "")
	}
	if isSett(image.Entrypoint) {
		return program{image: image.ID, entrypoint: image.Entrypoint}, nil
	}
	volume, err := b.volume(ctx, image.Arch)
	return program{image: image.ID, binary: volume}, err
}

func (b *binaries) volume(ctx context.Context, arch string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if name, ok := b.volumes[arch]; ok {
		return name, nil
	}
	control, ok := b.controls[arch]
	if !ok {
		exe, err := b.l.a.linuxExecutable(arch)
		if err != nil {
			return "", err
		}
		if control, err = b.l.supply.Control(ctx, exe); err != nil {
			return "", role.Fail(role.Environment, fmt.Errorf("make sett's own image for %s: %w", arch, err), "")
		}
		b.controls[arch] = control
	}
	digest := control.Ref[strings.LastIndexByte(control.Ref, '-')+1:]
	name, release, err := b.l.supply.BinaryVolume(ctx, control, digest, arch, b.l.in.labels())
	if err != nil {
		return "", role.Fail(role.Environment, fmt.Errorf("bring the sett binary in: %w", err), "")
	}
	b.l.release = append(b.l.release, release)
	b.volumes[arch] = name
	return name, nil
}

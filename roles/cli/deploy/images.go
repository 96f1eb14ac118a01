package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
)

// The names of images in messages, besides agents'.
const (
	redisImage        = "redis"
	orchestratorImage = "orchestrator"
)

// repositoryKey is the key of sett.yml that names the repository's image.
const repositoryKey = "services.repository.image"

func agentImage(agent string) string { return "agent " + agent }

// supply is the source of images and of the binary's volumes: the engine, or a preview of
// it that makes nothing.
type supply interface {
	Control(ctx context.Context, x executable) (containerImage, error)
	Images(ctx context.Context, wants []imageWant, p imageProgress) (map[string]containerImage, error)
	BinaryVolume(ctx context.Context, control containerImage, digest12, arch string, labels runtime.Labels) (name string, release func(), err error)
}

// materials are the images of an instance, and the volumes of the sett binary for images
// that have none, one for each architecture.
type materials struct {
	l            *containerLauncher
	supply       supply
	volumes      map[string]string  // by architecture
	pins         []func()           // of volumes that must not go before they are used
	holder       *instance.Instance // the containers that pin them are its; nil: the one of the images
	unobtainable error

	// Of materials that are made, not previewed:
	probe    func(ctx context.Context, image, program string, labels runtime.Labels) (bool, error) // whether an image has a program; nil: a preview
	rights   []config.Right                                                                        // of sett.yml
	replaced bool                                                                                  // an agent's image is in the place of the repository's default one
}

// program is the way in which an image runs the sett binary: always that of this sett. An
// image's own might be called sett, and be that alone.
type program struct {
	image  string // id
	binary string // volume with the binary; empty: it is sett's own image
}

// id changes with the image and with the sett binary that is brought into it.
func (p program) id() string { return strings.TrimSpace(p.image + " " + p.binary) }

// release lets the volumes go.
func (m *materials) release() {
	for _, unpin := range m.pins {
		unpin()
	}
	m.pins = nil
}

// get gets sett's own image first, since builds may copy from it, then all others at once.
func (m *materials) get(ctx context.Context) (err error) {
	l, c := m.l, m.l.j.c
	if l.control, err = m.controlFor(ctx, l.engine.Facts().Arch); err != nil {
		return err
	}
	wants := wantedImages(c, l.j.in, l.j.at.Lookup)
	if l.j.dryRun {
		for i := range wants {
			wants[i].Before = l.j.in.Builds[wants[i].Name]
		}
	}
	shown := showImages(ctx, l.j.at.Terminal)
	got, err := m.supply.Images(ctx, wants, shown.step)
	shown.end()
	if err != nil {
		got, err = m.instead(ctx, wants, err)
	}
	if err != nil {
		m.unobtainable = err
		return noImages(ctx, err, noDocker)
	}
	l.redis = got[redisImage]
	m.noteBuilds(got)
	if err := m.orchestrator(ctx, got); err != nil {
		return err
	}
	for i := range c.Agents {
		agent := &c.Agents[i]
		if agent.Image == "" && agent.Build == nil { // sett llm needs nothing else
			agent.Resolved = &config.Resolved{Image: l.control.ID}
			continue
		}
		p, err := m.program(ctx, got[agentImage(agent.Name)])
		if err != nil {
			return fmt.Errorf("agent %s: %w", agent.Name, err)
		}
		agent.Resolved = &config.Resolved{Image: p.image, Binary: p.binary}
	}
	if len(c.Models) > 0 {
		c.Services.ModelGateway.Resolved = &config.Resolved{Image: l.control.ID}
	}
	if err := m.notifier(ctx, got); err != nil {
		return err
	}
	return m.repository(ctx, got)
}

// noteBuilds notes the inputs of the builds that were made, for later dry runs.
func (m *materials) noteBuilds(got map[string]containerImage) {
	if m.probe == nil {
		return
	}
	m.l.j.in.Builds = map[string]string{}
	for user, i := range got {
		if i.Inputs != "" {
			m.l.j.in.Builds[user] = i.Inputs
		}
	}
}

// orchestrator settles the orchestrator's image, which gets the engine's socket.
func (m *materials) orchestrator(ctx context.Context, got map[string]containerImage) error {
	m.l.brain = program{image: m.l.control.ID}
	foreign, named := got[orchestratorImage]
	if !named {
		return nil
	}
	if err := m.l.j.allowOrchestrator(foreign); err != nil {
		return err
	}
	var err error
	m.l.brain, err = m.program(ctx, foreign)
	return err
}

// notifier settles the notifier's image: the one that sett.yml names, else the first
// agent's, which has the programs that tools need.
func (m *materials) notifier(ctx context.Context, got map[string]containerImage) error {
	c := m.l.j.c
	if c.Notify == nil {
		return nil
	}
	own, named := got[runtime.ComponentNotifier]
	if !named {
		if own = got[agentImage(c.Agents[0].Name)]; own.ID == "" { // it is sett llm, in sett's own image
			own = m.l.control
		}
	}
	p, err := m.program(ctx, own)
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	c.Notify.Resolved = &config.Resolved{Image: p.image, Binary: p.binary}
	return nil
}

// repository settles the image of the repository, and its network: it is reached from
// every network that has an agent with a tree, and from no other.
func (m *materials) repository(ctx context.Context, got map[string]containerImage) error {
	own, wanted := got[runtime.ComponentRepository]
	if !wanted {
		return nil
	}
	if err := m.noteDefault(own); err != nil {
		return err
	}
	p, err := m.program(ctx, own)
	if err != nil {
		return fmt.Errorf("%s: %w", repositoryKey, err)
	}
	c := m.l.j.c
	var found config.Resolved // the directories that it needs
	if r := c.Services.Repository.Resolved; r != nil {
		found.Outside = r.Outside
	}
	found.Image, found.Binary = p.image, p.binary
	c.Services.Repository.Resolved = &found
	c.Services.Repository.Network = runtime.NetworkInternal
	for _, agent := range c.Agents {
		if len(agent.Trees()) > 0 && runtime.AgentNetwork(agent.Network, c.Redis.URL == "") == runtime.NetworkFull {
			c.Services.Repository.Network = runtime.NetworkFull
		}
	}
	return nil
}

// Foresee says how sett up would get the images of an instance, besides sett's own;
// missing are those that it would not get.
func Foresee(ctx context.Context, e *containerEngine, c *config.Config, in *instance.Instance, lookup func(string) (string, bool)) (images []PlannedImage, missing []missingImage, err error) { //nolint:revive // doctor reads its fields only
	preview := newStore(e).Preview()
	_, err = preview.Images(ctx, wantedImages(c, in, lookup), nil)
	var f engineFacts
	f.foresee(preview.Foreseen())
	var lacks *missingError
	if errors.As(err, &lacks) {
		missing, err = lacks.Images, nil
	}
	return f.images, missing, err
}

// wantedImages lists the images that an instance needs, besides sett's own. Arguments of
// builds without a value that they require are left out, see HostValues.
func wantedImages(c *config.Config, in *instance.Instance, lookup func(string) (string, bool)) []imageWant {
	var all []imageWant
	if c.Redis.URL == "" && !c.Services.Redis.Embedded {
		all = append(all, imageWant{Name: redisImage, Ref: c.Services.Redis.Image})
	}
	if ref := c.Services.Orchestrator.Image; ref != "" && c.Orchestrator.Run != config.RunHost {
		all = append(all, imageWant{Name: orchestratorImage, Ref: ref})
	}
	if n := c.Notify; n != nil && n.Image != "" {
		all = append(all, imageWant{Name: runtime.ComponentNotifier, Ref: n.Image})
	}
	if c.HasTrees() {
		all = append(all, imageWant{Name: runtime.ComponentRepository, Ref: c.Services.Repository.Image})
	}
	for _, agent := range c.Agents {
		if agent.Image == "" && agent.Build == nil {
			continue
		}
		want := imageWant{Name: agentImage(agent.Name), Ref: agent.Image}
		if b := agent.Build; b != nil {
			dir := b.Context
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(filepath.Dir(in.ConfigFile), dir)
			}
			args, _, _ := b.Values(lookup)
			want.Ref = "sett-" + in.Name + ".agent-" + agent.Name + ":latest"
			want.Build = &imageBuild{Root: in.Workspace, Context: dir, Dockerfile: b.Dockerfile, Args: args}
			want.Labels = in.Labels()
		}
		all = append(all, want)
	}
	return all
}

// noImages is the error about images that are missing. It names the ways on; otherWay is the
// one without containers.
func noImages(ctx context.Context, err error, otherWay string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var missing *missingError
	if !errors.As(err, &missing) {
		return err
	}
	hint := "docker pull and docker build show more of what is wrong"
	lacks := func(name string) bool {
		return slices.ContainsFunc(missing.Images, func(m missingImage) bool { return m.Name == name })
	}
	var ways []string
	if lacks(redisImage) {
		ways = append(ways, "sett up --embedded uses sett's own blackboard, which needs no Redis image")
	}
	if lacks(runtime.ComponentRepository) {
		ways = append(ways, repositoryKey+" in "+instance.ConfigName+" names another image with git, such as an agent's")
	}
	ways = append(ways, agentWays(missing.Images, otherWay)...)
	if len(ways) > 0 {
		hint = strings.Join(ways, "; ")
	}
	return role.Fail(role.Environment, errors.New(role.CleanText(err.Error())), "%s", hint)
}

// agentWays are the ways on for agents without an image, by the reason.
func agentWays(missing []missingImage, otherWay string) (ways []string) {
	unobtainable := false
	for _, way := range []struct {
		fault imageFault
		text  string
	}{
		{faultPull, "another image in " + instance.ConfigName + ", such as one that docker images lists"},
		{faultBase, "another base image in the Dockerfile, such as one that docker images lists"},
		{faultFiles, "build in " + instance.ConfigName + " names the context, from the folder of " + instance.ConfigName + ", and dockerfile, from the context"},
		{faultDockerfile, "mend the Dockerfile; docker build says the same of it"},
		{faultBuildKit, "Sett builds with the engine's classic builder, which has no RUN --mount, no heredocs and nothing else of BuildKit: write the Dockerfile without, or build it yourself (docker build -t NAME CONTEXT) and write image: NAME in place of build"},
		{faultStep, "mend that step of the Dockerfile, or a file that it needs from the context; docker build shows more"},
	} {
		if slices.ContainsFunc(missing, func(m missingImage) bool { return m.Fault == way.fault && strings.HasPrefix(m.Name, agentImage("")) }) {
			ways = append(ways, way.text)
			unobtainable = unobtainable || way.fault == faultPull || way.fault == faultBase
		}
	}
	if unobtainable {
		ways = append(ways, otherWay)
	}
	return ways
}

// program brings the sett binary into an image, whatever that has as its own.
func (m *materials) program(ctx context.Context, i containerImage) (program, error) {
	if i.OS != "" && i.OS != "linux" {
		return program{}, role.Fail(role.Usage, fmt.Errorf("image %s is for %s; containers are Linux", role.Clean(i.Ref), role.Clean(i.OS)), "")
	}
	volume, err := m.volume(ctx, i.Arch)
	return program{image: i.ID, binary: volume}, err
}

// controlFor returns sett's own image for an architecture.
func (m *materials) controlFor(ctx context.Context, arch string) (containerImage, error) {
	exe, err := LinuxExecutable(m.l.j.at.Env, arch)
	if err != nil {
		return containerImage{}, err
	}
	control, err := m.supply.Control(ctx, exe)
	if err != nil {
		err = role.Fail(role.Environment, fmt.Errorf("make sett's own image for %s: %w", arch, err), "")
	}
	return control, err
}

// volume returns the volume with the binary for an architecture.
func (m *materials) volume(ctx context.Context, arch string) (name string, err error) {
	if name, ok := m.volumes[arch]; ok {
		return name, nil
	}
	control := m.l.control
	if arch != m.l.engine.Facts().Arch {
		if control, err = m.controlFor(ctx, arch); err != nil {
			return "", err
		}
	}
	digest := control.Ref[strings.LastIndexByte(control.Ref, '-')+1:]
	name, unpin, err := m.supply.BinaryVolume(ctx, control, digest, arch, cmp.Or(m.holder, m.l.j.in).Labels())
	if err != nil {
		return "", role.Fail(role.Environment, fmt.Errorf("bring the sett binary in: %w", err), "")
	}
	m.pins = append(m.pins, unpin)
	m.volumes[arch] = name
	return name, nil
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/network"

	"sett/runtime"
)

// What would be done to have an image, a volume or a network.
const (
	ActionPresent = "present" // nothing: it is there
	ActionPull    = "pull"
	ActionBuild   = "build"
	ActionMake    = "make"
)

// Foreseen is an image or a volume that a start would use.
type Foreseen struct {
	Name   string // whose it is, as Want has it
	Ref    string // the name it has on the engine
	Action string // one of the Action constants
	Base   []Base // of what would be built, each once
}

// Base is an image that another is built on.
type Base struct {
	Ref     string
	Present bool // otherwise the engine pulls it when it builds
}

// Preview answers what an Engine is asked for at a start, and makes nothing: what is
// not there comes back without an id. It takes down what would have been done. It is
// safe for concurrent use.
type Preview struct {
	e       *Engine
	mu      sync.Mutex
	images  []Foreseen
	volumes []Foreseen
}

// Preview returns a preview of what is made on the engine.
func (e *Engine) Preview() *Preview { return &Preview{e: e} }

// Foreseen returns what was asked for since the preview was made, in order.
func (p *Preview) Foreseen() (images, volumes []Foreseen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.images), slices.Clone(p.volumes)
}

// Control is what Engine.Control would return.
func (p *Preview) Control(ctx context.Context, x Executable) (Image, error) {
	b, err := readBinary(x)
	if err != nil {
		return Image{}, fmt.Errorf("make control image: %w", err)
	}
	i, _, err := p.e.findControl(ctx, b)
	if err != nil {
		return Image{}, fmt.Errorf("make control image: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.images = append(p.images, Foreseen{Name: "sett", Ref: i.Ref, Action: unless(i.ID != "", ActionMake)})
	return i, nil
}

// unless is what is to be done about something that may be there.
func unless(present bool, action string) string {
	if present {
		return ActionPresent
	}
	return action
}

// Images returns the images wanted, as far as they are there; an image that is built
// is the one that the last build made. An image that is not there is taken for one
// of the engine's own platform. What cannot be had whatever a registry says is a
// MissingError, as of Engine.Images.
func (p *Preview) Images(ctx context.Context, wants []Want, _ Progress) (map[string]Image, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	images := map[string]Image{}
	var missing []Missing
	for _, w := range wants {
		f, i, err := p.look(ctx, w)
		switch {
		case err == nil:
			p.images, images[w.Name] = append(p.images, f), i
		case ctx.Err() != nil, errors.Is(err, ErrEngine):
			return nil, fmt.Errorf("get image %s: %w", w.Ref, err)
		default:
			missing = append(missing, Missing{w.Name, w.Ref, err.Error()})
		}
	}
	if len(missing) > 0 {
		return nil, &MissingError{missing}
	}
	return images, nil
}

// look finds out how one image would be had.
func (p *Preview) look(ctx context.Context, w Want) (Foreseen, Image, error) {
	ref, err := normalReference(w.Ref)
	if err != nil {
		return Foreseen{}, Image{}, err
	}
	f := Foreseen{Name: w.Name, Ref: ref, Action: ActionBuild}
	if w.Build != nil {
		s, err := readSources(*w.Build)
		if err != nil {
			return f, Image{}, err
		}
		for _, base := range labelStages(s.dockerfile, "").bases(w.Build.Args) {
			there, err := p.e.present(ctx, base)
			if err != nil {
				return f, Image{}, err
			}
			f.Base = append(f.Base, Base{base, there.ID != "" || p.e.isLatestControl(base)}) // that is made before any build
		}
	}
	i, err := p.e.present(ctx, ref)
	if err != nil {
		return f, Image{}, err
	}
	if w.Build == nil {
		f.Action = unless(i.ID != "", ActionPull)
	}
	if i.ID == "" {
		i = Image{Ref: ref, OS: p.e.facts.OS, Arch: p.e.facts.Arch}
	}
	return f, i, nil
}

// BinaryVolume is what Engine.BinaryVolume would return.
func (p *Preview) BinaryVolume(ctx context.Context, _ Image, digest12, arch string, _ runtime.Labels) (name string, release func(), err error) {
	name = binaryVolumeName(digest12, arch)
	there, err := p.HasVolume(ctx, name)
	if err != nil {
		return "", nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.volumes = append(p.volumes, Foreseen{Name: "sett", Ref: name, Action: unless(there, ActionMake)})
	return name, func() {}, nil
}

// HasVolume says whether the engine has a volume of that name.
func (p *Preview) HasVolume(ctx context.Context, name string) (bool, error) {
	_, err := p.e.api.VolumeInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, plain(err)
}

// HasNetwork says whether the engine has a network of that name.
func (p *Preview) HasNetwork(ctx context.Context, name string) (bool, error) {
	_, err := p.e.api.NetworkInspect(ctx, name, network.InspectOptions{})
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, plain(err)
}

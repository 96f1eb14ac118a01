package image

import (
	"context"
	"slices"
	"sync"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// The action that provides an image, a volume or a network.
const (
	ActionPresent = "present" // none: it exists, and a build would make it again
	ActionPull    = "pull"
	ActionBuild   = "build"
	ActionMake    = "make"
)

// Foreseen is an image or a volume that a start would use.
type Foreseen struct {
	Name   string // of its user, as in Want
	Ref    string // its name on the engine
	Action string // one of the Action constants
	Base   []Base // of a build, each once
}

// Base is an image that another is built on.
type Base struct {
	Ref     string
	Present bool // otherwise the build pulls it
}

// Preview has the methods of a Store that a start uses, and makes nothing: a missing
// image comes back without an id. It records the actions of the Store. It is safe for
// concurrent use.
type Preview struct {
	store   *Store
	mu      sync.Mutex
	images  []Foreseen
	volumes []Foreseen
	inputs  map[string]string // of builds, so that users who share one read its files once
}

// Preview returns a preview of the store's actions.
func (s *Store) Preview() *Preview { return &Preview{store: s, inputs: map[string]string{}} }

// Foreseen returns the recorded actions, in order.
func (p *Preview) Foreseen() (images, volumes []Foreseen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.images), slices.Clone(p.volumes)
}

// Control previews Store.Control.
func (p *Preview) Control(ctx context.Context, x Executable) (i Image, err error) {
	defer engine.Wrap(&err, "make control image")
	b, err := readBinary(x)
	if err != nil {
		return Image{}, err
	}
	if i, _, err = p.store.findControl(ctx, b); err != nil {
		return Image{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.images = append(p.images, Foreseen{Name: "sett", Ref: i.Ref, Action: unless(i.ID != "", ActionMake)})
	return i, nil
}

// unless is the action, or none for something that exists.
func unless(present bool, action string) string {
	if present {
		return ActionPresent
	}
	return action
}

// Images previews Store.Images. A build returns the image of the last build, and an
// image that does not exist counts as one of the engine's own platform. An image that
// no registry could provide is in a MissingError, as of Store.Images.
func (p *Preview) Images(ctx context.Context, wants []Want, _ Progress) (map[string]Image, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := gathered{images: map[string]Image{}}
	jobs := jobsOf(wants)
	for _, w := range wants {
		f, i, err := p.look(ctx, w)
		if err == nil {
			p.images = append(p.images, f)
		}
		_ = jobOf(jobs, &w)
		if err := g.add(ctx, w, i, err); err != nil {
			return nil, err
		}
	}
	return g.result()
}

// look finds the action for one image.
func (p *Preview) look(ctx context.Context, w Want) (Foreseen, Image, error) {
	ref, err := normalReference(w.Ref)
	if err != nil {
		return Foreseen{}, Image{}, err
	}
	f := Foreseen{Name: w.Name, Ref: ref, Action: ActionBuild}
	var src sources
	if w.Build != nil {
		if src, err = readSources(*w.Build); err != nil {
			return f, Image{}, faulty(FaultFiles, err)
		}
		for _, base := range labelStages(src.dockerfile, "").bases(w.Build.Args) {
			there, err := p.store.present(ctx, base)
			if err != nil {
				return f, Image{}, err
			}
			f.Base = append(f.Base, Base{base, there.ID != "" || p.store.isLatestControl(base)}) // a start makes it before any build
		}
	}
	i, err := p.store.present(ctx, ref)
	if err != nil {
		return f, Image{}, err
	}
	if w.Build == nil {
		f.Action = unless(i.ID != "", ActionPull)
	} else if w.Before != "" && i.ID != "" {
		key := w.sameBuild() + i.ID
		if _, known := p.inputs[key]; !known {
			if p.inputs[key], err = p.store.foreseen(ctx, w, src, i.ID); err != nil {
				return f, Image{}, faulty(FaultFiles, err)
			}
		}
		f.Action = unless(p.inputs[key] == w.Before, ActionBuild)
	}
	if i.ID == "" {
		i = Image{Ref: ref, OS: p.store.facts.OS, Arch: p.store.facts.Arch}
	}
	return f, i, nil
}

// BinaryVolume previews Store.BinaryVolume.
func (p *Preview) BinaryVolume(ctx context.Context, _ Image, digest12, arch string, _ runtime.Labels) (name string, release func(), err error) {
	name = binaryVolumeName(digest12, arch)
	there, err := p.store.e.HasVolume(ctx, name)
	if err != nil {
		return "", nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.volumes = append(p.volumes, Foreseen{Name: "sett", Ref: name, Action: unless(there, ActionMake)})
	return name, func() {}, nil
}

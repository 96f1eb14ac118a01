package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/containerd/errdefs"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// Want describes a wanted image.
type Want struct {
	Name   string // of its user, for messages: "agent coder", "redis"
	Ref    string // the image's name; with Build, its new tag
	Build  *Build // nil: a missing image is pulled
	Labels runtime.Labels
}

// Build describes a build.
type Build struct {
	Root       string // of the repository, absolute: no link leads out of it; empty: that is Context
	Context    string // absolute path of a directory
	Dockerfile string // relative to Context, in it or outside; empty: Dockerfile
	Args       map[string]string
}

// Missing is an image that could not be pulled or built.
type Missing struct {
	Name, Ref string
	Reason    string // one line, and below it the end of a failed build's output
}

// MissingError lists every missing image.
type MissingError struct{ Images []Missing }

func (e *MissingError) Error() string {
	lines := []string{"get images: 1 image is missing and could not be pulled or built"}
	type fault struct{ ref, reason string }
	users := map[fault][]string{}
	var faults []fault // one line for all that share an image
	for _, m := range e.Images {
		f := fault{m.Ref, m.Reason}
		if users[f] == nil {
			faults = append(faults, f)
		}
		users[f] = append(users[f], m.Name)
	}
	if n := len(faults); n > 1 {
		lines[0] = fmt.Sprintf("get images: %d images are missing and could not be pulled or built", n)
	}
	for _, f := range faults {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", strings.Join(users[f], ", "), f.ref, f.reason))
	}
	return strings.Join(lines, "\n")
}

// gatherers is how many images are pulled or built at once.
const gatherers = 4

// Images returns the wanted images, by the wants' names. It pulls missing images and
// builds images with Build, several at once; the engine's cache skips unchanged steps.
// The error is a MissingError that lists every image it could not provide, or an
// engine.ErrEngine.
func (s *Store) Images(ctx context.Context, wants []Want, p Progress) (map[string]Image, error) {
	say := p.talk()
	gets := map[string]func() (Image, error){} // an image with several users is provided once
	keys := make([]string, len(wants))
	slots := make(chan struct{}, gatherers)
	var wg sync.WaitGroup
	for i, w := range wants {
		ref, err := normalReference(w.Ref)
		if err == nil {
			w.Ref = ref
		}
		keys[i] = fmt.Sprint(w.Build != nil, " ", w.Ref)
		if gets[keys[i]] != nil {
			continue
		}
		get := sync.OnceValues(func() (Image, error) {
			if err != nil {
				return Image{}, err
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			return s.get(ctx, w, say)
		})
		gets[keys[i]] = get
		wg.Go(func() { _, _ = get() })
	}
	wg.Wait()
	g := gathered{images: map[string]Image{}}
	for i, w := range wants {
		image, err := gets[keys[i]]()
		if err := g.add(ctx, w, image, err); err != nil {
			return nil, err
		}
	}
	return g.result()
}

// gathered collects images, and the reasons for missing ones.
type gathered struct {
	images  map[string]Image
	missing []Missing
}

// add returns the errors that concern more than this image.
func (g *gathered) add(ctx context.Context, w Want, i Image, err error) error {
	switch {
	case err == nil:
		g.images[w.Name] = i
	case ctx.Err() != nil, errors.Is(err, engine.ErrEngine):
		return fmt.Errorf("get image %s: %w", w.Ref, err)
	default:
		g.missing = append(g.missing, Missing{w.Name, w.Ref, err.Error()})
	}
	return nil
}

func (g *gathered) result() (map[string]Image, error) {
	if len(g.missing) > 0 {
		return nil, &MissingError{g.missing}
	}
	return g.images, nil
}

// get returns an image: it builds it, or pulls it if it is missing. Its error is for
// people, or an engine.ErrEngine.
func (s *Store) get(ctx context.Context, w Want, say Progress) (Image, error) {
	if w.Build != nil {
		return s.build(ctx, w, say)
	}
	i, err := s.present(ctx, w.Ref)
	if err != nil || i.ID != "" {
		return i, err
	}
	if err := s.pull(ctx, w, say); err != nil {
		return Image{}, err
	}
	i, _, err = s.image(ctx, w.Ref)
	return i, engine.Plain(err)
}

// present returns an image of the engine; without an id, it would have to be pulled. Its
// error is for people, or an engine.ErrEngine.
func (s *Store) present(ctx context.Context, ref string) (Image, error) {
	i, _, err := s.image(ctx, ref)
	switch {
	case err == nil:
		return i, nil
	case !errdefs.IsNotFound(err):
		return Image{}, engine.Plain(err)
	case strings.HasPrefix(ref, "sha256:"):
		return Image{}, errors.New("the engine has no image of this id, and ids cannot be pulled")
	}
	return Image{}, nil
}

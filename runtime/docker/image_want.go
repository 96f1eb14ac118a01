package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/containerd/errdefs"

	"sett/runtime"
)

// Want is an image that somebody needs.
type Want struct {
	Name   string // whose it is, for messages: "agent coder", "redis"
	Ref    string // the image's name, or with Build the tag that it gets
	Build  *Build // nil: it is pulled where the engine has it not
	Labels runtime.Labels
}

// Build is how an image is made.
type Build struct {
	Context    string // absolute path of a directory
	Dockerfile string // relative to Context, in it or outside; empty: Dockerfile
	Args       map[string]string
}

// Missing is an image that cannot be had.
type Missing struct {
	Name, Ref string
	Reason    string // one line, and where a build failed the last of its output below
}

// MissingError is every image of those wanted that cannot be had.
type MissingError struct{ Images []Missing }

func (e *MissingError) Error() string {
	lines := []string{fmt.Sprintf("get images: %d cannot be had", len(e.Images))}
	for _, m := range e.Images {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", m.Name, m.Ref, m.Reason))
	}
	return strings.Join(lines, "\n")
}

// gatherers is how many images are pulled or built at the same time.
const gatherers = 4

// Images returns the images wanted, by the wants' names. What the engine has not is
// pulled, an image with Build is built (the engine finds out what of it is as it
// was), all side by side. The error is a MissingError that lists all that cannot be
// had, or an ErrEngine.
func (e *Engine) Images(ctx context.Context, wants []Want, p Progress) (map[string]Image, error) {
	say := p.talk()
	type result struct {
		image Image
		err   error
	}
	// An image that several want is gathered once.
	results := map[string]*result{}
	keys := make([]string, len(wants))
	slots := make(chan struct{}, gatherers)
	var wg sync.WaitGroup
	for i, w := range wants {
		ref, err := normalReference(w.Ref)
		keys[i] = fmt.Sprint(w.Build != nil, " ", ref)
		if err != nil {
			keys[i] = w.Name + " " + w.Ref
			results[keys[i]] = &result{err: err}
			continue
		}
		if results[keys[i]] != nil {
			continue
		}
		r := &result{}
		results[keys[i]] = r
		w.Ref = ref
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if w.Build != nil {
				r.image, r.err = e.build(ctx, w, say)
			} else {
				r.image, r.err = e.pullMissing(ctx, w, say)
			}
		})
	}
	wg.Wait()
	images := map[string]Image{}
	var missing []Missing
	for i, w := range wants {
		r := results[keys[i]]
		switch {
		case r.err == nil:
			images[w.Name] = r.image
		case ctx.Err() != nil, errors.Is(r.err, ErrEngine):
			return nil, fmt.Errorf("get image %s: %w", w.Ref, r.err)
		default:
			missing = append(missing, Missing{w.Name, w.Ref, r.err.Error()})
		}
	}
	if len(missing) > 0 {
		return nil, &MissingError{missing}
	}
	return images, nil
}

// pullMissing returns an image, pulled if the engine has it not. Its error is for
// people, or an ErrEngine.
func (e *Engine) pullMissing(ctx context.Context, w Want, say Progress) (Image, error) {
	i, err := e.present(ctx, w.Ref)
	if err != nil || i.ID != "" {
		return i, err
	}
	if err := e.pull(ctx, w, say); err != nil {
		return Image{}, err
	}
	i, _, err = e.image(ctx, w.Ref)
	return i, plain(err)
}

// present returns an image that the engine has; without an id it would have to be
// pulled. Its error is for people, or an ErrEngine.
func (e *Engine) present(ctx context.Context, ref string) (Image, error) {
	i, _, err := e.image(ctx, ref)
	switch {
	case err == nil:
		return i, nil
	case !errdefs.IsNotFound(err):
		return Image{}, plain(err)
	case strings.HasPrefix(ref, "sha256:"):
		return Image{}, errors.New("the engine has no image of this id, and ids cannot be pulled")
	}
	return Image{}, nil
}

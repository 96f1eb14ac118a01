// Package image provides the images of an engine that units run from: it pulls and
// builds them, makes the control image, which holds the sett binary and nothing
// else, and brings that binary into a volume for all other images. It starts no
// units.
package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"sett/runtime/docker/engine"
)

// Store is the images of an engine. It is safe for concurrent use.
type Store struct {
	e          *engine.Engine
	api        *client.Client
	at         engine.Endpoint // with the logins of registries
	facts      engine.Facts
	patience   time.Duration // with a silent registry
	repository string        // of control images, without their tags
}

// New returns the images of an engine.
func New(e *engine.Engine) *Store {
	return &Store{e: e, api: e.API(), at: e.Endpoint(), facts: e.Facts(), patience: pullStall, repository: controlRepository}
}

// Image is an image on the engine.
type Image struct {
	ID       string // of its content
	Ref      string // its name in the request, with its tag
	OS, Arch string // in Go's words
	Inputs   string // of a build: a digest by which a preview knows that the build would make it again; empty: it cannot
}

// image inspects an image; errdefs.IsNotFound when the engine lacks it.
func (s *Store) image(ctx context.Context, ref string) (Image, image.InspectResponse, error) {
	got, err := s.api.ImageInspect(ctx, ref)
	if err != nil {
		return Image{}, got, err
	}
	return Image{ID: got.ID, Ref: ref, OS: got.Os, Arch: got.Architecture}, got, nil
}

// imageLabels are those of an inspected image.
func imageLabels(got image.InspectResponse) map[string]string {
	if got.Config == nil {
		return nil
	}
	return got.Config.Labels
}

// normalReference reads the name of an image as the engine does: a name without tag or
// digest means the tag latest. It returns the short form that people write.
func normalReference(ref string) (string, error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "", errors.New("not a name of an image: " + strings.TrimPrefix(err.Error(), "invalid reference format: "))
	}
	return reference.FamiliarString(reference.TagNameOnly(named)), nil
}

// registryOf is the registry of an image.
func registryOf(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	return reference.Domain(named)
}

// removeImage removes one name or id. A missing image, or one in use, is no error.
func (s *Store) removeImage(ctx context.Context, ref string) (removed bool, err error) {
	_, err = s.api.ImageRemove(ctx, ref, image.RemoveOptions{})
	switch {
	case err == nil:
		return true, nil
	case errdefs.IsNotFound(err), errdefs.IsConflict(err):
		return false, nil
	case strings.Contains(err.Error(), "unrecognized image ID"): // 20.10 says so while somebody else removes it
		return false, nil
	}
	return false, fmt.Errorf("remove image %s: %w", ref, engine.Plain(err))
}

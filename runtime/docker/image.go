package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
)

// Image is one that the engine has.
type Image struct {
	ID         string // of its content, on this engine
	Ref        string // the name it was asked for by, with its tag
	OS, Arch   string // in Go's words
	Entrypoint []string
}

// image asks the engine for one; errdefs.IsNotFound when it has none.
func (e *Engine) image(ctx context.Context, ref string) (Image, image.InspectResponse, error) {
	got, err := e.api.ImageInspect(ctx, ref)
	if err != nil {
		return Image{}, got, err
	}
	i := Image{ID: got.ID, Ref: ref, OS: got.Os, Arch: got.Architecture}
	if got.Config != nil {
		i.Entrypoint = got.Config.Entrypoint
	}
	return i, got, nil
}

// imageLabels are those of an inspected image.
func imageLabels(got image.InspectResponse) map[string]string {
	if got.Config == nil {
		return nil
	}
	return got.Config.Labels
}

// normalReference reads the name of an image as the engine does: without a tag or digest
// it is the one tagged latest. The short form comes back, as people write it.
func normalReference(ref string) (string, error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "", errors.New("not a name of an image: " + strings.TrimPrefix(err.Error(), "invalid reference format: "))
	}
	return reference.FamiliarString(reference.TagNameOnly(named)), nil
}

// registryOf is the host that an image of this name comes from.
func registryOf(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	return reference.Domain(named)
}

// removeImage removes one name or id. What is not there, or still in use, is left.
func (e *Engine) removeImage(ctx context.Context, ref string) (removed bool, err error) {
	_, err = e.api.ImageRemove(ctx, ref, image.RemoveOptions{})
	switch {
	case err == nil:
		return true, nil
	case errdefs.IsNotFound(err), errdefs.IsConflict(err):
		return false, nil
	case strings.Contains(err.Error(), "unrecognized image ID"): // what 20.10 says of one that somebody removes at this moment
		return false, nil
	}
	return false, fmt.Errorf("remove image %s: %w", ref, plain(err))
}

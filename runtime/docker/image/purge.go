package image

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/image"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// Purge removes the images that were built for an instance. Of the things that all
// instances share, it removes the unused: binary volumes, and control images except
// sett:latest. It spares pulled images.
func (s *Store) Purge(ctx context.Context, instance string, now time.Time) error {
	return errors.Join(
		s.purgeImages(ctx, instance),
		engine.RemoveVolumes(ctx, s.api, engine.Labelled(runtime.LabelComponent+"="+ComponentBinary)),
		s.purgeControl(ctx, now),
	)
}

// purgeImages removes the images with the instance's label: named images, stages, and
// the remains of failed builds. An image becomes removable when all images made from it
// are gone.
//
// A user's own image, made from such an image or named by the user, has the label as
// well. It has another name, and stays with all its bases.
func (s *Store) purgeImages(ctx context.Context, instance string) error {
	prefix := "sett-" + instance + "."
	for {
		images, err := s.api.ImageList(ctx, image.ListOptions{All: true, Filters: engine.Labelled(runtime.LabelInstance + "=" + instance)})
		if err != nil {
			return fmt.Errorf("list images: %w", engine.Plain(err))
		}
		removed := 0
		for _, i := range images {
			n, err := s.removeNames(ctx, i, func(tag string) bool {
				return strings.HasPrefix(tag, prefix) || strings.Contains(tag, "/"+prefix)
			})
			if err != nil {
				return err
			}
			removed += n
		}
		if removed == 0 {
			return nil
		}
	}
}

// inHand is how long a new control image may belong to a running `sett up` of another
// version.
const inHand = 10 * time.Minute

// purgeControl removes the control images of former versions.
func (s *Store) purgeControl(ctx context.Context, now time.Time) error {
	images, err := s.api.ImageList(ctx, image.ListOptions{Filters: engine.Labelled(labelControl)})
	if err != nil {
		return fmt.Errorf("list images: %w", engine.Plain(err))
	}
	for _, i := range images {
		if slices.ContainsFunc(i.RepoTags, s.isLatestControl) || i.ParentID != "" { // or somebody made it from a control image
			continue
		}
		got, err := s.api.ImageInspect(ctx, i.ID)
		if err != nil || now.Sub(got.Metadata.LastTagTime) < inHand {
			continue // gone meanwhile, or new
		}
		if _, err := s.removeNames(ctx, i, s.isControlName); err != nil {
			return err
		}
	}
	return nil
}

// removeNames removes our names of an image, and with the last name the image; also an
// image without a name. It returns the number of removals.
func (s *Store) removeNames(ctx context.Context, i image.Summary, ours func(tag string) bool) (removed int, err error) {
	names := namesOf(i)
	if len(names) == 0 {
		names = []string{i.ID}
		ours = func(string) bool { return true }
	}
	for _, n := range names {
		if !ours(n) {
			continue
		}
		gone, err := s.removeImage(ctx, n)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

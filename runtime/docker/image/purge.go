package image

import (
	"cmp"
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
// sett:latest. It spares pulled images, and images of an instance of that name of another
// workspace; an empty workspace stands for all.
func (s *Store) Purge(ctx context.Context, instance, workspace string, now time.Time) error {
	return errors.Join(
		s.purgeImages(ctx, instance, workspace),
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
func (s *Store) purgeImages(ctx context.Context, instance, workspace string) error {
	for {
		images, err := s.api.ImageList(ctx, image.ListOptions{All: true, Filters: engine.Labelled(runtime.LabelInstance + "=" + instance)})
		if err != nil {
			return fmt.Errorf("list images: %w", engine.Plain(err))
		}
		removed := 0
		for _, i := range images {
			if of := i.Labels[runtime.LabelWorkspace]; workspace != "" && of != "" && of != workspace {
				continue
			}
			n, err := s.removeNames(ctx, i, func(tag string) bool { return isBuilt(tag, instance) })
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

// isBuilt says whether a name is one that a build for an instance gives.
func isBuilt(tag, instance string) bool {
	prefix := "sett-" + instance + "."
	return strings.HasPrefix(tag, prefix) || strings.Contains(tag, "/"+prefix)
}

// Built are the images that were built for an instance: those with a name of Sett's, and
// those that failed builds left. Unfinished ones do not tell their workspace.
type Built struct {
	Instance, Workspace string
	Images              int
}

// Built lists the images that were built for instances, by instance and workspace. It
// passes over images that a user named or made of one.
func (s *Store) Built(ctx context.Context) ([]Built, error) {
	images, err := s.api.ImageList(ctx, image.ListOptions{Filters: engine.Labelled(runtime.LabelInstance)})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", engine.Plain(err))
	}
	var all []Built
	for _, i := range images {
		instance := i.Labels[runtime.LabelInstance]
		if names := namesOf(i); len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return isBuilt(n, instance) }) {
			continue
		}
		of := Built{Instance: instance, Workspace: i.Labels[runtime.LabelWorkspace]}
		at := slices.IndexFunc(all, func(b Built) bool { return b.Instance == of.Instance && b.Workspace == of.Workspace })
		if at < 0 {
			at, all = len(all), append(all, of)
		}
		all[at].Images++
	}
	return joinUnfinished(all), nil
}

// joinUnfinished counts unfinished images with the others of their instance.
func joinUnfinished(all []Built) (joined []Built) {
	slices.SortFunc(all, func(a, b Built) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(b.Workspace, a.Workspace)) // without a workspace: last
	})
	for _, b := range all {
		if n := len(joined); n > 0 && b.Workspace == "" && joined[n-1].Instance == b.Instance {
			joined[n-1].Images += b.Images
			continue
		}
		joined = append(joined, b)
	}
	return joined
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

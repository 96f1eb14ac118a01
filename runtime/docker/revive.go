package docker

import (
	"context"
	"fmt"

	"github.com/docker/docker/api/types/container"
)

// Revive starts an ended unit again as it was, with everything that its volumes
// hold. One that runs is left alone. fs.ErrNotExist when there is none.
func (r *Runtime) Revive(ctx context.Context, name string) error {
	if err := r.revive(ctx, name); err != nil {
		return fmt.Errorf("revive unit %s: %w", name, err)
	}
	return nil
}

func (r *Runtime) revive(ctx context.Context, name string) error {
	release, err := r.units.take(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	c, err := r.find(ctx, name)
	if err != nil {
		return err
	}
	r.ended(ctx, c) // this end would be overwritten by the next
	return plain(r.e.api.ContainerStart(ctx, c.ID, container.StartOptions{}))
}

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
)

// Labelled selects everything with all these labels, each KEY or KEY=VALUE.
func Labelled(labels ...string) filters.Args {
	all := filters.NewArgs()
	for _, l := range labels {
		all.Add("label", l)
	}
	return all
}

// HasVolume says whether the engine has a volume of that name.
func (e *Engine) HasVolume(ctx context.Context, name string) (bool, error) {
	_, err := e.api.VolumeInspect(ctx, name)
	return has(err)
}

// HasNetwork says whether the engine has a network of that name.
func (e *Engine) HasNetwork(ctx context.Context, name string) (bool, error) {
	_, err := e.api.NetworkInspect(ctx, name, network.InspectOptions{})
	return has(err)
}

func has(err error) (bool, error) {
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, Plain(err)
}

// RemoveVolumes removes the selected volumes, except volumes in use.
func RemoveVolumes(ctx context.Context, api *client.Client, which filters.Args) error {
	list, err := api.VolumeList(ctx, volume.ListOptions{Filters: which})
	if err != nil {
		return fmt.Errorf("list volumes: %w", Plain(err))
	}
	var errs []error
	for _, v := range list.Volumes {
		err := api.VolumeRemove(ctx, v.Name, false)
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
			errs = append(errs, fmt.Errorf("remove volume %s: %w", v.Name, Plain(err)))
		}
	}
	return errors.Join(errs...)
}

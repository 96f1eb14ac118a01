package docker

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"

	"sett/runtime"
)

// RemoveVolume removes one volume of the instance: LedgerVolume or ControlVolume.
// One that is not there is no error; one of another instance, or in use, is.
func (r *Runtime) RemoveVolume(ctx context.Context, name string) error {
	v, err := r.e.api.VolumeInspect(ctx, name)
	if err == nil && v.Labels[runtime.LabelInstance] != r.o.Instance {
		return fmt.Errorf("remove volume %s: %w", name, ErrForeign)
	}
	if err == nil {
		err = r.e.api.VolumeRemove(ctx, name, false)
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove volume %s: %w", name, plain(err))
	}
	return nil
}

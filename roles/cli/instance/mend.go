package instance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
)

// errDamaged says that an instance's state is there and cannot be read.
var errDamaged = errors.New("its state is damaged")

// damaged is the error of a state of which nothing is known from elsewhere.
func damaged(name string, cause error) error {
	return role.Fail(role.Failed, fmt.Errorf("read instance %s: %w: %w", name, errDamaged, cause),
		"sett down --name %s ends what runs of it; sett up --name %s, in its repository, makes the state anew and keeps the ledger", name, name)
}

// mend makes the state of a local instance from the records of its units; false: there
// are none. The blackboard's password is in no record, so that an instance with a mended
// state can be stopped, and not be asked anything.
func mend(dir string) (State, bool) {
	in := &Instance{Dir: dir, State: State{Name: filepath.Base(dir), Runtime: config.RuntimeProcess}}
	if c, err := in.Config(); err != nil || c.Runtime != config.RuntimeProcess {
		return State{}, false
	}
	units, err := in.Processes().List(context.Background(), runtime.Labels{runtime.LabelInstance: in.Name})
	if err != nil {
		return State{}, false
	}
	for _, u := range units {
		if workspace := u.Labels[runtime.LabelWorkspace]; filepath.IsAbs(workspace) {
			in.Workspace, in.Run, in.CreatedAt = workspace, u.Labels[runtime.LabelRun], u.StartedAt
			return in.State, true
		}
	}
	return State{}, false
}

// asFailed gives an error an exit code if it has none.
func asFailed(err error) error {
	var e *role.Error
	if errors.As(err, &e) {
		return err
	}
	return role.Fail(role.Failed, err, "")
}

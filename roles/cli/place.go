package cli

import (
	"context"
	"time"

	"sett/runtime"
	"sett/runtime/process"
)

// place is where an instance's units run, as far as commands have to do with it.
type place interface {
	runtime.Logs
	Start(ctx context.Context, s runtime.Spec) (runtime.Unit, error)
	Stop(ctx context.Context, name string, grace time.Duration) error
	List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error)
}

// place returns the place of an instance.
func (a *app) place(_ context.Context, in *instance) (place, error) {
	return in.processes(), nil
}

// processes are the instance's units that are processes of this machine. Its
// directory also has the locks of every start and stop.
func (in *instance) processes() *process.Runtime {
	return process.New(process.Options{Dir: in.dir, Logger: quiet()})
}

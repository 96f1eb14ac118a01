package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime/process"
)

// upLock is the lock that every start and stop of an instance holds.
const upLock = "up"

// maxNumbered is how many directories of one name get instances of their own.
const maxNumbered = 99

// claimInstance finds or makes the instance that a workspace is to have, and
// locks it: the one that was named, else the workspace's own, else the first free
// of NAME, NAME-2, NAME-3 and so on, where NAME is the directory's. A new one has
// no state on disk yet.
// Names that are taken elsewhere, by whom taken says, count as another's.
func (a *app) claimInstance(ctx context.Context, root string, taken takenFunc, lock lockFunc) (*instance, func(), error) {
	name, err := a.wanted()
	if err != nil {
		return nil, nil, err
	}
	named := name != ""
	if !named {
		all, err := a.instances()
		if err != nil {
			return nil, nil, err
		}
		own, err := ofWorkspace(all, root)
		if err != nil {
			return nil, nil, err
		}
		if own != nil {
			name, named = own.Name, true
		}
	}
	if named {
		in, release, err := a.lockInstance(ctx, name, root, taken, lock)
		if errors.Is(err, errForeign) {
			err = role.Fail(role.Usage, fmt.Errorf("instance %s: %w", name, err), "choose another --name, or leave it out")
		}
		return in, release, err
	}
	base := config.MakeInstanceName(filepath.Base(root))
	for n := 1; n <= maxNumbered; n++ {
		name = base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		in, release, err := a.lockInstance(ctx, name, root, taken, lock)
		if !errors.Is(err, errForeign) {
			return in, release, err
		}
	}
	return nil, nil, role.Fail(role.Usage, fmt.Errorf("name the instance: %s to %s are taken", base, name), "choose one with --name")
}

// takenFunc returns the workspace of an instance of that name which is none of the
// state directory's; empty: there is none.
type takenFunc func(ctx context.Context, name string) (workspace string, err error)

// lockFunc locks an instance's directory for a workspace. What it returns gives the
// lock back: as it is, or, where nothing came of it, with all that locking made.
type lockFunc func(ctx context.Context, dir, name, root string) (release, undo func(), err error)

// noLock is for who only looks, and makes nothing.
func noLock(context.Context, string, string, string) (release, undo func(), err error) {
	return func() {}, func() {}, nil
}

// errForeign says that an instance belongs to another workspace.
var errForeign = errors.New("it belongs to another workspace")

// lockInstance locks the instance of that name for the workspace, whether it
// exists or not.
func (a *app) lockInstance(ctx context.Context, name, root string, taken takenFunc, lock lockFunc) (*instance, func(), error) {
	stateRoot, err := a.stateRoot()
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(stateRoot, name)
	release, undo, err := lock(ctx, dir, name, root)
	if err != nil {
		return nil, nil, err
	}
	in, err := loadInstance(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		known := root
		if err == nil {
			known = in.Workspace
		}
		if err := ofAnother(ctx, name, []string{root, known}, taken); err != nil {
			undo()
			return nil, nil, err
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &instance{dir: dir, State: State{Name: name, CreatedAt: a.Now().UTC()}}, release, nil
	case err != nil:
		release()
		return nil, nil, role.Fail(role.Failed, err, "")
	case in.Workspace != root && exists(in.Workspace):
		release()
		return nil, nil, fmt.Errorf("%w: %s", errForeign, in.Workspace)
	case in.Workspace != root && a.flags.Name == "":
		release() // its workspace is gone: only who names it can mean it
		return nil, nil, fmt.Errorf("%w: %s, which is gone", errForeign, in.Workspace)
	}
	return in, release, nil
}

// ofAnother is the error about an instance of that name which another state
// directory knows, of none of the workspaces.
func ofAnother(ctx context.Context, name string, ours []string, taken takenFunc) error {
	workspace, err := taken(ctx, name)
	if err != nil || workspace == "" || slices.Contains(ours, workspace) {
		return err
	}
	return fmt.Errorf("%w: %s", errForeign, workspace)
}

// letGo gives the instance's lock back, and leaves nothing of one that never came
// to be.
func (in *instance) letGo(release func()) {
	if in.known() {
		release()
		return
	}
	_ = in.setStopping(false) // what is left of it is in nobody's way
	release()
	removeEmpty(in.dir)
}

// removeEmpty removes what locking a name made, unless there is something in it.
func removeEmpty(dir string) {
	for _, d := range []string{"units", "logs", "."} {
		_ = os.Remove(filepath.Join(dir, d)) // it refuses what is not empty
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lockDir locks an instance's directory. Who holds it may be another workspace's:
// that is told by its state, which is written right after its lock is taken.
func lockDir(ctx context.Context, dir, name, root string) (release, undo func(), err error) {
	rt := process.New(process.Options{Dir: dir, Logger: quiet()})
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for {
		release, holder, err := rt.TryLock(upLock)
		if err == nil {
			return release, func() { release(); removeEmpty(dir) }, nil
		}
		if !errors.Is(err, process.ErrLocked) {
			return nil, nil, role.Fail(role.Environment, fmt.Errorf("lock instance %s: %w", name, err), "instances are kept below XDG_STATE_HOME, which has to be writable")
		}
		in, err := loadInstance(dir)
		if err == nil && in.Workspace != root {
			return nil, nil, fmt.Errorf("%w: %s", errForeign, in.Workspace)
		}
		if err == nil {
			return nil, nil, busy(name, holder)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil, nil, busy(name, holder)
		}
	}
}

func busy(name string, holder int) error {
	return role.Fail(role.Failed, fmt.Errorf("instance %s: another sett up or down is at work on it (process %d)", name, holder),
		"wait for it to end, then sett list")
}

package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime/process"
)

// UpLock is the lock that every start and stop of an instance holds.
const UpLock = "up"

// maxNumbered is how many directories of one name get instances of their own.
const maxNumbered = 99

// ClaimInstance finds or makes the instance of a workspace, and locks it: the
// instance that the user named, else the workspace's own, else the first free name
// of NAME, NAME-2, NAME-3 and so on, where NAME is the directory's. A new instance
// has no state on disk yet. taken maps the names of instances elsewhere to their
// workspaces; a name in it is free only for its own workspace.
func (l *Locator) ClaimInstance(ctx context.Context, root string, taken map[string]string, lock LockFunc) (*Instance, func(), error) {
	if !utf8.ValidString(root) {
		return nil, nil, role.Fail(role.Usage, fmt.Errorf("the path of the workspace is no UTF-8: %q", root), "mv gives its directories other names")
	}
	name, err := l.Named()
	if err != nil {
		return nil, nil, err
	}
	named := name != ""
	if !named {
		all, err := l.All()
		if err != nil {
			return nil, nil, err
		}
		own, err := OfWorkspace(all, root)
		if err != nil {
			return nil, nil, err
		}
		if own != nil {
			name, named = own.Name, true
		} else if err := recognise(ctx, l, root, all); err != nil {
			return nil, nil, err
		}
	}
	if named {
		in, release, err := l.lockInstance(ctx, name, root, taken, lock)
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
		in, release, err := l.lockInstance(ctx, name, root, taken, lock)
		if !errors.Is(err, errForeign) {
			return in, release, err
		}
	}
	return nil, nil, role.Fail(role.Usage, fmt.Errorf("name the instance: %s to %s are taken", base, name), "choose one with --name")
}

// LockFunc locks an instance's directory for a workspace. release gives the lock back
// and keeps the directory; undo also removes the directories that locking made, if
// they are empty.
type LockFunc func(ctx context.Context, dir, name, root string) (release, undo func(), err error)

// NoLock is the LockFunc of a dry run: it locks nothing and makes no directory.
func NoLock(context.Context, string, string, string) (release, undo func(), err error) {
	return func() {}, func() {}, nil
}

// errForeign says that an instance belongs to another workspace.
var errForeign = errors.New("it belongs to another workspace")

// lockInstance locks the instance of that name for the workspace, whether it
// exists or not.
func (l *Locator) lockInstance(ctx context.Context, name, root string, taken map[string]string, lock LockFunc) (*Instance, func(), error) {
	stateRoot, err := l.Root()
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(stateRoot, name)
	release, undo, err := lock(ctx, dir, name, root)
	if err != nil {
		return nil, nil, err
	}
	in, err := LoadInstance(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		known := root
		if err == nil {
			known = in.Workspace
		}
		if err := ofAnother(name, []string{root, known}, taken); err != nil {
			undo()
			return nil, nil, err
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errDamaged) && l.Flags.Name != "": // the user says whose it is
		return &Instance{Dir: dir, State: State{Name: name, CreatedAt: l.Now().UTC()}}, release, nil
	case err != nil:
		release()
		return nil, nil, asFailed(err)
	case in.Damage != nil:
		release()
		return nil, nil, role.Fail(role.Failed, fmt.Errorf("instance %s: %w, and parts of it run", name, errDamaged),
			"sett down --name %s mends the state; sett up goes on then", name)
	case in.Workspace != root && Exists(in.Workspace):
		release()
		return nil, nil, fmt.Errorf("%w: %s", errForeign, in.Workspace)
	case in.Workspace != root && l.Flags.Name == "":
		release() // its workspace is gone: only --name can mean it
		return nil, nil, fmt.Errorf("%w: %s, which is gone", errForeign, in.Workspace)
	}
	return in, release, nil
}

// ofAnother is the error about a name that an instance elsewhere has for a workspace
// that is not in ours.
func ofAnother(name string, ours []string, taken map[string]string) error {
	workspace := taken[name]
	if workspace == "" || slices.Contains(ours, workspace) {
		return nil
	}
	return fmt.Errorf("%w: %s", errForeign, workspace)
}

// LetGo gives the instance's lock back. If the instance has no state on disk, LetGo
// also removes its empty directories.
func (in *Instance) LetGo(release func()) {
	if in.Known() {
		release()
		return
	}
	_ = in.SetStopping(false) // a mark that stays does no harm
	release()
	removeEmpty(in.Dir)
}

// removeEmpty removes the directories that locking a name made, if they are empty.
func removeEmpty(dir string) {
	for _, d := range []string{"units", "logs", "."} {
		_ = os.Remove(filepath.Join(dir, d)) // fails if the directory is not empty
	}
}

// Exists reports whether there is a file or directory at the path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// LockDir locks an instance's directory. If another process holds the lock, the state
// file tells whether the instance belongs to another workspace. That process writes the
// file right after it takes the lock, so LockDir waits for it.
func LockDir(ctx context.Context, dir, name, root string) (release, undo func(), err error) {
	rt := process.New(process.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for {
		release, holder, err := rt.TryLock(UpLock)
		if err == nil {
			return release, func() { release(); removeEmpty(dir) }, nil
		}
		if !errors.Is(err, process.ErrLocked) {
			return nil, nil, role.Fail(role.Environment, fmt.Errorf("lock instance %s: %w", name, err), "instances are kept below XDG_STATE_HOME, which has to be writable")
		}
		in, err := LoadInstance(dir)
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

package trial

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/store"
)

// ground is a directory that is made for a trial. Its command holds a lock in it, which the
// kernel releases with the command's end, so that the next trial knows the ground of a killed one.
type ground struct {
	dir     string
	release func() // the lock
}

const (
	groundPrefix = "sett-try-" // of all names
	groundLock   = "command"   // its file has the command's process id
	groundKept   = "kept"      // its file says that the directory stays
	groundTool   = "tool"      // names the mark of the tool's processes
)

// newGround makes one in a directory; empty: the usual one for temporary files.
func newGround(below, prefix string, keep bool) (g ground, err error) {
	if g.dir, err = os.MkdirTemp(below, prefix); err != nil { // made with mode 0700
		return g, err
	}
	lock := g.locked().Dir
	if err = os.Mkdir(lock, 0o700); err == nil && keep {
		err = os.WriteFile(filepath.Join(lock, groundKept), nil, 0o600)
	}
	if err == nil {
		g.release, _, err = g.locked().Processes().TryLock(groundLock)
	}
	if err != nil {
		return ground{}, errors.Join(err, store.RemoveAll(g.dir))
	}
	return g, nil
}

// noGround is the error about a directory that cannot be made for a trial.
func noGround(t *Trial, err error) error {
	if store.IsFull(err) {
		return instance.Full(err, cmp.Or(t.Below, os.TempDir()))
	}
	return role.Fail(role.Environment, err, "")
}

// locked is the instance of the command's lock, and of the mark of its tool's processes.
func (g ground) locked() *instance.Instance {
	return &instance.Instance{Dir: filepath.Join(g.dir, "lock")}
}

// unlock gives the directory up as it is.
func (g ground) unlock() {
	_ = store.RemoveAll(g.locked().Dir)
	g.release()
}

// abandoned says whether the ground is this user's, and its command was killed; then it takes the
// lock. A lock without a holder's id is just being made.
func (g *ground) abandoned() bool {
	info, err := os.Lstat(g.dir)
	if err != nil || !info.IsDir() {
		return false
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
		return false
	}
	holder, err := os.ReadFile(filepath.Join(g.locked().Dir, groundLock+".lock"))
	if err != nil || len(holder) == 0 {
		return false
	}
	g.release, _, err = g.locked().Processes().TryLock(groundLock)
	return err == nil
}

// sweep ends the processes of a killed command's tool, by the mark in their environment, and
// removes the ground unless it was to be kept.
func (g ground) sweep(ctx context.Context) error {
	if err := g.locked().Processes().Sweep(ctx); err != nil {
		g.release = func() {} // the lock's file stays for the next sweep
		return err
	}
	if _, err := os.Stat(filepath.Join(g.locked().Dir, groundKept)); err == nil {
		g.unlock()
		return nil
	}
	err := store.RemoveAll(g.dir)
	g.release()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sweepGrounds removes directories and processes of killed trials. A failure leaves them for
// the next time.
func sweepGrounds(ctx context.Context, t *Trial) {
	all, _ := filepath.Glob(filepath.Join(os.TempDir(), groundPrefix+"*")) // its pattern is right
	for _, dir := range all {
		g := &ground{dir: dir}
		if !g.abandoned() {
			continue
		}
		if err := g.sweep(ctx); err != nil && !t.Quiet {
			t.Sayf("sett: warning: remove what a killed sett try left: %s\n", role.Clean(err.Error()))
		}
	}
}

package deploy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/store"
)

// scratch is the directory of a berth, beside those of instances: the engine sees it. Its
// command holds a lock in it, so that others know when the command was killed.
type scratch struct {
	dir     string // .try-ID
	keep    bool
	release func() // the lock
}

const (
	scratchPrefix = ".try-"
	scratchLock   = "command" // its file has the command's process id
	scratchKept   = "kept"    // its file says that the directory stays
)

func newScratch(at *instance.Locator, keep bool) (*scratch, error) {
	root, err := at.Root()
	if err != nil {
		return nil, err
	}
	s := &scratch{dir: filepath.Join(root, scratchPrefix+strings.ToLower(at.NewID()[16:])), keep: keep}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	if keep {
		err = os.WriteFile(filepath.Join(s.dir, scratchKept), nil, 0o600)
	}
	if err == nil {
		s.release, err = s.locked().Processes().Lock(context.Background(), scratchLock)
	}
	if err != nil {
		return nil, errors.Join(err, store.RemoveAll(s.dir))
	}
	return s, nil
}

// instance is the one that the engine takes the containers for.
func (s *scratch) instance(workspace string) *instance.Instance {
	name := strings.TrimPrefix(filepath.Base(s.dir), ".")
	return &instance.Instance{State: instance.State{Name: name, Workspace: workspace, Runtime: config.RuntimeDocker}, Dir: filepath.Join(s.dir, "berth")}
}

// locked is the instance whose lock the command holds.
func (s *scratch) locked() *instance.Instance {
	return &instance.Instance{Dir: filepath.Join(s.dir, "lock")}
}

// lockFile exists while the lock is held, and after its holder was killed.
func (s *scratch) lockFile() string {
	return filepath.Join(s.locked().Dir, scratchLock+".lock")
}

// end gives the directory up.
func (s *scratch) end() error {
	s.release()
	if s.keep {
		return nil
	}
	return store.RemoveAll(s.dir)
}

// abandoned says whether the command was killed, and then takes its lock. A lock without a
// holder's id is just being made.
func (s *scratch) abandoned() bool {
	holder, err := os.ReadFile(s.lockFile())
	if err != nil || len(holder) == 0 {
		return false
	}
	s.release, _, err = s.locked().Processes().TryLock(scratchLock)
	return err == nil
}

// SweepBerths removes what berths of killed commands left: containers, networks and
// directories. What cannot be removed now stays for the next time.
func SweepBerths(ctx context.Context, at *instance.Locator) {
	root, err := at.Root()
	if err != nil {
		return
	}
	all, _ := filepath.Glob(filepath.Join(root, scratchPrefix+"*")) // its pattern is right
	for _, dir := range all {
		_, err := os.Stat(filepath.Join(dir, scratchKept))
		s := &scratch{dir: dir, keep: err == nil}
		if !s.abandoned() {
			continue
		}
		if err := s.sweep(ctx, at); err != nil {
			at.Sayf("sett: warning: remove what a killed sett try left: %s\n", role.Clean(err.Error()))
		}
	}
}

// sweep ends the containers of a killed command. While the engine cannot be asked, its lock's
// file stays, so that the next sweep comes again.
func (s *scratch) sweep(ctx context.Context, at *instance.Locator) error {
	in := s.instance("")
	place, err := at.Place(ctx, in)
	if err != nil {
		return nil //nolint:nilerr // a command that needs no engine goes on without one
	}
	units, err := place.List(ctx, nil)
	for _, u := range units {
		err = errors.Join(err, place.Stop(ctx, u.Name, 0))
	}
	if err == nil {
		err = place.Clear(ctx, false)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	return s.end()
}

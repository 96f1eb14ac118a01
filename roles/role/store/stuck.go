package store

// This file is about files of a place that Sett cannot remove: those of another user, as of a container that a tool
// ran, those that are immutable, and directories where something is mounted. They keep no agent from its next grant: the
// directory that has them gets another name beside the tree, and a new one takes its place.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sett/roles/role"
)

// stuckPrefix begins the name of a directory that is set aside in its place.
const stuckPrefix = "stuck-"

// mostStuck is how many of them one place may have: they take disk, and only a person can remove them.
const mostStuck = 16

// Stuck is a directory that was set aside, with the error of its removal.
type Stuck struct {
	Path string
	Err  error
}

// SetAside returns the directories of the tree that were set aside since it was asked last.
func SetAside(t *Tree) []Stuck {
	all := t.stuck
	t.stuck = nil
	return all
}

// StuckIn returns the directories that lie aside in a place.
func StuckIn(place string) (all []string) {
	entries, _ := os.ReadDir(place) // a place that is not there has none
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stuckPrefix) {
			all = append(all, filepath.Join(place, e.Name()))
		}
	}
	return all
}

// StuckBelow returns those of all places in a directory.
func StuckBelow(trees string) (all []string) {
	places, _ := os.ReadDir(trees)
	for _, p := range places {
		all = append(all, StuckIn(filepath.Join(trees, p.Name()))...)
	}
	return all
}

// RemoveStuck tries once more to remove the directories that lie aside in a place. It returns those that are gone now.
func RemoveStuck(place string) (removed []string) {
	for _, path := range StuckIn(place) {
		if RemoveAll(path) == nil {
			removed = append(removed, path)
		}
	}
	return removed
}

// Aside gives a directory that cannot be removed, for this reason, another name beside it, and returns that. A directory
// of another user can get a new name, but no new parent.
func Aside(path string, why error) (string, error) {
	place := filepath.Dir(path)
	all := StuckIn(place)
	if len(all) >= mostStuck && len(RemoveStuck(place)) > 0 {
		all = StuckIn(place)
	}
	if len(all) >= mostStuck {
		return "", fmt.Errorf("%d directories that cannot be removed lie in %s, the most that may: %s", len(all), place, Remedy(all...))
	}
	for n := 1; ; n++ {
		to := filepath.Join(place, stuckPrefix+strconv.Itoa(n))
		if slices.Contains(all, to) {
			continue
		}
		if err := os.Rename(path, to); err != nil {
			return "", fmt.Errorf("%w (to remove it: %s)", why, Remedy(path))
		}
		return to, nil
	}
}

// vacate makes sure that a directory of the place is there, empty, and the store's owner's. In local mode one that cannot
// be emptied is set aside; in containers it is mounted, and has to stay.
func vacate(t *Tree, dir string) error {
	err := MakeDir(dir)
	if err == nil {
		err = openUp(dir)
	}
	if err == nil {
		err = empty(dir)
	}
	if err == nil {
		return nil
	}
	if err := setAside(t, dir, err); err != nil {
		return err
	}
	return errors.Join(os.Mkdir(dir, 0o700), inherit(t.store.Dir, dir))
}

// openUp lets the owner of a directory change it.
func openUp(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	return unlock(dir, fs.FileInfoToDirEntry(info), 0o700)
}

// discard removes a file or directory of the place, or sets it aside.
func discard(t *Tree, path string) error {
	if err := RemoveAll(path); err != nil {
		return setAside(t, path, err)
	}
	return nil
}

// setAside sets a file or directory of the place aside that cannot be removed.
func setAside(t *Tree, path string, why error) error {
	switch {
	case IsTrouble(why) && !errors.Is(why, unix.EROFS): // a read-only mount within the tree stays one
		return why
	case !local(t):
		return fmt.Errorf("%w (to remove it: %s)", why, Remedy(path))
	}
	to, err := Aside(path, why)
	if err == nil {
		t.stuck = append(t.stuck, Stuck{to, why})
	}
	return err
}

// local says whether the tool works in the very directories of the place: in local mode. Else they are mounted into a container.
func local(t *Tree) bool { return t.seen.Git == t.GitDir() }

// errMounted says that a directory cannot be removed because something is mounted in it.
var errMounted = errors.New("something is mounted there")

// mounts are directories where something is mounted.
type mounts []string

// bar is why a path cannot be removed: the mount at it or below it. Nil: there is none.
func (m mounts) bar(path string) error {
	for _, at := range m {
		if below, is := strings.CutPrefix(at, path); is && (below == "" || below[0] == filepath.Separator) {
			return &fs.PathError{Op: "remove", Path: at, Err: errMounted}
		}
	}
	return nil
}

// mountsIn returns the mounts within a directory. The directory itself may be one.
func mountsIn(dir string) mounts {
	return slices.DeleteFunc(mountsBelow(dir), func(at string) bool { return at == dir })
}

// Remedy is the command by which a person removes paths that Sett cannot.
func Remedy(paths ...string) string {
	sudo := "sudo "
	if os.Geteuid() == 0 {
		sudo = ""
	}
	var steps, words []string
	for _, path := range paths {
		words = append(words, role.ShellWord(path))
		for _, at := range mountsBelow(path) {
			steps = append(steps, sudo+"umount "+role.ShellWord(at)+" && ") // rm would remove the files of the mount
		}
	}
	all := strings.Join(words, " ")
	if slices.ContainsFunc(paths, immutable) {
		steps = append(steps, sudo+"chattr -R -f -i -a "+all+"; ")
	}
	return strings.Join(steps, "") + sudo + "rm -rf " + all
}

package store

import (
	hashes "crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// checkedFile tells how the files of a read-only tree were when git had made it, where the
// tool could write them all the same: in local mode.
func checkedFile(t *Tree) string { return filepath.Join(t.dir, "checked") }

// openly says whether a plan is for a tool that is not to write its tree, and could.
func openly(t *Tree, p Plan) bool {
	return p.ReadOnly && p.Commit != "" && !t.walled(p) && t.care.mark() == "" && len(t.care.Keep) == 0 && !modular(t.store) && contentMark(t.store) == ""
}

// check remembers the files of a tree that git has just made.
func check(t *Tree, commit string) error {
	has, err := t.entries()
	if err != nil {
		return err
	}
	state, _ := stateOf(t, commit, has)
	return os.WriteFile(checkedFile(t), []byte(state), 0o600)
}

// unchanged removes other files from the tree, and says whether its own are as they were when
// git had made it, so that git need not look. A file that is as young as that note may have
// changed unseen, and does not count.
func unchanged(t *Tree, commit string) bool {
	var note unix.Stat_t
	known, err := os.ReadFile(checkedFile(t))
	if err != nil || unix.Lstat(checkedFile(t), &note) != nil {
		return false
	}
	has, err := t.entries()
	if err != nil || t.sweep(has) != nil {
		return false
	}
	state, newest := stateOf(t, commit, has)
	return state != "" && state == string(known) && newest.Before(time.Unix(note.Mtim.Unix()))
}

// stateOf is a digest of all that changes with the files of a tree, or with the index of it: no
// program can set a ctime. newest is the latest ctime of a file. Empty: a file is missing, or nobody
// knows whether the machine was started since.
func stateOf(t *Tree, commit string, e *entries) (digest string, newest time.Time) {
	if boot() == "" {
		return "", newest
	}
	h := hashes.New()
	fmt.Fprintln(h, commit, boot())
	for _, name := range append(slices.Sorted(maps.Keys(e.files)), "") { // the last one is the index
		path := t.index()
		if name != "" {
			path = filepath.Join(t.Dir(), filepath.FromSlash(name))
		}
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			return "", newest
		}
		if e.files[name] && st.Mode&unix.S_IFMT == unix.S_IFDIR { // a submodule: swept
			continue
		}
		changed := time.Unix(st.Ctim.Unix())
		if name != "" && changed.After(newest) {
			newest = changed
		}
		fmt.Fprintf(h, "%q %d %o %d %d %d %d %d\n", name, st.Ino, st.Mode, st.Uid, st.Gid, st.Size, time.Unix(st.Mtim.Unix()).UnixNano(), changed.UnixNano())
	}
	return fmt.Sprintf("%x", h.Sum(nil)), newest
}

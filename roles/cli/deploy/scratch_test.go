package deploy

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// The directory of a try belongs to its command as long as that lives, and stays where it was
// asked to.
func TestScratch(t *testing.T) {
	root := t.TempDir()
	on := term.New(role.Env{Now: time.Now, Entropy: rand.Reader, Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"XDG_STATE_HOME": root, "DOCKER_HOST": "unix:///nonexistent"}[name]
		return v, ok
	}})
	at := instance.New(&on, instance.Flags{})
	there := func(s *scratch) bool { _, err := os.Stat(s.dir); return err == nil }
	held, err := newScratch(at, false)
	if err != nil {
		t.Fatal(err)
	}
	if (&scratch{dir: held.dir}).abandoned() {
		t.Error("the command lives, and its directory counts as abandoned")
	}
	SweepBerths(t.Context(), at)
	if !there(held) {
		t.Error("the directory of a living command is swept")
	}
	if err := held.end(); err != nil || there(held) {
		t.Errorf("the directory is left at the end: %v", err)
	}

	kept, err := newScratch(at, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.end(); err != nil || !there(kept) || (&scratch{dir: kept.dir}).abandoned() {
		t.Errorf("a directory that was to be kept: %v", err)
	}

	for holder, want := range map[string]bool{"": false, "1234\n": true} { // as a killed command leaves it; of one that begins
		left := &scratch{dir: filepath.Join(root, "sett", scratchPrefix+"left")}
		err := errors.Join(os.MkdirAll(left.locked().Dir, 0o700), os.WriteFile(left.lockFile(), []byte(holder), 0o600))
		if err != nil || left.abandoned() != want {
			t.Errorf("lock of holder %q: %v, want abandoned: %v", holder, err, want)
		}
		if want { // without an engine it stays for the next time
			if err := left.sweep(t.Context(), at); err != nil || !there(left) {
				t.Errorf("without an engine: %v", err)
			}
		}
	}
}

package ledger

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/blackboard/redis/archive"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// A file is there as a whole or not at all, whatever happens while it is written.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.jsonl")
	holds := func(what, want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if want == "" != errors.Is(err, os.ErrNotExist) || string(got) != want {
			t.Errorf("%s: the file has %q: %v", what, got, err)
		}
		all, err := os.ReadDir(dir)
		if err != nil || want == "" && len(all) != 0 || want != "" && len(all) != 1 {
			t.Errorf("%s: left %v: %v", what, all, err)
		}
	}
	says := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, failed := io.WriteString(w, text)
			holdsNow, _ := os.ReadFile(path)
			if string(holdsNow) == text {
				t.Error("the file has its name before it is whole")
			}
			return errors.Join(failed, err)
		}
	}
	if err := WriteWhole(path, false, says("half", syscall.ENOSPC)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	holds("a full disk", "")
	if err := WriteWhole(path, false, says("one", nil)); err != nil {
		t.Error(err)
	}
	holds("a first", "one")
	if err := WriteWhole(path, false, says("two", nil)); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that somebody else made meanwhile: %v", err)
	}
	holds("a second", "one")
	if err := WriteWhole(path, true, says("half", syscall.ENOSPC)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	holds("a second on a full disk", "one")
	other := errors.New("the source is broken")
	if err := WriteWhole(path, true, says("half", other)); err == nil || err.Error() != other.Error() {
		t.Errorf("an error that is not the file's: %v", err)
	}
	holds("a second of a broken source", "one")
	if err := WriteWhole(path, true, says("two", nil)); err != nil {
		t.Error(err)
	}
	holds("a second with force", "two")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
}

// Whoever waits hears something after two seconds, and then every two.
func TestLedgerProgress(t *testing.T) {
	var said strings.Builder
	now := time.Unix(0, 0)
	on := &term.Terminal{Env: role.Env{Stderr: &said, Now: func() time.Time { return now }}}
	tell := progress(on, "exporting")
	for n := range 45 {
		tell(archive.Counts{Artefacts: n, Claims: 1})
		now = now.Add(100 * time.Millisecond)
	}
	want := "sett: exporting: 20 artefacts, 1 claim, 0 entries of the ledger\n" +
		"sett: exporting: 40 artefacts, 1 claim, 0 entries of the ledger\n"
	if said.String() != want {
		t.Errorf("said\n%s", said.String())
	}
}

// A file that is replaced passes on its permissions. What a killed export left goes with the next one to the same path, and
// nothing else.
func TestWriteOver(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.jsonl")
	old := time.Now().Add(-2 * staleAfter)
	put := func(name string, at time.Time) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(name, []byte("half"), 0o600), os.Chtimes(name, at, at)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	gone := put(".ledger.jsonl.123", old)
	locked := put(".ledger.jsonl.124", old)
	kept := []string{locked, put(".ledger.jsonl.125", time.Now()), put(".ledger.jsonl.bak", old), put(".ledger.jsonl.bundle.126", old), put("ledger.jsonl.127", old)}
	f, err := os.Open(locked)
	if err == nil {
		defer f.Close()
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err := errors.Join(err, os.WriteFile(path, []byte("one"), 0o600), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	err = WriteWhole(path, true, func(w io.Writer) error {
		_, err := io.WriteString(w, "two")
		return err
	})
	info, _ := os.Stat(path)
	if err != nil || info == nil || info.Mode().Perm() != 0o640 || info.Size() != 3 {
		t.Errorf("%v: %v", err, info)
	}
	if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed export left is there: %v", err)
	}
	for _, name := range kept {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

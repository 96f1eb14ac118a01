package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sett/roles/role/store"
)

// A ledger has its name only when its bundle has: an export that ends between them leaves no ledger that looks whole.
func TestLedgerComesAfterItsBundle(t *testing.T) {
	s := newStage(t)
	first, second := s.commits()
	goal, terminal := s.achievedEarlier(first, second)
	s.Must(s.store().Fetch(t.Context(), s.objects(), first, store.Goal(goal)))
	s.Must(s.store().Fetch(t.Context(), s.objects(), second, store.Artefact(terminal)))
	file := filepath.Join(s.home, "out.jsonl")
	s.Must(os.WriteFile(file+".bundle", []byte("an older one"), 0o600))
	if _, _, err := s.run("ledger", "export", "--bundle", "--file", file); err == nil {
		t.Error("the older bundle is replaced")
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the ledger is there without its bundle: %v", err)
	}
	_, _, err := s.run("ledger", "export", "--bundle", "--file", file, "--force")
	s.Must(err)
	for _, name := range []string{file, file + ".bundle"} {
		if info, err := os.Stat(name); err != nil || info.Size() < 20 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

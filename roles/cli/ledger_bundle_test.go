package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// Commits of an older Sett, which are in the user's repository and not in the store, are in the bundle.
func TestBundleOfOlderCommits(t *testing.T) {
	s := newStage(t)
	first, second := s.commits()
	goal, terminal := s.achievedEarlier(first, second)
	s.Must(s.store().Fetch(t.Context(), s.objects(), first, store.Goal(goal))) // the store is there, as after sett up
	s.Must(s.store().LetGo(t.Context(), store.Goal(goal)))
	_, stderr, err := s.run("ledger", "export", "--bundle", "--file", filepath.Join(s.home, "out.jsonl"))
	if err != nil || !strings.Contains(stderr, "sett: bundled 2 commits") {
		t.Errorf("it says %q: %v", stderr, err)
	}
	if held, err := s.store().Commit(t.Context(), store.Artefact(terminal)); err != nil || held != second {
		t.Errorf("the store holds %q: %v", held, err)
	}
}

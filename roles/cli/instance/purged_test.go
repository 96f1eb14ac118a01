package instance

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
)

// A purge counts for the ledger that it removed, and until that is seen again.
func TestPurged(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	at := func(name, url string) *Instance {
		return &Instance{Dir: t.TempDir(), State: State{Name: name, Runtime: config.RuntimeDocker, URL: url, External: url != ""}}
	}
	one, elsewhere, other := at("one", ""), at("one", "redis://:secret@host:1"), at("other", "")
	for _, in := range []*Instance{one, elsewhere, other} {
		if err := in.SetMark(blackboard.Mark{ID: "A"}); err != nil {
			t.Fatal(err)
		}
	}
	again := at("one", "") // the other directory of the same instance
	now := time.Now()
	for _, tc := range []struct {
		by                    *Instance
		at                    time.Time
		one, elsewhere, other bool
	}{
		{again, now.Add(-time.Hour), false, false, false},
		{again, now.Add(time.Hour), true, false, false},
		{at("one", "redis://:secret@host:1"), now.Add(time.Hour), true, true, false},
		{again, now.Add(-time.Hour), false, true, false},
	} {
		if err := tc.by.NotePurge(getenv, tc.at); err != nil {
			t.Fatal(err)
		}
		if one.Purged(getenv) != tc.one || elsewhere.Purged(getenv) != tc.elsewhere || other.Purged(getenv) != tc.other {
			t.Errorf("%s at %s: %t %t %t", tc.by.ledgerPlace(), tc.at, one.Purged(getenv), elsewhere.Purged(getenv), other.Purged(getenv))
		}
	}
	for i := range mostPurges + 5 {
		if err := at(fmt.Sprintf("i%d", i), "").NotePurge(getenv, now.Add(time.Duration(i+2)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	var all map[string]time.Time
	if err := ReadFile(UserPath(getenv, purgesFile), &all); err != nil || len(all) != mostPurges {
		t.Errorf("%d purges are noted: %v", len(all), err)
	}
	local := &Instance{Dir: t.TempDir(), State: State{Name: "one", Runtime: config.RuntimeProcess}}
	if err := local.SetMark(blackboard.Mark{ID: "A"}); err != nil || local.Purged(getenv) {
		t.Errorf("a ledger in its own directory is gone with that: %v", err)
	}
}

// Each kind of blackboard of an instance has a mark of its own.
func TestMarks(t *testing.T) {
	in := &Instance{Dir: t.TempDir(), State: State{Name: "one", Runtime: config.RuntimeProcess}}
	kinds := []func(){
		func() { in.Runtime = config.RuntimeProcess }, func() { in.Runtime = config.RuntimeDocker },
		func() { in.Embedded = true }, func() { in.External = true },
	}
	for i, to := range kinds {
		if to(); in.Mark() != (blackboard.Mark{}) {
			t.Errorf("%s has the mark %+v of another", in.boardKind(), in.Mark())
		}
		if err := in.SetMark(blackboard.Mark{ID: fmt.Sprint(i), Entries: 7}); err != nil {
			t.Fatal(err)
		}
		in.saw(blackboard.Mark{ID: fmt.Sprint(i), Entries: 5, Epoch: 9})
		// The orchestrator of another kind's time saw another blackboard.
		if err := os.WriteFile(filepath.Join(in.Dir, role.SightFile), []byte(blackboard.Mark{ID: "other", Entries: 99}.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, want := in.Mark(), (blackboard.Mark{ID: fmt.Sprint(i), Entries: 7, Epoch: 9}); got != want {
			t.Errorf("%s: %+v", in.boardKind(), got)
		}
		if err := os.WriteFile(filepath.Join(in.Dir, role.SightFile), []byte(blackboard.Mark{ID: fmt.Sprint(i), Entries: 12, Last: "5-1"}.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, want := in.Mark(), (blackboard.Mark{ID: fmt.Sprint(i), Entries: 12, Epoch: 9, Last: "5-1"}); got != want {
			t.Errorf("%s, with the orchestrator's sight: %+v", in.boardKind(), got)
		}
	}
	if err := in.SetMark(blackboard.Mark{}); err != nil || in.Mark().ID != "" || len(in.marks()) != len(kinds)-1 {
		t.Errorf("%+v: %v", in.marks(), err)
	}
}

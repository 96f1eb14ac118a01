//go:build bench

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// landings brings results of one file each to a branch that moves on.
type landings struct {
	*forest
	lander *line.Lander
	clone  string
	n      int
}

func sow(t *testing.T) *landings {
	t.Helper()
	f := plant(t, 10_000, false)
	f.git(f.person(), "branch", "released")
	return &landings{forest: f, lander: line.NewLander(f.url, "key"), clone: f.clone()}
}

// result makes a commit on the goal's base, which the store holds for an artefact.
func (l *landings) result() (artefact string) {
	l.Helper()
	l.n++
	l.git(l.clone, "reset", "-q", "--hard", l.base)
	if err := os.WriteFile(filepath.Join(l.clone, fmt.Sprintf("own%d", l.n)), fmt.Appendf(nil, "%d\n", l.n), 0o644); err != nil {
		l.Fatal(err)
	}
	l.git(l.clone, "add", "-A")
	l.git(l.clone, "commit", "-q", "-m", "one")
	artefact = fmt.Sprintf("landed%d", l.n)
	l.git(l.clone, "push", "-q", l.store.Dir, "HEAD:"+store.Artefact(artefact))
	return artefact
}

// land plans a landing and moves the branch.
func (l *landings) land(artefact string) time.Duration {
	l.Helper()
	began := time.Now()
	p, err := l.lander.Plan(l.Context(), line.Landing{Goal: artefact, Artefact: artefact, Branch: "released", How: store.Rebase})
	if err != nil || p.To == "" {
		l.Fatalf("%+v %v", p, err)
	}
	if d, err := l.lander.Land(l.Context(), line.Land{Branch: "released", From: p.Tip, To: p.To}); err != nil || !d.Done {
		l.Fatalf("%+v %v", d, err)
	}
	return time.Since(began)
}

// TestBenchLanding: one result that is rebased onto a branch which has moved on, and eight that
// end at once, each on the commit that the one before left. Both in turn: the history grows.
func TestBenchLanding(t *testing.T) {
	const atOnce = 8
	l := sow(t)
	l.land(l.result()) // the branch moves on
	one, eight := paired(9, func() time.Duration { return l.land(l.result()) }, func() time.Duration {
		var results []string
		for range atOnce {
			results = append(results, l.result())
		}
		began := time.Now()
		for _, r := range results {
			l.land(r)
		}
		return time.Since(began)
	})
	t.Logf("one landing %v, eight %v", one, eight)
	verdict(t, "a landing, rebased, 10000 files", one.Seconds()*1000, 30, "ms")
	verdict(t, "eight landings at once / one", ratio(eight, one), atOnce, "x")
}

package repository

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// wrapped puts a program in git's place that kills the role at its n-th run, before or after git.
func (p *place) wrapped(when string) (strike func(n int), ran func() int) {
	t := p.t
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(p.dir, "bin")
	count, at := filepath.Join(p.dir, "count"), filepath.Join(p.dir, "at")
	script := fmt.Sprintf(`#!/bin/sh
n=$(cat %[2]s); n=$((n + 1)); echo $n > %[2]s
strike() { [ $n = "$(cat %[3]s)" ]; }
case %[4]s in
before) if strike; then kill -9 $PPID; exit 1; fi; exec %[1]s "$@";;
after) %[1]s "$@"; rc=$?; if strike; then kill -9 $PPID; fi; exit $rc;;
esac
`, git, count, at, when)
	if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	p.path = bin
	return func(n int) {
			if err := errors.Join(os.WriteFile(at, []byte(fmt.Sprint(n)), 0o600), os.WriteFile(count, []byte("0"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}, func() (n int) {
			text, err := os.ReadFile(count)
			if err == nil {
				_, err = fmt.Sscan(string(text), &n)
			}
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
}

func (p *place) sweeper() *line.Sweeper { return line.NewSweeper(p.client.URL, key) }

// refs are the store's refs of a kind.
func (p *place) refs(prefix string) string {
	return sh(p.t, p.storeDir(), `git for-each-ref --format='%(refname) %(objectname)' `+prefix)
}

// TestSweptAtEveryMove: the cub, and with it the role, dies at each move of a Take, and the result is never
// recorded; the sweep that follows is struck at each of its moves, too. No ref of the artefact stays, and
// the commit, if a ref held it once, is a leftover.
func TestSweptAtEveryMove(t *testing.T) {
	if testing.Short() {
		t.Skip("make test runs it") // it kills a process at each of its moves
	}
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			strike, ran := p.wrapped(when)
			for _, what := range []string{"take", "sweep"} {
				for n := 1; ; n++ {
					strike(-1)
					p.start()
					claim, artefact := fmt.Sprintf("%s-c%d", what, n), fmt.Sprintf("%s-a%d", what, n)
					if _, err := p.client.Prepare(t.Context(), line.Prepare{Grant: first(claim), Goal: "goal", Branch: "main"}); err != nil {
						t.Fatal(err)
					}
					made := sh(t, p.tree("writer"), fmt.Sprintf(`echo %s > made; git add made; git commit -qm made; git rev-parse HEAD`, artefact))
					take := line.Take{Grant: first(claim), Hash: made, Artefact: artefact}
					if what == "take" {
						strike(n)
					}
					_, err := p.client.Take(t.Context(), take)
					if what == "take" && err == nil && ran() < n { // struck at every move
						if err := p.sweeper().Swept(t.Context(), line.Swept{Recorded: []string{artefact}}); err != nil {
							t.Fatal(err)
						}
						p.kill()
						break
					}
					p.again()
					held := p.refs(store.Artefact(artefact)) != ""
					all, err := p.sweeper().Taken(t.Context())
					if err != nil || len(all) != 1 || all[0].Artefact != artefact || all[0].Grant != first(claim) || all[0].Agent != "writer" {
						t.Fatalf("%s %d: taken %+v, %v", what, n, all, err)
					}
					strike(-1)
					if what == "sweep" {
						strike(n)
					}
					err = p.sweeper().Swept(t.Context(), line.Swept{Never: []string{artefact}})
					if err != nil { // as the orchestrator does at its next look
						p.again()
						err = p.sweeper().Swept(t.Context(), line.Swept{Never: []string{artefact}})
					}
					if err != nil {
						t.Fatalf("%s %d: %v", what, n, err)
					}
					last := what == "sweep" && ran() < n
					strike(-1)
					if left := p.refs(store.Artefact(artefact)); left != "" {
						t.Errorf("%s %d: %s", what, n, left)
					}
					if kept := p.refs(store.Leftover(claim, "writer", 1)); held != strings.HasSuffix(kept, " "+made) {
						t.Errorf("%s %d: held %v, kept %q", what, n, held, kept)
					}
					if all, err := p.sweeper().Taken(t.Context()); err != nil || len(all) != 0 {
						t.Errorf("%s %d: still %+v, %v", what, n, all, err)
					}
					p.kill()
					if last {
						break
					}
				}
			}
			sh(t, p.storeDir(), `git gc -q --prune=now; git fsck --strict --full`)
		})
	}
}

// again starts the role again, if it died.
func (p *place) again() {
	p.t.Helper()
	p.kill()
	p.start()
}

// What is on the blackboard keeps its ref; only the orchestrator may say so.
func TestSweptRecorded(t *testing.T) {
	p := newPlace(t)
	p.start()
	ctx := t.Context()
	if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first("c1"), Goal: "goal"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.client.Take(ctx, line.Take{Grant: first("c1"), Hash: p.base, Artefact: "a1"}); err != nil {
		t.Fatal(err)
	}
	thief := line.NewSweeper(p.client.URL, "another secret")
	if _, err := thief.Taken(ctx); err == nil || !strings.Contains(err.Error(), fmt.Sprint(http.StatusForbidden)) {
		t.Errorf("without the secret: %v", err)
	}
	if err := p.sweeper().Swept(ctx, line.Swept{Recorded: []string{"a1", "../../HEAD"}}); err != nil {
		t.Fatal(err)
	}
	if all, err := p.sweeper().Taken(ctx); err != nil || len(all) != 0 {
		t.Errorf("still %+v, %v", all, err)
	}
	if got := p.refs(store.Artefact("a1")); !strings.HasSuffix(got, p.base) {
		t.Errorf("refs %q", got)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// The tree of an ended grant loses what its tool left, and is measured; one whose result may still be
// recorded, or whose tool may be at work, stays.
func TestTreeAtRest(t *testing.T) {
	p := newPlace(t)
	p.start()
	ctx := t.Context()
	grant := func(slot, ends string) {
		t.Helper()
		c := p.clientOf(slot, slot, p.client.URL)
		if _, err := c.Prepare(ctx, line.Prepare{Grant: first(slot), Goal: "goal"}); err != nil {
			t.Fatal(err)
		}
		sh(t, p.tree(slot), `echo ignored >.gitignore; echo large >ignored; mkdir -m 0555 locked; rm d/file; chmod a-w .`)
		var err error
		switch ends {
		case "kept":
			_, err = c.Keep(ctx, line.Keep{Grant: first(slot), Message: "failed"})
		case "settled":
			_, err = c.Settle(ctx, line.Settle{Grant: first(slot)})
		case "taken":
			_, err = c.Take(ctx, line.Take{Grant: first(slot), Hash: p.base, Artefact: "a1"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	grant("kept", "kept")
	grant("settled", "settled")
	grant("taken", "taken")
	grant("works", "")
	clean := func(slot string) bool {
		return sh(t, p.tree(slot), `ls -A`) == "d" && sh(t, p.tree(slot), `cat d/file || true`) == "one"
	}
	until(t, "trees are tidied", func() bool { return clean("kept") && clean("settled") })
	if clean("taken") || clean("works") {
		t.Error("a tree in use was tidied")
	}
	if err := p.sweeper().Swept(ctx, line.Swept{Recorded: []string{"a1"}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the third is tidied", func() bool { return clean("taken") })
	until(t, "sizes are measured", func() bool {
		s, err := line.ReadSizes(p.storeDir())
		return err == nil && s != nil && s.Trees["taken"] > 0 && s.Trees["taken"] < 100_000 && s.Store > 0
	})
	// A request whose answer was lost is repeated: what was kept stays.
	kept := p.refs(store.Leftover("kept", "kept", 1))
	h, err := p.clientOf("kept", "kept", p.client.URL).Keep(ctx, line.Keep{Grant: first("kept"), Message: "failed"})
	if err != nil || !strings.HasSuffix(kept, " "+h.Commit) || p.refs(store.Leftover("kept", "kept", 1)) != kept {
		t.Errorf("kept %q, then %+v, %v", kept, h, err)
	}
	if got := sh(t, p.storeDir(), `git ls-tree -r --name-only `+h.Commit); got != ".gitignore" {
		t.Errorf("kept %q", got)
	}
}

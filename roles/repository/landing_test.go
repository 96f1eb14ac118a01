package repository

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// lander is the orchestrator's client, with the instance's secret.
func (p *place) lander() *line.Lander { return line.NewLander(p.client.URL, key) }

// result has the store hold a commit on the goal's base that makes a file.
func (p *place) result(artefact, file string) {
	p.t.Helper()
	dir := filepath.Join(p.dir, "agent-"+artefact)
	sh(p.t, p.dir, fmt.Sprintf(`git clone -q person %[1]s; cd %[1]s; git checkout -q --detach %[2]s; echo %[3]s >%[4]s; git add -A; git commit -qm %[3]s`, dir, p.base, artefact, file))
	if err := p.store.Fetch(p.t.Context(), filepath.Join(dir, ".git", "objects"), sh(p.t, dir, `git rev-parse HEAD`), store.Artefact(artefact)); err != nil {
		p.t.Fatal(err)
	}
}

// A role that is killed before any run of git, and so after the one before, or beside which git prunes both repositories, lands
// each result once: the same requests to the next role bring the branch to its end.
func TestLandingKilledAtEveryMove(t *testing.T) {
	if testing.Short() {
		t.Skip("make test runs it") // it kills a process at each of its moves
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, strike := range []string{"before", "gc"} {
		t.Run(strike, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.lands = true
			person, bin := filepath.Join(p.dir, "person"), filepath.Join(p.dir, "bin")
			sh(t, person, `git branch released`)
			count, at := filepath.Join(p.dir, "count"), filepath.Join(p.dir, "at")
			wrapper := fmt.Sprintf(`#!/bin/sh
until mkdir %[2]s.lock 2>/dev/null; do sleep 0.01; done
n=$(cat %[2]s); n=$((n + 1)); echo $n > %[2]s; rmdir %[2]s.lock
strike() { [ $n = "$(cat %[3]s)" ]; }
case %[5]s in
before) if strike; then kill -9 $PPID; exit 1; fi; exec %[1]s "$@";;
gc) if strike; then for d in %[4]s %[6]s/.git; do env -i PATH="$PATH" %[1]s --git-dir=$d gc -q --prune=now >&2; done; fi; exec %[1]s "$@";;
esac
`, git, count, at, p.storeDir(), strike, person)
			if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "git"), []byte(wrapper), 0o755)); err != nil {
				t.Fatal(err)
			}
			p.path = bin
			moves := 0
			for n := 1; ; n++ {
				artefact := fmt.Sprintf("a%d", n)
				p.result(artefact, artefact)
				if err := errors.Join(os.WriteFile(at, []byte(fmt.Sprint(n)), 0o600), os.WriteFile(count, []byte("0"), 0o600)); err != nil {
					t.Fatal(err)
				}
				p.start()
				p.landed(artefact)
				p.kill()
				text, err := os.ReadFile(count)
				if err != nil {
					t.Fatal(err)
				}
				ran, err := strconv.Atoi(strings.TrimSpace(string(text)))
				if err != nil {
					t.Fatal(err)
				}
				if moves = n; ran < n {
					break // there is no such move any more
				}
			}
			if moves < 8 {
				t.Errorf("struck at %d moves only", moves)
			}
			t.Logf("struck at %d moves", moves)
			if got := sh(t, person, `git log --format=%s --reverse `+p.base+`..released`); len(strings.Fields(got)) != moves {
				t.Errorf("%d landings brought\n%s", moves, got)
			}
			for n := 1; n <= moves; n++ {
				if got := sh(t, person, fmt.Sprintf(`git show released:a%d`, n)); got != fmt.Sprintf("a%d", n) {
					t.Errorf("landing %d: %q", n, got)
				}
			}
			for _, dir := range []string{person, p.storeDir()} {
				sh(t, dir, `git fsck --strict --full`)
			}
		})
	}
}

// landed lands a result, with each request repeated to the next role if this one dies.
func (p *place) landed(artefact string) {
	p.t.Helper()
	again := func(call func() error) {
		p.t.Helper()
		for range 3 {
			err := call()
			if err == nil {
				return
			}
			if errors.Is(err, line.ErrMissing) {
				p.t.Fatalf("%s: %v", artefact, err)
			}
			p.kill()
			p.start()
		}
		p.t.Fatalf("%s: failed again and again", artefact)
	}
	var plan line.LandingPlan
	again(func() (err error) {
		plan, err = p.lander().Plan(p.t.Context(), line.Landing{Goal: "goal", Artefact: artefact, Branch: "released", How: store.Rebase})
		return err
	})
	if plan.Bars != "" || plan.To == "" {
		p.t.Fatalf("%s: %+v", artefact, plan)
	}
	again(func() error {
		done, err := p.lander().Land(p.t.Context(), line.Land{Branch: "released", From: plan.Tip, To: plan.To})
		if err == nil && !done.Done {
			p.t.Fatalf("%s: %+v", artefact, done)
		}
		return err
	})
}

// Without land in sett.yml the role has no way to the user's repository; only the orchestrator may ask, for a branch.
func TestLandingIsRefused(t *testing.T) {
	p := newPlace(t)
	p.result("a", "f")
	p.start()
	q := line.Landing{Goal: "goal", Artefact: "a", Branch: "main", How: store.Rebase}
	if _, err := p.lander().Plan(t.Context(), q); err == nil || !strings.Contains(err.Error(), "does not land") {
		t.Errorf("without land: %v", err)
	}
	p.kill()
	p.lands = true
	p.start()
	if plan, err := p.lander().Plan(t.Context(), q); err != nil || !strings.Contains(plan.Bars, "checked out") {
		t.Errorf("a branch in use: %+v %v", plan, err)
	}
	for _, branch := range []string{"", "-f", "../x", "a b", "/etc", "a\n"} {
		q.Branch = branch
		if _, err := p.lander().Plan(t.Context(), q); err == nil {
			t.Errorf("branch %q is taken", branch)
		}
		if _, err := p.lander().Land(t.Context(), line.Land{Branch: branch, From: p.base, To: p.base}); err == nil {
			t.Errorf("branch %q is moved", branch)
		}
	}
	q.Branch, q.Artefact = "other", "nowhere"
	if _, err := p.lander().Plan(t.Context(), q); !errors.Is(err, line.ErrMissing) {
		t.Errorf("an artefact without a commit: %v", err)
	}
	if _, err := line.NewLander(p.client.URL, "another secret").Plan(t.Context(), q); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("with another secret: %v", err)
	}
}

// The branch that a result did not land on is named to its maker, who may build on it.
func TestTreeBesideABranch(t *testing.T) {
	p := newPlace(t)
	p.result("a", "f")
	p.result("other", "f")
	p.start()
	w, err := p.client.Prepare(t.Context(), line.Prepare{Grant: first("c"), Goal: "goal", Branch: "main", Artefacts: []string{"a"}, Beside: []string{"other"}})
	if err != nil || len(w.Unmerged) != 1 || w.Unmerged[0].ArtefactID != "other" || sh(t, p.tree("writer"), `cat f`) != "a" {
		t.Fatalf("%+v %v", w, err)
	}
	made := sh(t, p.tree("writer"), `git merge -q `+w.Unmerged[0].Commit+` >/dev/null || true; echo both >f; git add -A; git commit -qm both; git rev-parse HEAD`)
	h, err := p.client.Take(t.Context(), line.Take{Grant: first("c"), Hash: made, Artefact: "b"})
	if err != nil || h.Commit != made {
		t.Errorf("%+v %v", h, err)
	}
}

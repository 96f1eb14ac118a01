package repository

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/contract/env"
	"sett/roles/role/hosttest"
	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// place is an instance's store and trees, with the role as a process.
type place struct {
	t      *testing.T
	dir    string
	base   string // the commit that the goal begins with
	store  *store.Store
	path   string      // of programs; empty: as here
	lands  bool        // results land in the person's repository
	heard  chan string // takes the log's lines once the role listens; nil: they are dropped
	cmd    *exec.Cmd
	client *line.Client
}

const key = "the instance's secret"

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir()}
	hosttest.Removable(t, p.dir)
	person := filepath.Join(p.dir, "person")
	sh(t, p.dir, `git init -q -b main person && cd person && mkdir d && echo one > d/file && git add -A && git commit -qm first`)
	p.base = sh(t, person, `git rev-parse HEAD`)
	s, err := store.Create(t.Context(), p.storeDir(), "sha1", []string{filepath.Join(person, ".git", "objects")})
	if err != nil {
		t.Fatal(err)
	}
	p.store = s
	if err := s.Hold(t.Context(), store.Goal("goal"), p.base); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *place) storeDir() string { return filepath.Join(p.dir, "store") }
func (p *place) treesDir() string { return filepath.Join(p.dir, "trees") }

// start starts the role and returns when it listens. A role that is killed before is
// started again.
func (p *place) start() {
	p.t.Helper()
	err := p.tryStart()
	if err != nil {
		err = p.tryStart()
	}
	if err != nil {
		p.t.Fatalf("the role did not start: %v", err)
	}
}

func (p *place) tryStart() error {
	p.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=yes", env.Instance+"=test", env.RepositoryAddr+"=127.0.0.1:0", env.RepositoryKey+"="+key,
		env.Store+"="+p.storeDir(), env.Trees+"="+p.treesDir(), env.HealthAddr+"=off", env.LogFormat+"=json")
	if p.lands {
		cmd.Env = append(cmd.Env, env.LandInto+"="+filepath.Join(p.dir, "person", ".git"))
	}
	if p.path != "" {
		cmd.Env = append(cmd.Env, "PATH="+p.path+":"+os.Getenv("PATH"))
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.cmd = cmd
	r := bufio.NewScanner(said)
	for r.Scan() {
		var l struct{ Msg, Addr string }
		if json.Unmarshal(r.Bytes(), &l) == nil && l.Addr != "" {
			p.client = p.clientOf("writer", "writer", "http://"+l.Addr)
			go func() {
				for r.Scan() {
					if p.heard != nil {
						p.heard <- r.Text()
					}
				}
			}()
			return nil
		}
	}
	p.cmd = nil
	return cmd.Wait()
}

func (p *place) clientOf(agent, slot, url string) *line.Client {
	return &line.Client{URL: url, Agent: agent, Slot: slot, Token: line.Token(key, agent), HTTP: &http.Client{Timeout: time.Minute}}
}

func (p *place) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

func (p *place) tree(slot string) string { return filepath.Join(p.treesDir(), slot, "tree") }

func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=tool", "GIT_AUTHOR_EMAIL=tool@localhost", "GIT_COMMITTER_NAME=tool", "GIT_COMMITTER_EMAIL=tool@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func first(claim string) line.Grant { return line.Grant{Claim: claim, Attempt: 1} }

func TestGrantFromStartToResult(t *testing.T) {
	p := newPlace(t)
	p.start()
	ctx := t.Context()
	w, err := p.client.Prepare(ctx, line.Prepare{Grant: first("c1"), Goal: "goal", Branch: "main"})
	if err != nil || w.Commit != p.base || w.Base != p.base || w.Branch != "main" {
		t.Fatalf("%+v %v", w, err)
	}
	made := sh(t, p.tree("writer"), `echo two > d/file; git commit -qam two; git rev-parse HEAD`)
	h, err := p.client.Take(ctx, line.Take{Grant: first("c1"), Hash: made[:8], Artefact: "a1"})
	if err != nil || h.Commit != made {
		t.Fatalf("%+v %v", h, err)
	}

	// The next agent starts from it, and hands over its changes instead of a commit.
	next := p.clientOf("second", "second.worker-1", p.client.URL)
	if w, err = next.Prepare(ctx, line.Prepare{Grant: first("c2"), Goal: "goal", Branch: "main", Artefacts: []string{"a1"}}); err != nil || w.Commit != made {
		t.Fatalf("%+v %v", w, err)
	}
	sh(t, p.tree("second.worker-1"), `echo three > d/new`)
	if h, err = next.Commit(ctx, line.Commit{Grant: first("c2"), Artefact: "a2", Message: "three"}); err != nil || h.Ref != store.Artefact("a2") {
		t.Fatalf("%+v %v", h, err)
	}
	if got := sh(t, p.storeDir(), `git log -1 --format='%P %an %s' `+h.Commit); got != made+" second three" {
		t.Errorf("the commit: %s", got)
	}

	if _, err := p.clientOf("second", "second.worker-1", p.client.URL).Commit(ctx, line.Commit{Grant: first("c1"), Artefact: "a3"}); !errors.Is(err, line.ErrStale) {
		t.Errorf("for another grant: %v", err)
	}

	// A third one fails; its attempt is kept, and a resumed grant goes on from there.
	third := p.clientOf("third", "third", p.client.URL)
	if w, err = third.Prepare(ctx, line.Prepare{Grant: first("c3"), Goal: "goal", Artefacts: []string{"a1", "a2"}}); err != nil || w.Commit != h.Commit {
		t.Fatalf("%+v %v", w, err)
	}
	sh(t, p.tree("third"), `git checkout -q -b side; echo s > side; git add -A; git commit -qm side; git checkout -q -; echo stashed > d/file; git stash -q; echo half > half`)
	kept, err := third.Keep(ctx, line.Keep{Grant: first("c3"), Message: "left"})
	if err != nil || kept.Ref != store.Leftover("c3", "third", 1) || len(kept.Beside) != 2 {
		t.Fatalf("%+v %v", kept, err)
	}
	if again, err := third.Keep(ctx, line.Keep{Grant: first("c3"), Message: "left"}); err != nil || fmt.Sprint(again) != fmt.Sprint(kept) {
		t.Errorf("kept again: %+v %v", again, err)
	}
	if w, err = third.Prepare(ctx, line.Prepare{Grant: line.Grant{Claim: "c3", Attempt: 2}, Goal: "goal", Resumes: 1}); err != nil || w.Commit != sh(t, p.storeDir(), "git rev-parse "+kept.Commit+"^") {
		t.Fatalf("%+v %v", w, err)
	}
	if got := sh(t, p.tree("third"), `cat half; git status --porcelain; git merge -q side; git stash pop -q; cat side d/file`); got != "half\ns\nstashed" {
		t.Errorf("the resumed tree: %q", got)
	}
}

// TestBeforeAQuestion: a resumed tree names the commit that its work began with, also where the grant would start
// from another one by now.
func TestBeforeAQuestion(t *testing.T) {
	p := newPlace(t)
	if err := p.store.Tree(p.treesDir(), "writer", store.Seen{}).Make(); err != nil { // as sett up does
		t.Fatal(err)
	}
	p.start()
	ctx := t.Context()
	prepare := func(claim string, attempt, resumes int, artefacts ...string) line.Prepared {
		t.Helper()
		w, err := p.client.Prepare(ctx, line.Prepare{Grant: line.Grant{Claim: claim, Attempt: attempt}, Goal: "goal", Artefacts: artefacts, Resumes: resumes})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	made := func(claim, artefact, do string) string {
		t.Helper()
		prepare(claim, 1, 0)
		sh(t, p.tree("writer"), do)
		h, err := p.client.Commit(ctx, line.Commit{Grant: first(claim), Artefact: artefact, Message: claim})
		if err != nil || h.Commit == "" {
			t.Fatalf("%+v %v", h, err)
		}
		return h.Commit
	}
	a1 := made("c1", "a1", `echo a1 > a1`)
	made("c2", "a2", `echo a2 > a2`)
	made("c3", "a3", `echo other > a1`)
	for name, c := range map[string]struct {
		do         string
		artefacts  []string // that it would start from after the answer
		unchanged  bool
		thenCommit string // the files of the result
	}{
		"as before": {`echo n > new`, []string{"a1"}, false, "a1\nd/file\nnew"},
		"moved on":  {`echo n > new`, []string{"a2"}, false, "a1\nd/file\nnew"},
		"a clash":   {`echo n > new`, []string{"a1", "a3"}, false, "a1\nd/file\nnew"},
		"missing":   {`echo n > new`, []string{"gone"}, false, "a1\nd/file\nnew"},
		"a stash":   {`echo n > new; git stash -qu`, []string{"a1"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			claim := strings.ReplaceAll(name, " ", "-")
			prepare(claim, 1, 0, "a1")
			sh(t, p.tree("writer"), c.do)
			kept, err := p.client.Keep(ctx, line.Keep{Grant: first(claim), Message: "asked"})
			if err != nil || kept.Commit == "" {
				t.Fatalf("%+v %v", kept, err)
			}
			w := prepare(claim, 2, 1, c.artefacts...)
			want := a1
			if c.unchanged {
				want = ""
			}
			if w.Before != want {
				t.Errorf("it began with %q, want %q", w.Before, want)
			}
			p.kill() // the role knows it after its restart, too
			p.start()
			h, err := p.client.Commit(ctx, line.Commit{Grant: line.Grant{Claim: claim, Attempt: 2}, Artefact: claim, Message: "m"})
			if err != nil || (h.Commit == "") != c.unchanged {
				t.Fatalf("%+v %v", h, err)
			}
			if h.Commit == "" {
				return
			}
			if got := sh(t, p.storeDir(), `git ls-tree -r --name-only `+store.Artefact(claim)); got != c.thenCommit {
				t.Errorf("the result has %q", got)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	p := newPlace(t)
	if err := p.store.Tree(p.treesDir(), "writer", store.Seen{}).Make(); err != nil { // as sett up does
		t.Fatal(err)
	}
	p.start()
	ctx := t.Context()
	if _, err := p.client.Take(ctx, line.Take{Grant: first("c1"), Hash: p.base, Artefact: "a"}); !errors.Is(err, line.ErrStale) {
		t.Errorf("before a tree was prepared: %v", err)
	}
	if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first("c1"), Goal: "goal", Artefacts: []string{"nowhere"}}); !errors.Is(err, line.ErrMissing) {
		t.Errorf("from an artefact without a commit: %v", err)
	}
	if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first("c1"), Goal: "goal"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.client.Take(ctx, line.Take{Grant: first("c2"), Hash: p.base, Artefact: "a"}); !errors.Is(err, line.ErrStale) {
		t.Errorf("for another grant: %v", err)
	}
	other := sh(t, p.tree("writer"), `git checkout -q --orphan o; git commit -qm other; git rev-parse HEAD`)
	if _, err := p.client.Take(ctx, line.Take{Grant: first("c1"), Hash: other, Artefact: "a"}); !errors.Is(err, line.ErrTool) {
		t.Errorf("a commit that builds on nothing: %v", err)
	}
	if h, err := p.client.Take(ctx, line.Take{Grant: first("c1"), Hash: other, Artefact: "a", Rebased: true}); err != nil || h.Commit != other {
		t.Errorf("the same, rebased: %v", err)
	}
	for name, c := range map[string]*line.Client{
		"another's tree":        p.clientOf("reader", "writer", p.client.URL),
		"an agent's with a dot": p.clientOf("writer.1", "writer.1", p.client.URL),
		"a prefix":              p.clientOf("write", "writer", p.client.URL),
		"out of the folder":     p.clientOf("writer", "writer.../../x", p.client.URL),
		"no token":              {URL: p.client.URL, Agent: "writer", Slot: "writer", HTTP: p.client.HTTP},
		"another's token":       {URL: p.client.URL, Agent: "writer", Slot: "writer", Token: line.Token(key, "reader"), HTTP: p.client.HTTP},
	} {
		if _, err := c.Prepare(ctx, line.Prepare{Grant: first("c1"), Goal: "goal"}); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKilledAtEveryMove kills the role before and after each run of git, between the
// beginning of a grant and its acknowledged result, and prunes the store at each of them.
// The same request to the next role brings the same result, and no acknowledged
// commit is ever lost. In other rounds the person amends the commit that all began with,
// and has git prune their own repository, at each move: nothing is borrowed from there.
func TestKilledAtEveryMove(t *testing.T) {
	if testing.Short() {
		t.Skip("make test runs it") // it kills a process at each of its moves
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"before take", "after take", "gc take", "before commit", "after commit", "gc commit", "person take", "person commit"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			strike, what, _ := strings.Cut(kind, " ")
			p := newPlace(t)
			bin := filepath.Join(p.dir, "bin")
			count, at := filepath.Join(p.dir, "count"), filepath.Join(p.dir, "at")
			wrapper := fmt.Sprintf(`#!/bin/sh
until mkdir %[2]s.lock 2>/dev/null; do sleep 0.01; done
n=$(cat %[2]s); n=$((n + 1)); echo $n > %[2]s; rmdir %[2]s.lock
strike() { [ $n = "$(cat %[3]s)" ]; }
case %[5]s in
before) if strike; then kill -9 $PPID; exit 1; fi; exec %[1]s "$@";;
after) %[1]s "$@"; rc=$?; if strike; then kill -9 $PPID; fi; exit $rc;;
gc) if strike; then env -u GIT_OBJECT_DIRECTORY -u GIT_ALTERNATE_OBJECT_DIRECTORIES -u GIT_INDEX_FILE -u GIT_WORK_TREE %[1]s --git-dir=%[4]s gc -q --prune=now; fi; exec %[1]s "$@";;
person) if strike; then (cd %[6]s; for v in $(env | sed -n 's/^\(GIT_[A-Z_]*\)=.*/\1/p'); do unset $v; done
	echo $n >d/file; %[1]s -c user.name=p -c user.email=p@x commit -qam "amended $n" --amend; %[1]s reflog expire --expire=now --all; %[1]s gc -q --prune=now) >&2; fi; exec %[1]s "$@";;
esac
`, git, count, at, p.storeDir(), strike, filepath.Join(p.dir, "person"))
			if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "git"), []byte(wrapper), 0o755)); err != nil {
				t.Fatal(err)
			}
			p.path = bin
			moves := 0
			for n := 1; ; n++ {
				if err := errors.Join(os.WriteFile(at, []byte(fmt.Sprint(n)), 0o600), os.WriteFile(count, []byte("0"), 0o600)); err != nil {
					t.Fatal(err)
				}
				p.struck(n, what)
				text, err := os.ReadFile(count)
				if err != nil {
					t.Fatal(err)
				}
				var ran int
				if _, err := fmt.Sscan(string(text), &ran); err != nil {
					t.Fatal(err)
				}
				if ran < n {
					break // there is no such move any more
				}
				moves = n
			}
			if moves < 7 {
				t.Errorf("struck at %d moves only", moves)
			}
			t.Logf("struck at %d moves", moves)
			if strike == "person" {
				sh(t, filepath.Join(p.dir, "person"), `! git cat-file -e `+p.base+` 2>/dev/null`)
			}
			sh(t, p.storeDir(), `git gc -q --prune=now; git fsck --strict --full`)
			for n := 1; n <= moves; n++ {
				ref := fmt.Sprintf(`refs/sett/artefacts/a%d`, n)
				if got := sh(t, p.storeDir(), `git show `+ref+`:made`); got != fmt.Sprint(n) {
					t.Errorf("result %d: %q", n, got)
				}
				if what != "commit" {
					continue
				}
				if got := sh(t, p.storeDir(), `git show `+ref+`:more; git log --format='%an %s' `+p.base+`..`+ref); got != fmt.Sprintf("%d\nwriter more\ntool made", n) {
					t.Errorf("result %d: %q", n, got)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(p.storeDir(), "taking-*")); len(left) > 1 { // the last role's, which was killed
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// struck goes through one grant while the role is struck at one of its moves.
func (p *place) struck(n int, what string) {
	t := p.t
	t.Helper()
	claim, artefact := fmt.Sprintf("c%d", n), fmt.Sprintf("a%d", n)
	p.start()
	again := func(call func(ctx context.Context) error) {
		t.Helper()
		for range 2 {
			err := call(t.Context())
			if err == nil {
				return
			}
			if errors.Is(err, line.ErrTool) || errors.Is(err, line.ErrStale) || errors.Is(err, line.ErrMissing) {
				t.Fatalf("move %d: %v", n, err)
			}
			p.kill()
			p.start()
		}
		t.Fatalf("move %d: failed twice", n)
	}
	again(func(ctx context.Context) error {
		_, err := p.client.Prepare(ctx, line.Prepare{Grant: first(claim), Goal: "goal", Branch: "main"})
		return err
	})
	made := sh(t, p.tree("writer"), fmt.Sprintf(`echo %d > made; git add made; git commit -qm made; git rev-parse HEAD`, n))
	if what == "commit" {
		sh(t, p.tree("writer"), fmt.Sprintf(`echo %d > more`, n))
		again(func(ctx context.Context) error {
			_, err := p.client.Commit(ctx, line.Commit{Grant: first(claim), Artefact: artefact, Message: "more"})
			return err
		})
		p.kill()
		return
	}
	again(func(ctx context.Context) error {
		h, err := p.client.Take(ctx, line.Take{Grant: first(claim), Hash: made, Artefact: artefact})
		if err == nil && h.Commit != made {
			t.Fatalf("move %d: took %s", n, h.Commit)
		}
		return err
	})
	p.kill()
}

// What a tool left whose cub died is kept when the orchestrator asks, else before its tree serves the next grant; what one
// left that ended well is not.
func TestOrphanedChangesAreKept(t *testing.T) {
	p := newPlace(t)
	p.start()
	ctx := t.Context()
	for _, c := range []struct {
		name    string
		ends    func(g line.Grant) error
		keeps   bool
		prepare line.Prepare
	}{
		{"cub died", func(line.Grant) error { return nil }, true, line.Prepare{}},
		{"tool ended well", func(g line.Grant) error { _, err := p.client.Settle(ctx, line.Settle{Grant: g}); return err }, false, line.Prepare{}},
		{"changes were kept", func(g line.Grant) error { _, err := p.client.Keep(ctx, line.Keep{Grant: g}); return err }, true, line.Prepare{}},
		{"read-only", func(line.Grant) error { return nil }, false, line.Prepare{ReadOnly: true}},
		{"asked", func(g line.Grant) error {
			orphan := line.Orphan{Lending: line.Lending{Agent: "writer", Slot: "writer", Grant: g}}
			all, err := p.sweeper().Lent(ctx)
			if len(all) != 1 || all[0] != orphan.Lending {
				t.Errorf("to be kept: %+v", all)
			}
			other := orphan
			other.Attempt = 7 // the tree is not that one's
			for _, q := range []line.Orphan{other, orphan, orphan} {
				if err := p.sweeper().Orphaned(ctx, q); err != nil {
					return err
				}
			}
			if kept, err := p.store.Commit(ctx, store.Leftover("asked", "writer", 1)); kept == "" || err != nil {
				t.Errorf("asked: %q %v", kept, err)
			}
			if all, err := p.sweeper().Lent(ctx); len(all) > 0 || err != nil {
				t.Errorf("still to be kept: %+v %v", all, err)
			}
			return err
		}, true, line.Prepare{}},
	} {
		claim := strings.ReplaceAll(c.name, " ", "-")
		q := c.prepare
		q.Grant, q.Goal = first(claim), "goal"
		if _, err := p.client.Prepare(ctx, q); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		sh(t, p.tree("writer"), "echo "+claim+" > left")
		if err := c.ends(q.Grant); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		p.kill() // the role remembers
		p.start()
		if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first("next"), Goal: "goal"}); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		kept, err := p.store.Commit(ctx, store.Leftover(claim, "writer", 1))
		if err != nil || (kept != "") != c.keeps {
			t.Errorf("%s: kept %q %v", c.name, kept, err)
		}
		if kept != "" {
			if got := sh(t, p.storeDir(), "git --git-dir=. show "+kept+":left"); got != claim {
				t.Errorf("%s: kept %q", c.name, got)
			}
		}
		if _, err := os.Stat(filepath.Join(p.tree("writer"), "left")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the next tool finds the file: %v", c.name, err)
		}
		if _, err := p.client.Settle(ctx, line.Settle{Grant: first("next")}); err != nil {
			t.Error(err)
		}
	}
}

// In a tree whose files cannot be written, git works as far as no file has to change, and
// its commits have the agent's name.
func TestReadOnlyTree(t *testing.T) {
	p := newPlace(t)
	p.start()
	if _, err := p.client.Prepare(t.Context(), line.Prepare{Grant: first("claim"), Goal: "goal", Branch: "main", ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	got := sh(t, p.tree("writer"), `unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
		[ -f .git ]; git status --short; git log --format=%s; git branch other; git commit -q --allow-empty -m second; git log -1 --format='%an %ae'; git for-each-ref --format='%(refname:short)'`)
	if got != "first\nwriter writer@sett.invalid\nmain\nother" {
		t.Error(got)
	}
	made := sh(t, p.tree("writer"), `git rev-parse HEAD`)
	if _, err := p.client.Take(t.Context(), line.Take{Grant: first("claim"), Hash: made, Artefact: "a"}); !errors.Is(err, line.ErrTool) ||
		!strings.Contains(err.Error(), "no object "+made+"; its tree is read-only") || !strings.Contains(err.Error(), "workspace: {mode: rw}") {
		t.Errorf("a commit of its own: %v", err)
	}
	if _, err := p.client.Commit(t.Context(), line.Commit{Grant: first("claim"), Artefact: "a"}); !errors.Is(err, line.ErrTool) || !strings.Contains(err.Error(), "workspace: {mode: rw}") {
		t.Errorf("changes: %v", err)
	}
	if _, err := p.client.Prepare(t.Context(), line.Prepare{Grant: first("next"), Goal: "goal", ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, p.tree("writer"), `git log --format=%s; git for-each-ref`); got != "first" {
		t.Error(got)
	}
}

// Changes that are too large to keep go at once, and so do all files of a tree that takes
// too much: others need the disk. The role and the next grant go on.
func TestTreeIsEmptied(t *testing.T) {
	p := newPlace(t)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	p.path = t.TempDir() // with a git that has no room for the files of some trees
	wrapper := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *' add '*) [ ! -e \"$GIT_WORK_TREE/no-room\" ] || { echo 'fatal: unable to write loose object file: No space left on device' >&2; exit 128; };; esac\nexec %s \"$@\"\n", git)
	if err := os.WriteFile(filepath.Join(p.path, "git"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	p.start()
	ctx := t.Context()
	for name, c := range map[string]struct {
		keep  line.Keep
		does  string
		fault error
		keeps bool
	}{
		"too large to keep": {line.Keep{MaxSize: 1 << 10}, "", nil, true},
		"too large a tree":  {line.Keep{Empty: true}, "", nil, true},
		"a full disk":       {line.Keep{Empty: true}, "truncate -s 20M more", nil, true}, // the store does not fill it
		"no room at all":    {line.Keep{Empty: true}, "echo x > no-room", line.ErrTool, false},
	} {
		claim := strings.ReplaceAll(name, " ", "-")
		c.keep.Grant = first(claim)
		if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first(claim), Goal: "goal"}); err != nil {
			t.Fatal(err)
		}
		sh(t, p.tree("writer"), "head -c 10000 /dev/urandom > large; echo large > .gitignore; head -c 5000 /dev/urandom > seen; "+c.does)
		held, err := p.client.Keep(ctx, c.keep)
		if !errors.Is(err, c.fault) || (held.Commit != "") != c.keeps {
			t.Errorf("%s: %+v %v", name, held, err)
		}
		if again, err := p.client.Keep(ctx, c.keep); err != nil || (again.Commit != held.Commit || fmt.Sprint(again.LeftOut) != fmt.Sprint(held.LeftOut)) {
			t.Errorf("%s, again: %+v, not %+v (%v)", name, again, held, err)
		}
		if left, err := os.ReadDir(p.tree("writer")); err != nil || len(left) > 0 {
			t.Errorf("%s: the tree has %v %v", name, left, err)
		}
		if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first("next"), Goal: "goal"}); err != nil {
			t.Errorf("%s: the next grant: %v", name, err)
		}
		if got := sh(t, p.tree("writer"), "git status --porcelain; cat d/file"); got != "one" {
			t.Errorf("%s: the next tree: %q", name, got)
		}
	}
}

// A commit that a tool made is not lost when its result does not name it. A tool that only
// looks at another commit of the store leaves nothing.
func TestUnnamedCommit(t *testing.T) {
	p := newPlace(t)
	p.start()
	ctx := t.Context()
	for claim, c := range map[string]struct {
		does  string
		keeps bool
	}{
		"commits": {"echo two > d/file; git commit -qam two; echo more > rest", true},
		"looks":   {"git checkout -q --detach HEAD; echo more > rest", false},
	} {
		if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first(claim), Goal: "goal"}); err != nil {
			t.Fatal(err)
		}
		sh(t, p.tree("writer"), c.does)
		held, err := p.client.Settle(ctx, line.Settle{Grant: first(claim)})
		if err != nil || (held.Commit != "") != c.keeps {
			t.Fatalf("%s: %+v %v", claim, held, err)
		}
		if kept, err := p.store.Commit(ctx, store.Leftover(claim, "writer", 1)); err != nil || kept != held.Commit {
			t.Errorf("%s: the store holds %q %v", claim, kept, err)
		}
	}
}

// An agent's trees are cared for as sett.yml says, also after a restart: kept paths and copies stay out of its commits,
// and another agent's trees have neither.
func TestCaredForTrees(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	care := map[string]store.Care{"writer": {Keep: []string{"cache"}, Copy: []string{"env"}}}
	if err := store.SetCare(p.treesDir(), care, map[string]store.Copied{"env": {Text: []byte("A=1\n")}}); err != nil {
		t.Fatal(err)
	}
	p.start()
	work := func(c *line.Client, claim, script string) {
		t.Helper()
		if _, err := c.Prepare(t.Context(), line.Prepare{Grant: first(claim), Goal: "goal", Branch: "main"}); err != nil {
			t.Fatal(err)
		}
		sh(t, p.tree(c.Slot), script)
	}
	work(p.client, "one", `grep -q A=1 env; mkdir cache; echo x >cache/x; echo two >d/file`)
	p.kill()
	p.start()
	held, err := p.client.Commit(t.Context(), line.Commit{Grant: first("one"), Artefact: "one", Message: "m"})
	if err != nil || sh(t, p.storeDir(), "git ls-tree -r --name-only "+held.Commit) != "d/file" {
		t.Fatalf("%+v %v", held, err)
	}
	work(p.client, "two", `test -f cache/x; git add -f env; git commit -qm own`)
	take := line.Take{Grant: first("two"), Hash: sh(t, p.tree("writer"), "git rev-parse HEAD"), Artefact: "two"}
	if _, err := p.client.Take(t.Context(), take); !errors.Is(err, line.ErrTool) || !strings.Contains(err.Error(), "workspace.copy") {
		t.Errorf("taken: %v", err)
	}
	work(p.clientOf("reader", "reader", p.client.URL), "three", `test ! -e cache; test ! -e env`)
}

// A tool that takes its own working directory away, or leaves a tree that nobody can read, has
// failed: no later request waits for that tree, and the next grant has a new one. Nothing is
// followed out of the tree.
func TestVanishedTree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.start()
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deep := `d=dddddddddddddddddddddddddddddddddddddddddddddddddd; i=0; while [ $i -lt 90 ]; do mkdir $d; cd -P $d; i=$((i+1)); done; cd /; true`
	asks := map[string]func(line.Grant) error{
		"commit": func(g line.Grant) error {
			_, err := p.client.Commit(t.Context(), line.Commit{Grant: g, Artefact: g.Claim, Message: "m"})
			return err
		},
		"keep": func(g line.Grant) error {
			_, err := p.client.Keep(t.Context(), line.Keep{Grant: g, Message: "m"})
			return err
		},
		"take": func(g line.Grant) error {
			_, err := p.client.Take(t.Context(), line.Take{Grant: g, Artefact: g.Claim, Hash: p.base})
			return err
		},
		"settle": func(g line.Grant) error {
			_, err := p.client.Settle(t.Context(), line.Settle{Grant: g})
			return err
		},
	}
	for ask, of := range asks {
		for what, does := range map[string]string{
			"removed":    `rm -r "$PWD"`,
			"a file":     `rm -r "$PWD"; echo x >"$PWD"`,
			"a link":     `rm -r "$PWD"; ln -s ` + filepath.Dir(canary) + ` "$PWD"`,
			"the place":  `rm -r "${PWD%/tree}"`,
			"a bad note": `echo garbage >../grant.json`,
			"no note":    `rm ../grant.json; mkdir ../grant.json`,
			"deep":       deep,
		} {
			if what == "deep" && ask != "commit" && ask != "keep" { // the others do not read its files
				continue
			}
			grant := first(ask + "-" + strings.ReplaceAll(what, " ", "-"))
			if _, err := p.client.Prepare(t.Context(), line.Prepare{Grant: grant, Goal: "goal"}); err != nil {
				t.Fatalf("%s, before %s: %v", ask, what, err)
			}
			sh(t, p.tree("writer"), does)
			if err := of(grant); !errors.Is(err, line.ErrTool) {
				t.Errorf("%s, %s: %v", ask, what, err)
			}
			if _, err := p.client.Prepare(t.Context(), line.Prepare{Grant: first("next"), Goal: "goal"}); err != nil {
				t.Fatalf("%s, after %s: %v", ask, what, err)
			}
			if got := sh(t, p.tree("writer"), "git status --porcelain; cat d/file"); got != "one" {
				t.Errorf("%s, after %s: %q", ask, what, got)
			}
		}
	}
	if _, err := os.Stat(canary); err != nil {
		t.Error(err)
	}
}

// What a tool puts in the place of Sett's own files beside its tree stops no next grant.
func TestVandalisedPlace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := store.SetCare(p.treesDir(), map[string]store.Care{"writer": {Keep: []string{"cache"}}}, nil); err != nil {
		t.Fatal(err)
	}
	p.start()
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, does := range map[string]string{
		"kept": `rm -rf ../kept; echo x >../kept`, "index": `rm ../index; mkdir -p ../index/x`, "git": `rm -r ../git; echo x >../git`,
		"link": `rm -r ../git; ln -s ` + filepath.Dir(canary) + ` ../git`, "cache": `rm -rf cache; echo x >cache`, "all": `rm -r ..//* 2>/dev/null || true`,
	} {
		if _, err := p.client.Prepare(t.Context(), line.Prepare{Grant: first(what), Goal: "goal"}); err != nil {
			t.Fatalf("before %s: %v", what, err)
		}
		sh(t, p.tree("writer"), `mkdir -p cache; echo x >cache/x; `+does)
		_, _ = p.client.Settle(t.Context(), line.Settle{Grant: first(what)}) // what it says of the tool is another test's
		if _, err := p.client.Prepare(t.Context(), line.Prepare{Grant: first("next"), Goal: "goal"}); err != nil {
			t.Fatalf("after %s: %v", what, err)
		}
		if got := sh(t, p.tree("writer"), "git status --porcelain; cat d/file; rm -rf cache"); got != "one" {
			t.Errorf("after %s: %q", what, got)
		}
	}
	if _, err := os.Stat(canary); err != nil {
		t.Error(err)
	}
}

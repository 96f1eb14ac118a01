package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lander is a repository with its store, and a branch `released` that is checked out nowhere.
type lander struct {
	*person
	store *Store
	user  *User
	base  string
}

func newLander(t *testing.T) *lander {
	t.Helper()
	l := &lander{person: newPerson(t)}
	l.base = l.commit("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b", "b\n")
	l.git("branch", "released")
	l.store, l.user = l.person.store(), OpenUser(filepath.Join(l.dir, ".git"))
	return l
}

// result makes a commit on the base that only the store has.
func (l *lander) result(files ...string) string {
	l.t.Helper()
	dir := filepath.Join(l.t.TempDir(), "agent")
	run(l.t, "", "git", "clone", "-q", "--no-checkout", l.dir, dir)
	agent := &person{l.t, dir}
	agent.git("checkout", "-q", "--detach", l.base)
	commit := agent.commit(files...)
	if err := l.store.Fetch(l.t.Context(), filepath.Join(dir, ".git", "objects"), commit, Artefact(commit)); err != nil {
		l.t.Fatal(err)
	}
	return commit
}

func (l *lander) plan(commit, how string) LandingPlan {
	l.t.Helper()
	p, err := Lander{l.store, l.user}.Plan(l.t.Context(), Landing{Name: "goal", Commit: commit, Branch: "released", How: how, Subject: "work", Trailer: "Goal: goal\n"})
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

func (l *lander) land(p LandingPlan) Moved {
	l.t.Helper()
	m, err := Lander{l.store, l.user}.Land(l.t.Context(), "released", p.Tip, p.To)
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

// A commit whose author has no name, as other systems export them, is rebased under its address, or as unknown: git
// makes no commit without a name.
func TestLandingOfTheNameless(t *testing.T) {
	t.Parallel()
	for author, want := range map[string]string{" <>": "unknown", " <ann@example.org>": "ann@example.org", ".;' <ann@example.org>": "ann@example.org"} {
		l := newLander(t)
		l.git("checkout", "-q", "--detach")
		tree := run(t, l.dir, "git", "rev-parse", l.commit("d", "d\n")+"^{tree}")
		cmd := exec.Command("git", "hash-object", "--literally", "-t", "commit", "-w", "--stdin")
		cmd.Dir, cmd.Stdin = l.dir, strings.NewReader("tree "+tree+"\nparent "+l.base+"\nauthor "+author+" 1700000000 +0000\ncommitter c <c@example.org> 1700000000 +0000\n\nodd\n")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if m := l.land(l.plan(l.result("c", "c\n"), Rebase)); !m.Done {
			t.Fatalf("the first: %+v", m)
		}
		odd := strings.TrimSpace(string(out))
		if err := l.store.Fetch(t.Context(), filepath.Join(l.dir, ".git", "objects"), odd, Artefact(odd)); err != nil {
			t.Fatal(err)
		}
		if m := l.land(l.plan(odd, Rebase)); !m.Done {
			t.Fatalf("%q: %+v", author, m)
		}
		if got := run(t, l.dir, "git", "log", "-1", "--format=%an", "released"); got != want {
			t.Errorf("the author %q is %q, want %q", author, got, want)
		}
	}
}

// Each way brings the result to a branch that has moved on, and leaves all else as it is.
func TestLanding(t *testing.T) {
	t.Parallel()
	for _, how := range []string{Rebase, Merge, Squash} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := newLander(t)
			first, second := l.result("c", "c\n"), l.result("a", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
			p := l.plan(first, how)
			if p.How != FastForward || p.To != first {
				t.Fatalf("the first: %+v", p)
			}
			if m := l.land(p); !m.Done {
				t.Fatalf("the first: %+v", m)
			}
			hook := filepath.Join(l.dir, ".git", "hooks", "reference-transaction")
			write(t, hook, "#!/bin/sh\ntouch "+filepath.Join(l.dir, "ran")+"\n")
			if err := os.Chmod(hook, 0o755); err != nil {
				t.Fatal(err)
			}
			head, status := l.git("rev-parse", "HEAD"), l.git("status", "--porcelain")
			p = l.plan(second, how)
			if want := map[string]string{Squash: Rebase}[how]; p.How != how && p.How != want || p.Tip != first || p.Conflict != nil || p.Bars != "" {
				t.Fatalf("the second: %+v", p)
			}
			if tip := l.git("rev-parse", "released"); tip != first {
				t.Fatalf("a plan moved the branch to %s", tip)
			}
			for range 2 { // the second time it is there
				if m := l.land(p); !m.Done {
					t.Fatalf("the second: %+v", m)
				}
			}
			if _, err := os.Stat(filepath.Join(l.dir, "ran")); err == nil {
				t.Error("a hook was run")
			}
			if err := os.Remove(hook); err != nil {
				t.Fatal(err)
			}
			if got := l.git("show", "released:a") + l.git("show", "released:c"); got != "one\n2\n3\n4\n5\n6\n7\n8\n9c" {
				t.Errorf("the branch has %q", got)
			}
			if l.git("rev-parse", "HEAD") != head || l.git("status", "--porcelain") != status {
				t.Error("the working tree changed")
			}
			l.git("fsck", "--strict", "--full")
			if m := l.land(l.plan(second, how)); !m.Done {
				t.Errorf("again: %+v", m)
			}
			if p := l.plan(second, how); p.How != Already {
				t.Errorf("again: %+v", p)
			}
		})
	}
}

// A rebase never leaves out the merge of a result, in which a conflict was settled.
func TestLandingOfAMerge(t *testing.T) {
	t.Parallel()
	l := newLander(t)
	first, second := l.result("a", "here\n"), l.result("a", "there\n")
	l.land(l.plan(first, Rebase))
	l.git("fetch", "-q", l.store.Dir, "refs/sett/artefacts/*:refs/all/*")
	l.git("read-tree", second)
	blob := run(t, l.dir, "sh", "-c", "echo both | git hash-object -w --stdin")
	l.git("update-index", "--cacheinfo", "100644,"+blob+",a")
	settled := l.git("commit-tree", "-p", second, "-p", first, "-m", "settled", l.git("write-tree"))
	l.git("reset", "-q", "--hard")
	fetch(t, l.store, l.person, settled)
	l.git("update-ref", "refs/heads/released", l.git("commit-tree", "-p", first, "-m", "theirs", first+"^{tree}"))
	p := l.plan(settled, Rebase)
	if m := l.land(p); !m.Done || p.How != Merge || l.git("show", "released:a") != "both" {
		t.Errorf("%+v %+v", p, m)
	}
}

// A conflict names the files and the lines of both sides; nothing is moved.
func TestLandingConflict(t *testing.T) {
	t.Parallel()
	for _, how := range []string{Rebase, Merge, Squash} {
		l := newLander(t)
		first, second := l.result("a", "1\n2\nhere\n4\n5\n6\n7\n8\n9\n"), l.result("a", "1\n2\nthere\n4\n5\n6\n7\n8\n9\n", "d", "d\n")
		l.land(l.plan(first, how))
		p := l.plan(second, how)
		if p.Conflict == nil || strings.Join(p.Conflict.Files, " ") != "a" || p.To != "" {
			t.Fatalf("%s: %+v", how, p)
		}
		if len(p.Hunks) != 1 || p.Hunks[0].File != "a" || p.Hunks[0].Line != 3 || p.Hunks[0].Ours != "here\n" || p.Hunks[0].Theirs != "there\n" {
			t.Errorf("%s: hunks %+v", how, p.Hunks)
		}
		if tip := l.git("rev-parse", "released"); tip != first {
			t.Errorf("%s: the branch is at %s", how, tip)
		}
	}
}

// A commit that the branch has in another form, and whose lines have changed there since, is there already.
func TestLandingInAnotherForm(t *testing.T) {
	t.Parallel()
	l := newLander(t)
	first := l.result("a", "1\n2\nhere\n4\n5\n6\n7\n8\n9\n")
	l.git("switch", "-q", "released")
	l.commit("other", "o\n")
	l.commit("a", "1\n2\nhere\n4\n5\n6\n7\n8\n9\n")
	tip := l.commit("a", "1\n2\nchanged\n4\n5\n6\n7\n8\n9\n")
	l.git("switch", "-q", "main")
	if p := l.plan(first, Rebase); p.How != Already || p.Tip != tip || p.Conflict != nil {
		t.Errorf("%+v", p)
	}
	if p := l.plan(first, Merge); p.Conflict == nil {
		t.Errorf("merged: %+v", p)
	}
}

// A branch that somebody uses, or that is not there, is named and stays.
func TestLandingBars(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(l *lander)
		want string
	}{
		"checked out":  {func(l *lander) { l.git("switch", "-q", "released") }, "is checked out in your working tree"},
		"linked":       {func(l *lander) { l.git("worktree", "add", "-q", filepath.Join(l.t.TempDir(), "linked"), "released") }, "is checked out in the working tree linked"},
		"deleted":      {func(l *lander) { l.git("branch", "-D", "released") }, "there is no branch released"},
		"another name": {func(l *lander) { l.git("symbolic-ref", "refs/heads/released", "refs/heads/main") }, "is another name of main: land: {onto: main}"},
		"emptied":      {func(l *lander) { write(l.t, filepath.Join(l.dir, ".git/refs/heads/released"), "") }, "branch released cannot be read"},
		"bisected": {func(l *lander) {
			l.git("switch", "-q", "released")
			l.git("bisect", "start")
			l.git("switch", "-q", "--ignore-other-worktrees", "--detach")
		}, "is being bisected"},
		"rebased along": {func(l *lander) {
			l.git("switch", "-q", "released")
			l.git("commit", "-q", "--allow-empty", "-m", "below")
			l.git("switch", "-q", "-c", "top")
			l.git("commit", "-q", "--allow-empty", "-m", "above")
			l.git("-c", "sequence.editor=sed -i.bak 1s/pick/edit/", "rebase", "-q", "-i", "--update-refs", "HEAD~2")
		}, "is being rebased"},
		"moved on": {func(l *lander) {
			l.git("update-ref", "refs/heads/released", l.git("commit-tree", "-p", l.base, "-m", "theirs", "HEAD^{tree}"))
		}, "cannot be fast-forwarded"},
		"unrelated": {func(l *lander) {
			l.git("update-ref", "refs/heads/released", l.git("commit-tree", "-m", "theirs", "HEAD^{tree}"))
		}, "have no history in common"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLander(t)
			commit := l.result("c", "c\n")
			c.do(l)
			before := l.git("for-each-ref")
			p := l.plan(commit, FastForward)
			if !strings.Contains(p.Bars, c.want) || p.To != "" {
				t.Errorf("%+v, want %q", p, c.want)
			}
			if after := l.git("for-each-ref"); after != before {
				t.Errorf("refs:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// A repository that lacks objects waits for a person: no other try of git's mends that.
func TestLandingLacksObjects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(l *lander)
		want string
	}{
		"source gone": {func(l *lander) {
			write(l.t, filepath.Join(l.dir, ".git/objects/info/alternates"), "/nowhere/objects\n")
		}, "borrows them from /nowhere/objects"},
		"objects gone": {func(l *lander) {
			if err := os.Rename(filepath.Join(l.dir, ".git/objects"), filepath.Join(l.dir, "elsewhere")); err != nil {
				l.t.Fatal(err)
			}
		}, "their directory is not there"},
		"damaged": {func(l *lander) {
			write(l.t, filepath.Join(l.dir, ".git/refs/heads/released"), strings.Repeat("12", 20)+"\n")
		}, "lacks objects of commit 1212121212: git fsck"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLander(t)
			commit := l.result("c", "c\n")
			ready := l.plan(commit, FastForward)
			c.do(l)
			for range 2 { // nothing flaps between a plan and its landing
				if p := l.plan(commit, FastForward); !strings.Contains(p.Bars, c.want) || !strings.HasPrefix(p.Bars, LacksObjects) || p.To != "" {
					t.Errorf("%+v, want %q", p, c.want)
				}
			}
			if name == "objects gone" {
				if m := l.land(ready); m.Done || !strings.Contains(m.Bars, c.want) {
					t.Errorf("%+v", m)
				}
			}
		})
	}
}

// A branch that a person moves between the plan and the landing is not overwritten.
func TestLandingMeetsAPerson(t *testing.T) {
	t.Parallel()
	l := newLander(t)
	p := l.plan(l.result("c", "c\n"), Rebase)
	theirs := l.git("commit-tree", "-p", l.base, "-m", "theirs", "HEAD^{tree}")
	l.git("update-ref", "refs/heads/released", theirs)
	if m := l.land(p); m.Done || m.Tip != theirs || m.Bars != "" {
		t.Fatalf("%+v", m)
	}
	l.git("switch", "-q", "released")
	if q := l.plan(p.To, Rebase); !strings.Contains(q.Bars, "checked out") || q.To != "" {
		t.Errorf("%+v", q)
	}
	if q := l.plan(l.base, Rebase); q.How != Already || q.Bars != "" { // there is nothing to move
		t.Errorf("%+v", q)
	}
	l.git("switch", "-q", "main")
	q := l.plan(p.To, Rebase)
	l.git("switch", "-q", "released")
	if m := l.land(q); m.Done || !strings.Contains(m.Bars, "checked out") {
		t.Errorf("%+v", m)
	}
	l.git("switch", "-q", "main")
	if m := l.land(q); !m.Done || l.git("rev-parse", "released^") != theirs {
		t.Errorf("%+v", m)
	}
}

// crashing has the runs of git in the store and in the user's repository cut off: from then on
// each one fails, as if the role had been killed before it, or just after it.
type crashing struct {
	t    *testing.T
	left string // file with the number of runs until then
}

func newCrashing(t *testing.T) *crashing {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := &crashing{t, filepath.Join(dir, "left")}
	write(t, filepath.Join(dir, "bin", "git"), fmt.Sprintf(`#!/bin/sh
case " $* " in *"-c core.hooksPath"*) ;; *) exec %[1]s "$@" ;; esac # a person's, or a tool's
read -r n half <%[2]s
case $n in never) exec %[1]s "$@" ;; esac
echo $((n - 1)) $half >%[2]s
[ "$n" -gt 1 ] && exec %[1]s "$@"
[ "$n" -eq 1 ] && [ "$half" = after ] && %[1]s "$@" >/dev/null
exit 137
`, git, c.left))
	if err := os.Chmod(filepath.Join(dir, "bin", "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.never()
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	return c
}

func (c *crashing) after(runs int, half string) { write(c.t, c.left, fmt.Sprintln(runs, half)) }
func (c *crashing) never()                      { write(c.t, c.left, "never\n") }

// Random edits by two to five writers that end in any order, a person who commits on meanwhile, and a role that
// is killed at any of its runs of git: the branch is as after some serial order of the goals, with every
// edit in it, and it only moves forward.
func TestLandingsAreSerial(t *testing.T) { // not parallel: it sets PATH
	seeds := uint64(1)
	if more, err := strconv.ParseUint(os.Getenv("SETT_LANDING_SEEDS"), 10, 16); err == nil {
		seeds = more
	}
	for n := range seeds {
		seed := n + 2 // the first one meets a person between plan and move
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			l, c, r := newLander(t), newCrashing(t), rand.New(rand.NewPCG(seed, 14)) //nolint:gosec // a test's own chance
			w := &writers{lander: l, crashing: c, rand: r, lines: slices.Repeat([]string{"-"}, 6), tip: l.base}
			l.git("update-ref", "refs/heads/released", w.write(l.base, w.lines, l.base))
			w.tip = l.git("rev-parse", "released")
			start := w.tip
			var open []edit
			for n := range 2 + r.IntN(4) {
				e := edit{line: r.IntN(len(w.lines)), text: fmt.Sprintf("goal %d", n)}
				e.commit = w.make(e, start)
				open = append(open, e)
			}
			r.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
			for how := []string{Rebase, Merge, Squash}[r.IntN(3)]; len(open) > 0; {
				e := open[0]
				c.after(1+r.IntN(24), []string{"before", "after"}[r.IntN(2)])
				landed, err := w.land(&e, how)
				c.never()
				w.forward()
				switch {
				case landed:
					w.lines[e.line], open = e.text, open[1:]
				case err == nil: // reworked: it takes its turn anew
					open = append(open[1:], e)
				}
				w.person()
			}
			if got := l.git("show", "released:lines"); got != strings.Join(w.lines, "\n") {
				t.Errorf("the branch has\n%s\nwant\n%s", got, strings.Join(w.lines, "\n"))
			}
			l.git("fsck", "--strict", "--full")
		})
	}
}

// edit is a goal that sets a line of a file.
type edit struct {
	line   int
	text   string
	commit string
}

// writers make the commits of edits.
type writers struct {
	*lander
	crashing *crashing
	rand     *rand.Rand
	lines    []string // as the branch shall have them
	tip      string   // of the branch, when it was seen last
	n        int
}

// write makes a commit in the user's repository that has these lines.
func (w *writers) write(tree string, lines []string, parents ...string) string {
	w.t.Helper()
	index := "GIT_INDEX_FILE=" + filepath.Join(w.t.TempDir(), "index")
	w.n++
	script := fmt.Sprintf(`git read-tree %s && b=$(printf '%%s\n' "$@" | git hash-object -w --stdin) && git update-index --add --cacheinfo 100644,$b,lines && git write-tree`, tree)
	made := run(w.t, w.dir, "env", append([]string{index, "sh", "-ec", script, "sh"}, lines...)...)
	args := []string{"commit-tree", "-m", fmt.Sprint("edit ", w.n), made}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return w.git(args...)
}

// make makes the commit of an edit on others, the first of which has its lines; the store gets it.
func (w *writers) make(e edit, parents ...string) string {
	w.t.Helper()
	lines := strings.Split(w.git("show", parents[0]+":lines"), "\n")
	lines[e.line] = e.text
	commit := w.write(parents[0], lines, parents...)
	if err := w.store.Fetch(w.t.Context(), filepath.Join(w.dir, ".git", "objects"), commit, Artefact(commit)); err != nil {
		w.t.Fatal(err)
	}
	return commit
}

// land tries to land an edit; after a conflict its maker settles it on top of the branch. An error: the role was killed.
func (w *writers) land(e *edit, how string) (landed bool, err error) {
	w.t.Helper()
	p, err := Lander{w.store, w.user}.Plan(w.t.Context(), Landing{Name: e.text[5:], Commit: e.commit, Branch: "released", How: how, Subject: e.text})
	switch {
	case err != nil:
		return false, err
	case p.Bars != "":
		w.t.Fatalf("%s is barred: %+v", e.text, p)
	case p.Conflict != nil:
		w.crashing.never()
		e.commit = w.make(*e, p.Tip, e.commit)
		return false, nil
	case p.How == Already:
		return true, nil
	}
	w.person()
	m, err := Lander{w.store, w.user}.Land(w.t.Context(), "released", p.Tip, p.To)
	return m.Done, err
}

// person commits on the branch now and then.
func (w *writers) person() {
	w.t.Helper()
	if w.rand.IntN(3) == 0 {
		w.git("update-ref", "refs/heads/released", w.git("commit-tree", "-p", "released", "-m", "theirs", "released^{tree}"))
		w.forward()
	}
}

// forward checks that the branch moved forward since it was seen last.
func (w *writers) forward() {
	w.t.Helper()
	now := w.git("rev-parse", "released")
	w.git("merge-base", "--is-ancestor", w.tip, now)
	w.tip = now
}

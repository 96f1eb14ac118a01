package store

import (
	"os"
	"path/filepath"
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
		"another name": {func(l *lander) { l.git("symbolic-ref", "refs/heads/released", "refs/heads/main") }, "is another name"},
		"bisected": {func(l *lander) {
			l.git("switch", "-q", "released")
			l.git("bisect", "start")
			l.git("switch", "-q", "--ignore-other-worktrees", "--detach")
		}, "is being bisected"},
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

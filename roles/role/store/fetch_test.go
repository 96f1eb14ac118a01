package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// objects is the repository's directory of objects, as git names it.
func (p *person) objects() string {
	p.t.Helper()
	return p.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
}

// emptyStore is a store that has brought nothing.
func emptyStore(t *testing.T, format string) *Store {
	t.Helper()
	s, err := Create(t.Context(), filepath.Join(t.TempDir(), `a "store"`), format, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fetch(t *testing.T, s *Store, p *person, commit string) {
	t.Helper()
	if err := s.Fetch(t.Context(), p.objects(), commit, Goal(commit)); err != nil {
		t.Fatal(err)
	}
}

// holds checks that the store has a commit with all its history by itself, also after a gc.
func holds(t *testing.T, s *Store, commits ...string) {
	t.Helper()
	at := func(args ...string) string {
		t.Helper()
		return run(t, "", "git", append([]string{"-c", "repack.writeBitmaps=false", "--git-dir=" + s.Dir}, args...)...)
	}
	at("gc", "-q", "--prune=now")
	at("fsck", "--strict", "--full")
	for _, c := range commits {
		at("rev-list", "--objects", "--quiet", Goal(c))
		if got := at("rev-parse", Goal(c)); got != c {
			t.Errorf("the ref of %s has %s", c, got)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "objects", "pack", "*.keep")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFetch(t *testing.T) {
	clone := func(options ...string) func(*testing.T, *person) *person {
		return func(t *testing.T, p *person) *person {
			c := &person{t, filepath.Join(t.TempDir(), "clone of ü")}
			run(t, "", "git", append(append([]string{"clone", "-q"}, options...), "file://"+p.dir, c.dir)...)
			return c
		}
	}
	for name, c := range map[string]struct {
		format string
		other  func(*testing.T, *person) *person // the repository that the commit is fetched from
		want   error
	}{
		"plain":  {"sha1", nil, nil},
		"sha256": {"sha256", nil, nil},
		"packed": {"sha1", func(_ *testing.T, p *person) *person { p.git("gc", "-q", "--prune=now"); return p }, nil},
		"linked working tree": {"sha1", func(t *testing.T, p *person) *person {
			w := &person{t, filepath.Join(t.TempDir(), "linked")}
			p.git("worktree", "add", "-q", "--detach", w.dir)
			return w
		}, nil},
		"tree of a bare repository": {"sha1", func(t *testing.T, p *person) *person {
			bare := &person{t, filepath.Join(t.TempDir(), "bare")}
			run(t, "", "git", "clone", "-q", "--bare", p.dir, bare.dir)
			w := &person{t, filepath.Join(t.TempDir(), "linked")}
			bare.git("worktree", "add", "-q", "--detach", w.dir)
			return w
		}, nil},
		"borrowed objects": {"sha1", func(t *testing.T, p *person) *person {
			one := &person{t, filepath.Join(t.TempDir(), "one")}
			run(t, "", "git", "clone", "-q", "--shared", p.dir, one.dir)
			one.commit("one", "1\n")
			two := &person{t, filepath.Join(t.TempDir(), "two")}
			run(t, "", "git", "clone", "-q", "--shared", one.dir, two.dir)
			// By a relative path, as git alternates may have.
			relative, err := filepath.Rel(two.objects(), one.objects())
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(two.objects(), "info", "alternates"), relative+"\n")
			two.commit("two", "2\n")
			return two
		}, nil},
		"shallow clone": {"sha1", clone("--depth=1"), nil},
		"partial clone": {"sha1", clone("--filter=blob:none", "--no-checkout"), ErrIncomplete},
		"lost blob": {"sha1", func(t *testing.T, p *person) *person {
			blob := p.git("rev-parse", "HEAD:a")
			if err := os.Remove(filepath.Join(p.objects(), blob[:2], blob[2:])); err != nil {
				t.Fatal(err)
			}
			return p
		}, ErrIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t, "--object-format="+c.format)
			p.git("config", "uploadpack.allowFilter", "true")
			p.commit("a", "1\n", "dir/b", "b\n")
			p.commit("a", "2\n")
			from := p
			if c.other != nil {
				from = c.other(t, p)
			}
			head := from.git("rev-parse", "HEAD")
			for _, format := range []string{"sha1", "sha256"} {
				s := emptyStore(t, format)
				err := s.Fetch(t.Context(), from.objects(), head, Goal(head))
				if !errors.Is(err, c.want) {
					t.Fatalf("into a store of %s: %v, want %v", format, err, c.want)
				}
				if c.want != nil {
					if held, _ := s.Commit(t.Context(), Goal(head)); held != "" {
						t.Errorf("a ref holds %s", held)
					}
					continue
				}
				if err := os.Rename(p.dir, p.dir+" away"); err != nil { // the store stands alone
					t.Fatal(err)
				}
				holds(t, s, head)
				if err := os.Rename(p.dir+" away", p.dir); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestFetchOfAnotherFormat: a store with commits never changes its format.
func TestFetchOfAnotherFormat(t *testing.T) {
	old, now := newPerson(t), newPerson(t, "--object-format=sha256")
	s := emptyStore(t, "sha1")
	fetch(t, s, old, old.commit("a", "1\n"))
	head := now.commit("a", "1\n")
	if err := s.Fetch(t.Context(), now.objects(), head, Goal(head)); !errors.Is(err, ErrFormat) {
		t.Errorf("fetched: %v", err)
	}
	holds(t, s, old.git("rev-parse", "HEAD"))
}

// TestFetchChecksWhatIsThere: a commit alone does not count, as a store has it that was
// made while the person committed.
func TestFetchChecksWhatIsThere(t *testing.T) {
	p := newPerson(t)
	head := p.commit("a", "1\n")
	blob := p.git("rev-parse", "HEAD:a")
	s := p.store()
	if err := os.Remove(filepath.Join(s.Objects(), blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	fetch(t, s, p, head)
	holds(t, s, head)
}

// TestFetchTwice: a commit that the store has needs the repository no more.
func TestFetchTwice(t *testing.T) {
	p := newPerson(t)
	first := p.commit("a", "1\n")
	head := p.commit("a", "2\n")
	s := emptyStore(t, "sha1")
	fetch(t, s, p, head)
	if err := os.RemoveAll(p.objects()); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []string{head, first, head} {
		if err := s.Fetch(t.Context(), filepath.Join(p.dir, ".git", "objects"), commit, Goal(commit)); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, s, head, first)
}

// TestFetchRunsNothing: whatever the repository's configuration names stays where it is.
func TestFetchRunsNothing(t *testing.T) {
	p := newPerson(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	write(t, program, "#!/bin/sh\ntouch '"+ran+"'\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.dir, ".gitattributes"), "* filter=f\n")
	head := p.commit("a", "1\n")
	for _, hook := range []string{"pre-commit", "post-index-change", "reference-transaction", "pre-auto-gc", "post-update"} {
		if err := os.Symlink(program, filepath.Join(p.dir, ".git", "hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"core.fsmonitor", "filter.f.clean", "filter.f.smudge", "uploadpack.packObjectsHook", "core.alternateRefsCommand", "core.sshCommand"} {
		p.git("config", key, program)
	}
	s := emptyStore(t, "sha1")
	fetch(t, s, p, head)
	if _, err := s.Send(t.Context(), head, filepath.Join(p.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program ran")
	}
	_, _ = try(p.dir, "git", "status") // runs one
	if _, err := os.Stat(ran); err != nil {
		t.Errorf("nothing runs it: %v", err)
	}
}

// TestFetchWhileThePersonWorks: commits and garbage collections do not disturb it.
func TestFetchWhileThePersonWorks(t *testing.T) {
	p := newPerson(t)
	p.commit("a", "0\n")
	p.git("config", "gc.auto", "0")
	s := emptyStore(t, "sha1")
	var commits sync.Mutex // git's own commit does not stand a gc that prunes at once
	var wait sync.WaitGroup
	end := make(chan struct{})
	defer wait.Wait()
	defer close(end)
	wait.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
			}
			commits.Lock()
			out, err := try(p.dir, "git", "gc", "-q", "--prune=now")
			commits.Unlock()
			if err != nil {
				t.Errorf("gc: %v\n%s", err, out)
			}
		}
	})
	var all []string
	for i := range 25 {
		commits.Lock()
		all = append(all, p.commit("a", strings.Repeat("line\n", i), "dir/b", strings.Repeat("b\n", i)))
		commits.Unlock()
		fetch(t, s, p, all[i])
	}
	holds(t, s, all...)
}

// TestFetchIsQuick: a commit on top of the last one is brought in the time of a few git
// commands. The least of several, as the machine may be busy.
func TestFetchIsQuick(t *testing.T) {
	p := newPerson(t)
	files := []string{}
	for i := range 500 {
		files = append(files, "d/"+strings.Repeat("x", i%50)+string(rune('a'+i%26)), "text\n")
	}
	p.commit(files...)
	s := p.store()
	fetch(t, s, p, p.git("rev-parse", "HEAD"))
	least, git := time.Hour, time.Hour
	for i := range 10 {
		head := p.commit("a", strings.Repeat("line\n", i+1))
		began := time.Now()
		fetch(t, s, p, head)
		least = min(least, time.Since(began))
		began = time.Now()
		p.git("rev-parse", "HEAD")
		git = min(git, time.Since(began))
	}
	t.Logf("%s, a git alone %s", least, git)
	if least > 25*git {
		t.Errorf("it takes %s, and a git alone %s", least, git)
	}
}

func TestSend(t *testing.T) {
	p := newPerson(t)
	base := p.commit("a", "1\n")
	s := p.store()
	fetch(t, s, p, base)
	tree := prepared(t, s, base)
	made := toolCommits(t, tree, "new", "n\n")
	if _, err := s.Take(t.Context(), tree.Offer(made, []string{base}), Artefact("a")); err != nil {
		t.Fatal(err)
	}
	keeps := func() int {
		left, _ := filepath.Glob(filepath.Join(p.objects(), "pack", "*.keep"))
		return len(left)
	}
	release, err := s.Send(t.Context(), made, filepath.Join(p.dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	p.git("gc", "-q", "--prune=now")
	if got := p.git("show", made+":new"); got != "n" || keeps() != 1 {
		t.Errorf("the person has %q, %d kept", got, keeps())
	}
	p.git("update-ref", "refs/heads/result", made)
	release()
	if keeps() != 0 {
		t.Error("a pack is kept for ever")
	}
	p.git("fsck", "--strict", "--full")
	before := p.git("count-objects", "-v")
	release, err = s.Send(t.Context(), made, filepath.Join(p.dir, ".git"))
	release()
	if after := p.git("count-objects", "-v"); err != nil || after != before {
		t.Errorf("sent again: %v\n%s\n%s", err, before, after)
	}
	if got := p.git("status", "--porcelain"); got != "" {
		t.Errorf("the person's tree: %s", got)
	}
}

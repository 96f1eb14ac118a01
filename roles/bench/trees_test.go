//go:build bench

package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/contract/env"
	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// forest is a person's repository with many files, the store that was made of it, and the
// role that serves its trees.
type forest struct {
	testing.TB
	dir, base string
	store     *store.Store
	url       string
	n         int // results so far
}

// plant makes a forest; walled: read-only trees are mounted so, as in containers.
func plant(tb testing.TB, files int, walled bool) *forest {
	tb.Helper()
	f := &forest{TB: tb, dir: tb.TempDir()}
	f.git("", "init", "-q", "-b", "main", f.person())
	f.git(f.person(), "config", "gc.auto", "0")
	for i := range files {
		path := filepath.Join(f.person(), fmt.Sprintf("d%d", i%100), fmt.Sprintf("file%d", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, fmt.Appendf(nil, "text of file %d\n", i), 0o644)); err != nil {
			tb.Fatal(err)
		}
	}
	f.git(f.person(), "add", "-A")
	f.git(f.person(), "commit", "-q", "-m", "all")
	f.git(f.person(), "gc", "-q")
	f.base = f.git(f.person(), "rev-parse", "HEAD")
	var err error
	if f.store, err = store.Create(tb.Context(), filepath.Join(f.dir, "store"), "sha1", []string{filepath.Join(f.person(), ".git", "objects")}); err != nil {
		tb.Fatal(err)
	}
	if err := f.store.Hold(tb.Context(), store.Goal("goal"), f.base); err != nil {
		tb.Fatal(err)
	}
	seen := ""
	if walled {
		seen = "/tree-git"
	}
	f.url = serve(tb, f.store, filepath.Join(f.dir, "trees"), seen, filepath.Join(f.person(), ".git"))
	return f
}

// serve starts the role for a store and returns where it answers. Seen is the repository of a read-only tree as its tool sees it,
// user the git directory that it lands in.
func serve(tb testing.TB, s *store.Store, trees, seen, user string) (url string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	v := env.Repository{Instance: "bench", Addr: l.Addr().String(), Key: "key", Store: s.Dir, Trees: trees, TreeGit: seen, User: user, HealthAddr: "off"}
	_ = l.Close()
	spawn(tb, "repository", v.Environ()...)
	waitFor(tb, "the repository", func() bool {
		c, err := net.Dial("tcp", v.Addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return "http://" + v.Addr
}

func (f *forest) person() string          { return filepath.Join(f.dir, "person") }
func (f *forest) tree(slot string) string { return filepath.Join(f.dir, "trees", slot, "tree") }

func (f *forest) git(dir string, args ...string) string {
	f.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=p", "GIT_AUTHOR_EMAIL=p@x", "GIT_COMMITTER_NAME=p", "GIT_COMMITTER_EMAIL=p@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *forest) client(agent string) *line.Client {
	return &line.Client{URL: f.url, Agent: agent, Slot: agent, Token: line.Token("key", agent), HTTP: &http.Client{Timeout: time.Minute}}
}

// commit is a tool's work: a new file, committed.
func (f *forest) commit(dir string) string {
	f.Helper()
	f.n++
	if err := os.WriteFile(filepath.Join(dir, "new"), fmt.Appendf(nil, "%d\n", f.n), 0o644); err != nil {
		f.Fatal(err)
	}
	f.git(dir, "add", "new")
	f.git(dir, "commit", "-q", "-m", "one")
	return f.git(dir, "rev-parse", "HEAD")
}

// grant has a tree prepared, a tool commit in it, and the commit taken. It returns the time
// without the tool's.
func (f *forest) grant(c *line.Client) time.Duration {
	f.Helper()
	g := line.Grant{Claim: fmt.Sprintf("claim%d", f.n), Attempt: 1}
	began := time.Now()
	if _, err := c.Prepare(context.Background(), line.Prepare{Grant: g, Goal: "goal", Branch: "main"}); err != nil {
		f.Fatal(err)
	}
	took := time.Since(began)
	made := f.commit(f.tree(c.Slot))
	began = time.Now()
	if _, err := c.Take(context.Background(), line.Take{Grant: g, Hash: made, Artefact: fmt.Sprintf("result%d", f.n)}); err != nil {
		f.Fatal(err)
	}
	return took + time.Since(began)
}

// bare does the same with the commands of git that nobody could do without.
func (f *forest) bare(clone string) time.Duration {
	f.Helper()
	began := time.Now()
	f.git(clone, "reset", "-q", "--hard", f.base)
	f.git(clone, "clean", "-ffdxq")
	took := time.Since(began)
	made := f.commit(clone)
	began = time.Now()
	f.git(clone, "push", "-q", f.store.Dir, made+":"+store.Artefact(fmt.Sprintf("bare%d", f.n)))
	return took + time.Since(began)
}

// clone is a working tree that borrows the store's objects.
func (f *forest) clone() string {
	dir := filepath.Join(f.TempDir(), "clone")
	f.git("", "clone", "-q", "--shared", "--no-checkout", f.store.Dir, dir)
	f.git(dir, "reset", "-q", "--hard", f.base)
	return dir
}

// paired runs two things in turn and returns the median of each.
func paired(n int, one, other func() time.Duration) (a, b time.Duration) {
	var all, rest []time.Duration
	one()
	other()
	for range n {
		all, rest = append(all, one()), append(rest, other())
	}
	return median(all), median(rest)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// TestBenchTreeWarm: a warm tree prepared and one commit taken out of it, against bare git.
func TestBenchTreeWarm(t *testing.T) {
	for _, files := range []int{100, 10_000} {
		f := plant(t, files, false)
		c, clone := f.client("writer"), f.clone()
		took, floor := paired(15, func() time.Duration { return f.grant(c) }, func() time.Duration { return f.bare(clone) })
		t.Logf("%d files: %v, git %v", files, took, floor)
		verdict(t, fmt.Sprintf("warm tree and one commit / bare git, %d files", files), ratio(took, floor), 1.5, "x")
	}
}

// TestBenchTreeReadOnly: the next grant of a read-only agent at the same commit.
func TestBenchTreeReadOnly(t *testing.T) {
	for _, files := range []int{100, 10_000} {
		for name, walled := range map[string]bool{"container": true, "local mode": false} {
			f := plant(t, files, walled)
			c, n := f.client("reader"), 0
			one := func() time.Duration {
				n++
				began := time.Now()
				q := line.Prepare{Grant: line.Grant{Claim: fmt.Sprintf("c%d", n), Attempt: 1}, Goal: "goal", ReadOnly: true}
				if _, err := c.Prepare(context.Background(), q); err != nil {
					t.Fatal(err)
				}
				return time.Since(began)
			}
			took, _ := paired(20, one, func() time.Duration { return 0 })
			if walled {
				verdict(t, fmt.Sprintf("ro tree at the same commit, %d files, %s", files, name), took.Seconds()*1000, 2, "ms")
			} else {
				t.Logf("ro tree at the same commit, %d files, %s: %v", files, name, took)
			}
		}
	}
}

// TestBenchTreeCold: the first grant of a place, against a clone with a checkout.
func TestBenchTreeCold(t *testing.T) {
	f, n := plant(t, 10_000, false), 0
	took, floor := paired(6, func() time.Duration {
		n++
		c := f.client(fmt.Sprintf("agent%d", n))
		began := time.Now()
		if _, err := c.Prepare(context.Background(), line.Prepare{Grant: line.Grant{Claim: "c", Attempt: 1}, Goal: "goal", Branch: "main"}); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(filepath.Join(f.dir, "trees", c.Slot))
		return time.Since(began)
	}, func() time.Duration {
		dir := filepath.Join(f.dir, fmt.Sprintf("clone%d", n))
		defer os.RemoveAll(dir)
		began := time.Now()
		f.git("", "clone", "-q", "--shared", "--config", "checkout.workers=0", f.person(), dir)
		return time.Since(began)
	})
	t.Logf("cold tree %v, git clone --shared %v", took, floor)
	verdict(t, "cold tree of 10000 files / git clone --shared", ratio(took, floor), 1.3, "x")
}

// TestBenchTreeHeld: the same with 100,000 commits held.
func TestBenchTreeHeld(t *testing.T) {
	few, many := plant(t, 100, false), plant(t, 100, false)
	var refs strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&refs, "create %s %s\n", store.Artefact(fmt.Sprintf("held%d", i)), many.base)
	}
	cmd := exec.Command("git", "--git-dir="+many.store.Dir, "update-ref", "--stdin")
	cmd.Stdin = strings.NewReader(refs.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := many.store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, b := many.client("writer"), few.client("writer")
	took, floor := paired(25, func() time.Duration { return many.grant(a) }, func() time.Duration { return few.grant(b) })
	t.Logf("with 100,000 commits %v, with few %v", took, floor)
	verdict(t, "a grant with 100,000 commits held / with few", ratio(took, floor), 1.1, "x")
}

// TestBenchTreeDisk: the place of an idle tree against a checkout, the store against a bare clone.
func TestBenchTreeDisk(t *testing.T) {
	f := plant(t, 10_000, true)
	f.grant(f.client("writer"))
	if err := line.NewSweeper(f.url, "key").Swept(t.Context(), line.Swept{Recorded: []string{"result1"}}); err != nil {
		t.Fatal(err)
	}
	reader, g := f.client("reader"), line.Grant{Claim: "look", Attempt: 1}
	if _, err := reader.Prepare(t.Context(), line.Prepare{Grant: g, Goal: "goal", ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Settle(t.Context(), line.Settle{Grant: g}); err != nil {
		t.Fatal(err)
	}
	checkout := usage(t, f.clone(), ".git")
	for _, slot := range []string{"writer", "reader"} {
		waitFor(t, slot+" to be at rest", func() bool {
			l, err := line.ReadLent(filepath.Join(f.dir, "trees", slot))
			return err == nil && l.Tidied
		})
		verdict(t, "idle tree of a "+slot+", more than its checkout", float64(usage(t, filepath.Join(f.dir, "trees", slot), "")-checkout)/(1<<20), 1, "MiB")
	}
	bare := filepath.Join(f.dir, "bare.git")
	f.git("", "clone", "-q", "--bare", "--no-local", f.person(), bare)
	verdict(t, "store / bare clone", float64(usage(t, f.store.Objects(), ""))/float64(usage(t, filepath.Join(bare, "objects"), "")), 1.1, "x")
}

// usage is the disk that a directory takes, in bytes, without the folders of a name.
func usage(t *testing.T, dir, but string) (n int64) {
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if but != "" && d.Name() == but {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBenchTreeWriters: eight writers at once on 10,000 files, with tools of one second,
// against the same goals one after another.
func TestBenchTreeWriters(t *testing.T) {
	const writers = 8
	f := plant(t, 10_000, false)
	made := make(chan string)
	work := func(i int) {
		c := f.client(fmt.Sprintf("w%d", i))
		g := line.Grant{Claim: "warm", Attempt: 1}
		if _, err := c.Prepare(context.Background(), line.Prepare{Grant: g, Goal: "goal", Branch: "main"}); err != nil {
			t.Error(err)
		}
		script := fmt.Sprintf("sleep 1; echo %d$$ >new; git add new; git -c user.name=w -c user.email=w@x commit -qm one; git rev-parse HEAD", i)
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = f.tree(c.Slot)
		out, err := cmd.Output()
		if err == nil {
			_, err = c.Take(context.Background(), line.Take{Grant: g, Hash: strings.TrimSpace(string(out)), Artefact: fmt.Sprintf("r%d", i)})
		}
		if err != nil {
			t.Error(err)
		}
		made <- ""
	}
	turn := func(atOnce bool) time.Duration {
		began := time.Now()
		for i := range writers {
			go work(i)
			if !atOnce {
				<-made
			}
		}
		for range writers {
			if atOnce {
				<-made
			}
		}
		return time.Since(began)
	}
	var at, one []time.Duration
	turn(true) // warm
	for range 3 {
		at, one = append(at, turn(true)), append(one, turn(false))
	}
	slices.Sort(at)
	slices.Sort(one)
	t.Logf("eight at once %v, one after another %v", at, one) // the best of each: others' work on the machine only adds
	verdict(t, "eight writers: serial turns need, of their rate, at least 5x", 5*ratio(at[0], one[0]), 1, "of 1")
}

// TestBenchTreeUp: all that the role repository adds to `sett up` in local mode, one after another: a
// store of the person's repository, and the role until it answers. In sett up it starts beside the other parts.
func TestBenchTreeUp(t *testing.T) {
	f := plant(t, 10_000, false)
	var all []time.Duration
	for i := range 11 {
		dir := filepath.Join(f.dir, fmt.Sprintf("up%d", i))
		began := time.Now()
		s, err := store.Create(t.Context(), filepath.Join(dir, "store"), "sha1", []string{filepath.Join(f.person(), ".git", "objects")})
		if err != nil {
			t.Fatal(err)
		}
		serve(t, s, filepath.Join(dir, "trees"), "", "")
		all = append(all, time.Since(began))
	}
	verdict(t, "sett up: a store, and the role repository until it answers", median(all).Seconds()*1000, 50, "ms")
}

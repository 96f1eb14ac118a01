package cub

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/repository"
	"sett/roles/role"
	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

const forgeKey = "secret"

// forge is the role repository of a test, in a process of its own, where no sweep of a cub
// takes its git for an orphan. Requests come to it through a door that can have them fail.
type forge struct {
	t     testing.TB
	dir   string
	base  string // the commit that every goal begins with
	store *store.Store
	door  *httptest.Server

	mu    sync.Mutex
	asked []string     // the requests that came in, such as "prepare"
	last  line.Prepare // the newest to prepare a tree
	fault func(what string, r *http.Request) error
}

// errGone has the door break the connection, errUnheard when the role has answered.
var errGone, errUnheard = errors.New("gone"), errors.New("unheard")

func newForge(t testing.TB) *forge {
	t.Helper()
	f := &forge{t: t, dir: t.TempDir()}
	sh(t, f.dir, "git init -q -b main person; cd person; echo original >file; git add -A; git commit -qm first")
	f.base = sh(t, f.dir, "git -C person rev-parse HEAD")
	f.store = store.Open(filepath.Join(f.dir, "store"))
	at, err := url.Parse("http://" + f.startRole())
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	f.door = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.pass(w, r, proxy) }))
	t.Cleanup(f.door.Close)
	return f
}

// startRole starts the role and returns its address.
func (f *forge) startRole() string {
	cmd := exec.Command(os.Args[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), roleVariable+"=repository", env.Instance+"="+instance, env.RepositoryAddr+"=127.0.0.1:0", env.RepositoryKey+"="+forgeKey,
		env.Store+"="+f.store.Dir, env.Trees+"="+filepath.Join(f.dir, "trees"), env.HealthAddr+"=off", env.LogFormat+"=json")
	said, err := cmd.StderrPipe()
	must(f.t, err)
	spared, err := toolrun.Start(cmd)
	must(f.t, err)
	f.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		spared()
	})
	r := bufio.NewScanner(said)
	for r.Scan() {
		var l struct{ Addr string }
		if json.Unmarshal(r.Bytes(), &l) == nil && l.Addr != "" {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			return l.Addr
		}
	}
	f.t.Fatal("the role did not start")
	return ""
}

// playRepository is the role's life. Its store borrows the person's repository beside it.
func playRepository() int {
	ctx, dir := context.Background(), os.Getenv(env.Store)
	if _, err := store.Create(ctx, dir, "sha1", []string{filepath.Join(dir, "../person/.git/objects")}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	err := repository.Run(ctx, role.OS(nil, role.Build{}))
	fmt.Fprintln(os.Stderr, err)
	return int(role.CodeOf(err))
}

// pass passes a request on, unless it is to fail.
func (f *forge) pass(w http.ResponseWriter, r *http.Request, on http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	what := path.Base(r.URL.Path)
	var q line.Prepare
	if what == "prepare" && json.Unmarshal(body, &q) == nil {
		f.begin(q.Goal)
	}
	f.mu.Lock()
	if f.asked = append(f.asked, what); what == "prepare" {
		f.last = q
	}
	fault := f.fault
	f.mu.Unlock()
	if fault != nil {
		err = fault(what, r)
	}
	switch {
	case errors.Is(err, errUnheard):
		on.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case errors.Is(err, errGone):
		panic(http.ErrAbortHandler)
	case err != nil:
		line.Refuse(w, err)
	default:
		on.ServeHTTP(w, r)
	}
}

// begin has the store hold the base of a goal, as forage does.
func (f *forge) begin(goal string) {
	ref := filepath.Join(f.store.Dir, store.Goal(goal))
	if err := errors.Join(os.MkdirAll(filepath.Dir(ref), 0o700), store.WriteWhole(ref, f.base+"\n")); err != nil {
		f.t.Error(err)
	}
}

func (f *forge) tree(slot string) *store.Tree {
	return f.store.Tree(filepath.Join(f.dir, "trees"), slot, store.Seen{})
}

// fail has requests fail from now on; nil: they do not.
func (f *forge) fail(fault func(what string, r *http.Request) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// requests are those that came in so far.
func (f *forge) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// prepared is the newest request to prepare a tree that was met.
func (f *forge) prepared() line.Prepare {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// writer are the variables of an agent with a tree of its own, and more.
func (f *forge) writer(agent string, more vars) vars {
	tree := f.tree(agent)
	must(f.t, tree.Make())
	v := vars{env.RepositoryURL: f.door.URL, env.TreeToken: line.Token(forgeKey, agent), env.Workspace: tree.Dir(), env.WorkspaceMode: "rw"}
	maps.Copy(v, more)
	return v
}

// git runs git in the store.
func (f *forge) git(args ...string) string {
	f.t.Helper()
	return sh(f.t, f.store.Dir, `git "$@"`, args...)
}

// held is the commit that a ref holds for an artefact; empty: none.
func (f *forge) held(artefact string) string {
	f.t.Helper()
	return f.git("for-each-ref", "--format=%(objectname)", store.Artefact(artefact))
}

// sh runs a script in a directory and returns its output.
func sh(t testing.TB, dir, script string, args ...string) string {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

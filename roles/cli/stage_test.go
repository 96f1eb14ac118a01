package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/store"
)

// stage is an instance with a blackboard of its own. The test plays its
// orchestrator and agents.
type stage struct {
	*boardtest.Board
	t      *testing.T
	board  *redis.Board
	home   string
	root   string // of the workspace
	config *config.Config

	vars  map[string]string // more variables, for the commands started from then on
	stdin io.Reader         // theirs; nil: a line

	stderr io.Writer // theirs; nil: the call's

	terminal *os.File // their streams that are not set otherwise; nil: none is one

	elsewhere bool // commands are typed outside the workspace
}

const clan = `
runtime: process
agents:
  writer: {command: [x], workspace: {mode: rw}}
  lint: {command: [x]}
  many: {command: [x], replicas: 2}
`

// newStage sets a stage, beside those of other tests. Arguments ask for a real
// redis-server that is started with them.
func newStage(t *testing.T, args ...string) *stage {
	t.Helper()
	t.Parallel()
	return setStage(t, args...)
}

// setStage is newStage for a test that has several, and said itself that it runs
// beside others.
func setStage(t *testing.T, args ...string) *stage {
	t.Helper()
	server := redistest.Embedded
	if len(args) > 0 {
		server = func(tb testing.TB) *redistest.Server { return redistest.Start(tb, args...) }
	}
	b := boardtest.Open(t, server(t), "stage").Lead()
	b.NewID = newID
	s := &stage{Board: b, board: b.Moves, t: t, home: t.TempDir()}
	s.root = filepath.Join(realPath(t, t.TempDir()), "work")
	c, err := config.Parse("sett.yml", []byte(clan))
	s.Must(err)
	s.config = c
	s.Must(os.MkdirAll(s.root, 0o755))
	s.git("init", "-q", "-b", "main")
	s.write("sett.yml", clan)
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "first")
	dir := filepath.Join(s.home, "sett", "stage")
	s.Must(os.MkdirAll(dir, 0o700))
	in := &instance.Instance{Dir: dir, State: instance.State{Name: "stage", Workspace: s.root, Runtime: config.RuntimeProcess, URL: s.Server.URL, External: true}}
	s.Must(in.Save())
	_, err = store.Create(t.Context(), in.StoreDir(), "sha1", nil)
	s.Must(err)
	s.Must(instance.WriteFile(in.ConfigPath(), c))
	for _, name := range c.Names() {
		s.Must(s.board.Cub.Hello(t.Context(), name, blackboard.Presence{Incarnation: "i-" + name}, blackboard.MostPromised))
	}
	return s
}

// store is the store of the instance.
func (s *stage) store() *store.Store {
	return store.Open(filepath.Join(s.home, "sett", "stage", "store"))
}

func realPath(t *testing.T, dir string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	s.Must(os.WriteFile(filepath.Join(s.root, name), []byte(text), 0o644))
}

func (s *stage) git(args ...string) {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", s.root, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z") // so that hashes are the same in every run
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// output is what a command has printed so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// call is a command under way.
type call struct {
	s        *stage
	out, err output
	stop     context.CancelFunc
	done     chan error
}

func (s *stage) start(args ...string) *call {
	ctx, stop := context.WithCancel(s.t.Context())
	c := &call{s: s, stop: stop, done: make(chan error, 1)}
	vars := map[string]string{"XDG_STATE_HOME": s.home, "HOME": s.home, "PATH": os.Getenv("PATH")}
	maps.Copy(vars, s.vars)
	stdin := s.stdin
	if stdin == nil {
		stdin = strings.NewReader("from stdin\n")
	}
	if !s.elsewhere {
		args = append([]string{"-C", s.root}, args...)
	}
	var stderr io.Writer = &c.err
	if s.stderr != nil {
		stderr = s.stderr
	}
	var stdout io.Writer = &c.out
	if s.terminal != nil {
		stdout = s.terminal
		if s.stdin == nil {
			stdin = s.terminal
		}
		if s.stderr == nil {
			stderr = s.terminal
		}
	}
	e := role.Env{
		Args: args, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Environ: func() []string {
			var all []string
			for name, v := range maps.All(vars) {
				all = append(all, name+"="+v)
			}
			return all
		},
		Now: time.Now, Entropy: entropy{}, Build: role.Build{Version: testVersion, Commit: "0123456789ab"},
	}
	go func() { c.done <- Run(ctx, e) }()
	s.t.Cleanup(stop)
	return c
}

// run runs a command to its end.
func (s *stage) run(args ...string) (stdout, stderr string, err error) {
	s.t.Helper()
	c := s.start(args...)
	err = c.wait()
	return c.out.String(), c.err.String(), err
}

func (c *call) wait() error {
	c.s.t.Helper()
	select {
	case err := <-c.done:
		return err
	case <-time.After(5 * time.Minute):
		c.s.t.Fatalf("command does not end; it printed\n%s\n%s", c.out.String(), c.err.String())
		return nil
	}
}

// goalOf waits for the id of the goal that forage posts.
func (c *call) goalOf() string {
	c.s.t.Helper()
	c.s.Until("a goal's id", func() bool { return strings.HasSuffix(c.out.String(), "\n") })
	return strings.TrimSpace(c.out.String())
}

// entropy makes ids that differ, from a counter.
type entropy struct{}

var counter struct {
	sync.Mutex
	n uint64
}

func (entropy) Read(b []byte) (int, error) {
	counter.Lock()
	defer counter.Unlock()
	counter.n++
	text := fmt.Sprintf("%064d", counter.n*7919)
	return copy(b, text[len(text)-len(b):]), nil
}

func newID() string { return blackboard.NewID(time.Now(), entropy{}) }

// open opens the claim on an artefact and lets the given agents bid; the others
// stay silent.
func (s *stage) open(artefact string, bids ...blackboard.BidRequest) string {
	s.t.Helper()
	_, _, err := s.board.Leader.OpenClaim(s.t.Context(), s.Epoch, artefact, s.config.Names(), 100)
	s.Must(err)
	claim := blackboard.BiddingClaimID(artefact)
	s.Bid(claim, bids...)
	return claim
}

// all are bids with which everybody has bid: one as given, the rest ignore.
func (s *stage) all(agent string, bid blackboard.BidType) []blackboard.BidRequest {
	var bids []blackboard.BidRequest
	for _, name := range s.config.Names() {
		b := blackboard.BidIgnore
		if name == agent {
			b = bid
		}
		bids = append(bids, blackboard.BidRequest{Agent: name, Bid: b})
	}
	return bids
}

func (s *stage) begin(claim, agent string) blackboard.Started {
	s.t.Helper()
	return s.Begin(claim, agent, "i-"+agent)
}

// work opens a goal's claim, grants it to the writer, and ends it with a result.
func (s *stage) work(goal string, a blackboard.Artefact) (claim, result string) {
	s.t.Helper()
	claim = s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer")
	return claim, s.Finish(claim, "writer", a)
}

func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// seconds are ages in seconds; a busy machine makes them older.
var seconds = regexp.MustCompile(`\b\d+s\b`)

// young is a text in which all that is seconds old is new.
func young(text string) string { return seconds.ReplaceAllString(text, "0s") }

func hint(err error) string {
	var e *role.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

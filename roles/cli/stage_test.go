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
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
	"sett/roles/role"
)

// stage is an instance on a Redis of its own whose orchestrator and agents are
// the test: commands see what the test lets happen.
type stage struct {
	t      *testing.T
	server *redistest.Server
	board  *redis.Board
	epoch  string
	home   string
	root   string // of the workspace
	config *config.Config

	vars  map[string]string // more variables, for the commands started from then on
	stdin io.Reader         // theirs; nil: a line

	stderr io.Writer // theirs; nil: the call's

	elsewhere bool // commands are typed outside the workspace
}

const clan = `
runtime: process
agents:
  writer: {command: [x], workspace: {mode: rw}}
  lint: {command: [x]}
  many: {command: [x], replicas: 2}
`

// newStage sets a stage, beside those of other tests: most of what tests do is
// wait. The arguments are those of its Redis.
func newStage(t *testing.T, args ...string) *stage {
	t.Helper()
	t.Parallel()
	return setStage(t, args...)
}

// setStage is newStage for a test that has several, and said itself that it runs
// beside others.
func setStage(t *testing.T, args ...string) *stage {
	t.Helper()
	s := &stage{t: t, server: redistest.Start(t, args...), home: t.TempDir()}
	s.root = filepath.Join(realPath(t, t.TempDir()), "work")
	c, err := config.Parse("sett.yml", []byte(clan))
	s.must(err)
	s.config = c
	s.must(os.MkdirAll(s.root, 0o755))
	s.git("init", "-q")
	s.write("sett.yml", clan)
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "first")
	dir := filepath.Join(s.home, "sett", "stage")
	s.must(os.MkdirAll(dir, 0o700))
	in := &instance{dir: dir, State: State{Name: "stage", Workspace: s.root, Runtime: config.RuntimeProcess, URL: s.server.URL, External: true}}
	s.must(in.save())
	s.must(writeFile(in.configPath(), c))
	s.board, err = redis.Open(t.Context(), redis.Options{URL: s.server.URL, Instance: "stage", Name: "test"})
	s.must(err)
	t.Cleanup(s.board.Close)
	lead, _, err := s.board.TakeLead(t.Context(), "test", "", time.Hour)
	s.must(err)
	s.epoch = lead.Epoch
	for _, name := range c.Names() {
		s.must(s.board.Hello(t.Context(), name, redis.Presence{Incarnation: "i-" + name}, time.Hour))
	}
	return s
}

func realPath(t *testing.T, dir string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	s.must(os.WriteFile(filepath.Join(s.root, name), []byte(text), 0o644))
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
	e := role.Env{
		Args: args, Stdin: stdin, Stdout: &c.out, Stderr: stderr,
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
	case <-time.After(20 * time.Second):
		c.s.t.Fatalf("command does not end; it printed\n%s\n%s", c.out.String(), c.err.String())
		return nil
	}
}

// until waits for a condition.
func (s *stage) until(what string, f func() bool) {
	s.t.Helper()
	every := time.NewTicker(2 * time.Millisecond)
	defer every.Stop()
	deadline := time.After(20 * time.Second)
	for !f() {
		select {
		case <-every.C:
		case <-deadline:
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// goalOf waits for the id of the goal that forage posts.
func (c *call) goalOf() string {
	c.s.t.Helper()
	c.s.until("a goal's id", func() bool { return strings.HasSuffix(c.out.String(), "\n") })
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
func (s *stage) open(artefact string, bids ...redis.BidRequest) string {
	s.t.Helper()
	_, _, err := s.board.OpenClaim(s.t.Context(), s.epoch, artefact, s.config.Names(), 100)
	s.must(err)
	claim := blackboard.BiddingClaimID(artefact)
	for i := range bids {
		bids[i].Claim = claim
	}
	if len(bids) > 0 {
		each, err := s.board.SubmitBids(s.t.Context(), bids)
		s.must(err)
		for _, err := range each {
			s.must(err)
		}
	}
	return claim
}

// all are bids with which everybody has bid: one as given, the rest ignore.
func (s *stage) all(agent string, bid blackboard.BidType) []redis.BidRequest {
	var bids []redis.BidRequest
	for _, name := range s.config.Names() {
		b := blackboard.BidIgnore
		if name == agent {
			b = bid
		}
		bids = append(bids, redis.BidRequest{Agent: name, Bid: b})
	}
	return bids
}

func (s *stage) guard(claim string) redis.Guard {
	s.t.Helper()
	c, err := s.board.Snapshot(s.t.Context(), claim)
	s.must(err)
	return redis.Guard{Epoch: s.epoch, Claim: claim, Revision: c.Claim.Revision}
}

// grant grants a claim to agents, and starts those that are not to stay queued.
func (s *stage) grant(claim string, phase blackboard.Phase, agents ...string) {
	s.t.Helper()
	s.must(s.board.GrantPhase(s.t.Context(), s.guard(claim), phase, agents))
}

func (s *stage) begin(claim, agent string, mode blackboard.WorkspaceMode) redis.Started {
	s.t.Helper()
	st, err := s.board.Start(s.t.Context(), redis.StartRequest{Claim: claim, Agent: agent, Holder: "i-" + agent, Mode: mode})
	s.must(err)
	return st
}

// finish ends a running grant with an artefact and returns its id.
func (s *stage) finish(claim, agent string, a blackboard.Artefact) string {
	s.t.Helper()
	c, err := s.board.Snapshot(s.t.Context(), claim)
	s.must(err)
	g, _ := c.Grant(agent)
	a.ID, a.ClaimID, a.WorkflowID = newID(), claim, c.Claim.WorkflowID
	a.ProducedByAgent, a.ProducedByRole = agent, orElse(a.ProducedByRole, agent)
	a.SourceArtefacts = append([]string{c.Claim.ArtefactID}, a.SourceArtefacts...)
	r := redis.Result{GrantRef: redis.GrantRef{Claim: claim, Agent: agent, Attempt: g.Attempt, Holder: g.Holder}, Artefact: a, ToolTime: 1500 * time.Millisecond}
	if a.StructuralType == blackboard.Review {
		r.Verdict = blackboard.VerdictOf(a.Payload)
	}
	s.must(s.board.Finish(s.t.Context(), r))
	return a.ID
}

// work opens a goal's claim, grants it to the writer, and ends it with a result.
func (s *stage) work(goal string, a blackboard.Artefact) (claim, result string) {
	s.t.Helper()
	claim = s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer", blackboard.ReadOnly)
	return claim, s.finish(claim, "writer", a)
}

func (s *stage) complete(claim string) {
	s.t.Helper()
	s.must(s.board.CompleteClaim(s.t.Context(), s.guard(claim), ""))
}

// post posts a goal without the command.
func (s *stage) post(text string) string {
	s.t.Helper()
	id := newID()
	s.must(s.board.PostGoal(s.t.Context(), blackboard.Artefact{ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: text, ProducedByRole: blackboard.RoleUser, WorkflowID: id}))
	return id
}

func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func hint(err error) string {
	var e *role.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

package orchestrator

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/orchestrator/report"
	"sett/roles/role"
	"sett/runtime"
)

// patience is how long a test waits for what must happen.
const patience = 5 * time.Minute

// sett is an instance whose orchestrators are real and whose agents are puppets:
// their moves are the test's.
type sett struct {
	testing.TB
	url, file string
	board     *redis.Board
	cfg       config.Config
}

func newSett(t testing.TB, names ...string) *sett {
	t.Helper()
	return newSettAt(t, redistest.Embedded(t).URL, names...)
}

func newSettAt(t testing.TB, url string, names ...string) *sett {
	t.Helper()
	s := &sett{TB: t, url: url, file: filepath.Join(t.TempDir(), "config.json")}
	s.cfg = config.Config{Version: "1.0", Runtime: config.RuntimeProcess,
		Orchestrator: config.Orchestrator{MaxReviewIterations: 3, MaxArtefacts: 100}}
	for _, n := range names {
		s.cfg.Agents = append(s.cfg.Agents, member(n))
	}
	s.write()
	var err error
	s.board, err = redis.Open(t.Context(), redis.Options{URL: url, Instance: "test", Name: "puppets"})
	s.must(err)
	t.Cleanup(s.board.Close)
	return s
}

// member is an agent whose bids are the test's, as a script's would be.
func member(name string) config.Agent {
	return config.Agent{Name: name, Role: name + "-role", Command: []string{"/bin/true"}, BidScript: []string{"/bin/true"}, Replicas: 1, Strategy: config.StrategyReuse,
		Timeout: time.Minute, Grace: time.Second, Workspace: config.Workspace{Mode: blackboard.ReadOnly}}
}

func (s *sett) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// write replaces the configuration as sett up does.
func (s *sett) write() {
	s.Helper()
	raw, err := json.Marshal(s.cfg)
	s.must(err)
	s.must(os.WriteFile(s.file+".new", raw, 0o600))
	s.must(os.Rename(s.file+".new", s.file))
}

// agent returns an agent's configuration, to be changed before write.
func (s *sett) agent(name string) *config.Agent {
	for i := range s.cfg.Agents {
		if s.cfg.Agents[i].Name == name {
			return &s.cfg.Agents[i]
		}
	}
	s.Fatalf("no agent %s", name)
	return nil
}

// until waits for a condition.
func (s *sett) until(what string, done func() bool) {
	s.Helper()
	boardtest.Until(s.TB, what, done)
}

// output collects what an orchestrator logs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// leader is an orchestrator that runs in this process.
type leader struct {
	s      *sett
	log    *output
	cancel context.CancelFunc
	done   chan error
	once   sync.Once
	err    error
}

// options of an orchestrator under test.
type options struct {
	vars  map[string]string
	place runtime.Runtime
	pace  func(*pace)
	host  []string // the environment it finds itself in
	now   func() time.Time
}

func (s *sett) env(o options, log *output) role.Env {
	vars := map[string]string{env.Instance: "test", env.RedisURL: s.url, env.Config: s.file, env.HealthAddr: "off",
		env.Lease: "1s", env.RedisRetries: "1", env.LogLevel: "debug", env.LogFormat: "text"}
	if off := os.Getenv(env.Courses); off != "" {
		vars[env.Courses] = off
	}
	for k, v := range o.vars {
		vars[k] = v
	}
	now := time.Now
	if o.now != nil {
		now = o.now
	}
	return role.Env{
		Stdout: log, Stderr: log, Now: now, Entropy: rand.Reader, Environ: func() []string { return o.host },
		Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}
}

// unled returns an orchestrator that does not campaign: the test calls it.
func (s *sett) unled(e role.Env, log slog.Handler) *orchestrator {
	s.Helper()
	o := &orchestrator{env: e, log: slog.New(log), metrics: report.NewMetrics(), pace: usualPace(), saw: func() {}}
	var err error
	o.clan, err = loadClan(s.file)
	s.must(err)
	o.use(s.board)
	return o
}

// workerName and standbyName are the names of a pool's units.
func workerName(agent, claim string, attempt int) string {
	return fmt.Sprintf("worker-%s-%s-%d", agent, claim, attempt)
}
func standbyName(agent, incarnation string) string { return "standby-" + agent + "-" + incarnation }

// lead starts an orchestrator and ends it with the test.
func (s *sett) lead(o options) *leader {
	s.Helper()
	l := &leader{s: s, log: &output{}, done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	e := s.env(o, l.log)
	go func() {
		if o.place == nil && o.pace == nil {
			l.done <- Run(ctx, e)
			return
		}
		set, err := parseSettings(e.Lookup)
		if err == nil {
			p := usualPace()
			if o.pace != nil {
				o.pace(&p)
			}
			at := places{agents: o.place, host: o.place}
			if set.containers() {
				at.host = nil
			}
			err = runIn(ctx, e, set, at, p)
		}
		l.done <- err
	}()
	s.Cleanup(func() {
		if p, ok := o.place.(*place); ok {
			p.set(func() {
				if len(p.shared) > 0 {
					s.Errorf("two units had one tree: %q", p.shared)
				}
			})
		}
		if err := l.stop(); err != nil && !s.Failed() {
			s.Errorf("orchestrator: %v", err)
		}
		if s.Failed() {
			s.Logf("orchestrator said:\n%s", l.log)
		}
	})
	return l
}

// stop ends the orchestrator as a signal does, and returns its error.
func (l *leader) stop() error {
	l.cancel()
	return l.wait()
}

func (l *leader) wait() error {
	l.once.Do(func() {
		select {
		case l.err = <-l.done:
		case <-time.After(patience):
			l.err = errors.New("it does not end")
		}
	})
	return l.err
}

// failed waits for an end with an error, which then is no failure of the test.
func (l *leader) failed() error {
	l.s.Helper()
	err := l.wait()
	l.err = nil
	if err == nil {
		l.s.Fatal("the orchestrator ended without an error")
	}
	return err
}

func (l *leader) leads() {
	l.s.Helper()
	l.s.until("the lead", func() bool { return strings.Contains(l.log.String(), "msg=leading") })
}

var newID = boardtest.NewID

// goal posts a goal and returns its id, which is its workflow's.
func (s *sett) goal(text string) string {
	s.Helper()
	id := newID()
	s.must(s.board.People.PostGoal(s.Context(), blackboard.Artefact{ID: id, StructuralType: blackboard.Standard,
		Type: blackboard.TypeGoalDefined, Payload: text, ProducedByRole: blackboard.RoleUser, WorkflowID: id}, "ann"))
	return id
}

// claimOf waits for an artefact's claim.
func (s *sett) claimOf(artefact string) string {
	s.Helper()
	id := blackboard.BiddingClaimID(artefact)
	s.until("the claim of "+artefact, func() bool {
		_, err := s.board.Records.Snapshot(s.Context(), id)
		return err == nil
	})
	return id
}

// bids submits bids, each written "agent bid".
func (s *sett) bids(claim string, bids ...string) {
	s.Helper()
	for _, b := range bids {
		agent, bid, _ := strings.Cut(b, " ")
		each, err := s.board.Cub.SubmitBids(s.Context(), []blackboard.BidRequest{{Claim: claim, Agent: agent, Bid: blackboard.BidType(bid)}})
		s.must(errors.Join(append(each, err)...))
	}
}

func (s *sett) snapshot(claim string) blackboard.Snapshot {
	s.Helper()
	snap, err := s.board.Records.Snapshot(s.Context(), claim)
	s.must(err)
	return snap
}

func (s *sett) status(claim string, want blackboard.ClaimStatus) blackboard.Snapshot {
	s.Helper()
	var snap blackboard.Snapshot
	s.until("claim "+claim+" to be "+string(want), func() bool {
		var err error
		snap, err = s.board.Records.Snapshot(s.Context(), claim)
		return err == nil && snap.Claim.Status == want
	})
	return snap
}

func (s *sett) grant(claim, agent string, want blackboard.GrantState) blackboard.Grant {
	s.Helper()
	var g blackboard.Grant
	s.until("the grant of "+agent+" to be "+string(want), func() bool {
		var err error
		g, err = s.board.Records.Grant(s.Context(), claim, agent)
		return err == nil && g.State == want
	})
	return g
}

// starts begins to work on a grant, once it is there.
func (s *sett) starts(claim, agent, holder string) blackboard.Started {
	s.Helper()
	s.grant(claim, agent, blackboard.GrantQueued)
	st, err := s.board.Cub.Start(s.Context(), blackboard.StartRequest{Claim: claim, Agent: agent, Holder: holder})
	s.must(err)
	return st
}

// finishes hands in a result and returns its id.
func (s *sett) finishes(st blackboard.Started, agent string, st2 blackboard.StructuralType, typ, payload string) string {
	s.Helper()
	a := blackboard.Artefact{ID: newID(), StructuralType: st2, Type: typ, Payload: payload,
		SourceArtefacts: []string{st.Artefact.ID}, ProducedByRole: agent + "-role", ProducedByAgent: agent, ClaimID: st.Claim.ID,
		WorkflowID: st.Claim.WorkflowID}
	if st.Claim.Rework && (st2 == blackboard.Standard || st2 == blackboard.Terminal) {
		a.LogicalID = st.Claim.Target.LogicalID
	}
	r := blackboard.Result{GrantRef: blackboard.GrantRef{Claim: st.Claim.ID, Agent: agent, Attempt: st.Grant.Attempt, Holder: st.Grant.Holder}, Artefact: a}
	if st2 == blackboard.Review {
		r.Verdict = blackboard.VerdictOf(payload)
	}
	s.must(s.board.Cub.Finish(s.Context(), r))
	return a.ID
}

// does starts a grant and finishes it.
func (s *sett) does(claim, agent string, st blackboard.StructuralType, typ, payload string) string {
	s.Helper()
	return s.finishes(s.starts(claim, agent, "holder-of-"+agent), agent, st, typ, payload)
}

// makes takes a goal to the first artefact, made by an agent with the exclusive
// grant while the others ignore, and returns that artefact's id.
func (s *sett) makes(goal, agent string) string {
	s.Helper()
	c := s.claimOf(goal)
	for _, a := range s.cfg.Agents {
		if a.Name == agent {
			s.bids(c, a.Name+" exclusive")
		} else {
			s.bids(c, a.Name+" ignore")
		}
	}
	id := s.does(c, agent, blackboard.Standard, "Draft", "v1")
	s.status(c, blackboard.Complete)
	return id
}

// ended waits for the end of a workflow.
func (s *sett) ended(workflow string, want blackboard.WorkflowStatus) blackboard.Workflow {
	s.Helper()
	var w blackboard.Workflow
	s.until("the workflow to be "+string(want), func() bool {
		var err error
		w, err = s.board.Records.Workflow(s.Context(), workflow)
		return err == nil && w.Status == want
	})
	return w
}

func (s *sett) artefact(id string) blackboard.Artefact {
	s.Helper()
	a, err := s.board.Records.Artefact(s.Context(), id)
	s.must(err)
	return a
}

// failures waits for a workflow to have so many, and returns them.
func (s *sett) failures(workflow string, n int) (out []blackboard.Artefact) {
	s.Helper()
	s.until("the failures", func() bool {
		all, err := s.board.Records.ListArtefacts(s.Context(), blackboard.Filter{Workflow: workflow})
		s.must(err)
		out = nil
		for _, a := range all {
			if a.StructuralType == blackboard.Failure {
				out = append(out, a)
			}
		}
		return len(out) >= n
	})
	if len(out) != n {
		s.Fatalf("%d failures, want %d: %+v", len(out), n, out)
	}
	return out
}

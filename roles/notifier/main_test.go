package notifier

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
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
	"sett/contract/env"
	"sett/roles/role"
)

const instance = "test"

// world is a blackboard on which the test makes everybody's moves, and a directory
// where the command writes what it gets.
type world struct {
	testing.TB
	ctx    context.Context
	server *redistest.Server
	board  *redis.Board
	lead   blackboard.Lead
	dir    string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &world{TB: t, ctx: ctx, server: redistest.Embedded(t), dir: t.TempDir()}
	var err error
	w.board, err = redis.Open(ctx, redis.Options{URL: w.server.URL, Instance: instance, Name: "test", Retries: 20})
	w.must(err)
	t.Cleanup(w.board.Close)
	w.lead, _, err = w.board.Leader.TakeLead(ctx, "test", "", time.Hour)
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// until waits for a condition.
func (w *world) until(what string, done func() bool) {
	w.Helper()
	boardtest.Until(w.TB, what, done)
}

var newID = boardtest.NewID

// goal posts a goal and grants it to writer.
func (w *world) goal(payload string) (claim string) {
	w.Helper()
	return w.granted(w.post(payload))
}

// post posts a goal.
func (w *world) post(payload string) (id string) {
	w.Helper()
	id = newID()
	w.must(w.board.People.PostGoal(w.ctx, blackboard.Artefact{ID: id, StructuralType: blackboard.Standard,
		Type: blackboard.TypeGoalDefined, Payload: payload, ProducedByRole: blackboard.RoleUser, WorkflowID: id}, "ann"))
	return id
}

// offered opens the claim on an artefact, on which writer may bid.
func (w *world) offered(artefact string) (claim string) {
	w.Helper()
	_, _, err := w.board.Leader.OpenClaim(w.ctx, w.lead.Epoch, artefact, []string{"writer"}, 0)
	w.must(err)
	return blackboard.BiddingClaimID(artefact)
}

// granted opens the claim on an artefact and grants it to writer.
func (w *world) granted(artefact string) (claim string) {
	w.Helper()
	claim = w.offered(artefact)
	w.must(w.board.Leader.GrantPhase(w.ctx, w.guard(claim), blackboard.PhaseExclusive, []string{"writer"}))
	return claim
}

func (w *world) guard(claim string) blackboard.Guard {
	w.Helper()
	s, err := w.board.Records.Snapshot(w.ctx, claim)
	w.must(err)
	return blackboard.Guard{Epoch: w.lead.Epoch, Claim: claim, Revision: s.Claim.Revision}
}

// started has writer begin with a claim.
func (w *world) started(claim string) blackboard.GrantRef {
	w.Helper()
	s, err := w.board.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: "writer", Holder: "test"})
	w.must(err)
	return blackboard.GrantRef{Claim: claim, Agent: "writer", Attempt: s.Grant.Attempt, Holder: "test"}
}

// finish has writer hand in a result, and returns its id.
func (w *world) finish(claim string, st blackboard.StructuralType, typ, payload string) string {
	w.Helper()
	s, err := w.board.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: "writer", Holder: "test"})
	w.must(err)
	a := blackboard.Artefact{ID: newID(), StructuralType: st, Type: typ, Payload: payload, Summary: "by writer",
		SourceArtefacts: []string{s.Claim.ArtefactID}, ProducedByRole: "author", ProducedByAgent: "writer", ClaimID: claim,
		WorkflowID: s.Claim.WorkflowID}
	w.must(w.board.Cub.Finish(w.ctx, blackboard.Result{
		GrantRef: blackboard.GrantRef{Claim: claim, Agent: "writer", Attempt: s.Grant.Attempt, Holder: "test"}, Artefact: a}))
	return a.ID
}

// ask posts a goal of which writer asks something, and returns the Question's id.
func (w *world) ask(text string) string {
	w.Helper()
	return w.finish(w.goal("goal of "+text), blackboard.Question, "Ask", text)
}

func (w *world) answer(question string) {
	w.Helper()
	q, err := w.board.Records.Artefact(w.ctx, question)
	w.must(err)
	_, err = w.board.People.PostAnswer(w.ctx, question, w.human(blackboard.Answer, newID(), q), "ann")
	w.must(err)
}

// human is what a person says about an artefact.
func (w *world) human(st blackboard.StructuralType, id string, about blackboard.Artefact) blackboard.Artefact {
	return blackboard.Artefact{ID: id, StructuralType: st, Type: string(st), Payload: "{}", ProducedByRole: blackboard.RoleHuman,
		ClaimID: about.ClaimID, WorkflowID: about.WorkflowID, SourceArtefacts: []string{about.ID}}
}

// forge writes a command to the server, past everything that Sett checks.
func (w *world) forge(args ...string) {
	w.Helper()
	_, err := boardtest.Send(w.server.Addr(), args...)
	w.must(err)
}

// takes is a command that appends the event to the file "told".
const takes = `cat >> "$DIR/told"`

// told returns the events the command took, once there are as many.
func (w *world) told(n int) []map[string]any {
	w.Helper()
	var all []map[string]any
	w.until(fmt.Sprintf("%d events", n), func() bool {
		raw, err := os.ReadFile(filepath.Join(w.dir, "told"))
		if err != nil && !os.IsNotExist(err) {
			w.Fatal(err)
		}
		all = nil
		for line := range bytes.Lines(raw) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				return false
			}
			var v map[string]any
			w.must(json.Unmarshal(line, &v))
			all = append(all, v)
		}
		return len(all) >= n
	})
	if len(all) != n {
		w.Fatalf("%d events, want %d: %v", len(all), n, all)
	}
	return all
}

// remembered waits until it is stored that the last of the events was told.
func (w *world) remembered(all []map[string]any) {
	w.Helper()
	w.until("the position to be stored", func() bool {
		at, err := w.board.Ledger.Notified(w.ctx)
		w.must(err)
		return at == all[len(all)-1]["position"]
	})
}

// log takes what a notifier logs.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running is a notifier of this process.
type running struct {
	*world
	log   *log
	stop  context.CancelFunc
	hurry chan struct{}
	ended chan struct{}
	err   error
}

// quick is a pace for tests.
func quick() pace {
	return pace{again: []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond}, keep: time.Hour, window: time.Hour,
		touch: 20 * time.Millisecond, grace: 10 * time.Second, stride: 1000}
}

// start runs a notifier with a shell command, until the test ends.
func (w *world) start(command string, p pace, more ...string) *running {
	w.Helper()
	list, err := json.Marshal([]string{"sh", "-c", command})
	w.must(err)
	vars := []string{env.Instance + "=" + instance, env.RedisURL + "=" + w.server.URL, env.NotifyCommand + "=" + string(list),
		env.Workspace + "=" + w.dir, env.NotifyWorkspace + "=/home/me/my repo", env.RedisRetries + "=0",
		env.LogFormat + "=text", env.LogLevel + "=debug", "PATH=" + os.Getenv("PATH"), "DIR=" + w.dir}
	vars = append(vars, more...)
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{world: w, log: &log{}, stop: cancel, hurry: make(chan struct{}), ended: make(chan struct{})}
	e := role.Env{Stdout: r.log, Stderr: r.log, Now: time.Now, Entropy: rand.Reader, Hurry: r.hurry,
		Environ: func() []string { return vars },
		Lookup: func(name string) (value string, ok bool) {
			for _, v := range vars { // the last one counts
				if n, s, _ := strings.Cut(v, "="); n == name {
					value, ok = s, true
				}
			}
			return value, ok
		}}
	go func() {
		defer close(r.ended)
		r.err = runWith(ctx, e, p)
	}()
	w.Cleanup(func() {
		cancel()
		_ = r.end()
		if w.Failed() {
			w.Logf("the notifier said:\n%s", r.log)
		}
	})
	return r
}

// end waits for its end and returns how it ended.
func (r *running) end() error {
	r.Helper()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(5 * time.Minute):
		return errors.New("it does not end")
	}
}

// says waits until it has logged a text so many times.
func (r *running) says(text string, times int) {
	r.Helper()
	r.until(fmt.Sprintf("%q in the log", text), func() bool { return strings.Count(r.log.String(), text) >= times })
}

// halt stops it as a signal does.
func (r *running) halt() {
	r.Helper()
	r.stop()
	r.must(r.end())
}

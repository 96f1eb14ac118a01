package orchestrator

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/archive"
	"sett/contract/config"
)

// walker makes moves at random, of agents, of people and of the orchestrator, in
// any order and whether or not they make sense, against the scripts as they are.
// What they refuse must change nothing; what they take must add up (walk_check).
type walker struct {
	*sett
	r      *rand.Rand
	l      *term
	log    *output
	ahead  time.Duration // of the orchestrator's clock
	claims map[string]blackboard.ClaimStatus
	did    map[string]int  // how often a move was taken
	again  func() error    // the last move of a person, which may be repeated
	seen   string          // the last entry of the ledger that was checked
	people map[string]bool // goals that wait for people alone
}

func newWalker(t *testing.T, seed uint64) *walker {
	w := &walker{sett: newSett(t, "a", "b", "c"), r: rand.New(rand.NewPCG(seed, 7)), log: &output{},
		claims: map[string]blackboard.ClaimStatus{}, did: map[string]int{},
		seen: "0-0", people: map[string]bool{}}
	w.cfg.Orchestrator.MaxArtefacts, w.cfg.Orchestrator.MaxReviewIterations = 30, 2
	w.cfg.Orchestrator.QuestionTimeout, w.cfg.Orchestrator.BidTimeout = time.Hour, time.Hour
	if seed%2 == 0 {
		w.cfg.Orchestrator.OnReviewLimit = "ask"
	}
	if seed%3 == 1 { // two bid by table, so that scripts open claims
		w.agent("a").Bids = []config.BidRule{{Type: "Goal*", Bid: "review"}, {Type: "*", Bid: "claim"}}
		w.agent("b").Bids = []config.BidRule{{Type: "Free", Bid: "review"}, {Type: "*", Bid: "exclusive"}}
		if seed%2 == 0 {
			w.agent("c").Bids = []config.BidRule{{Type: "Goal*", Bid: "claim"}}
		}
	}
	w.write()
	lead, _, err := w.board.Leader.TakeLead(t.Context(), "walker", "", time.Hour)
	w.must(err)
	w.must(w.board.Leader.Enact(t.Context(), lead.Epoch, []string{"Held*"}, w.cfg.DecisionDigest()))
	e := w.env(options{}, w.log)
	e.Now = func() time.Time { return time.Now().Add(w.ahead) }
	w.l = newTerm(w.unled(e, slog.NewTextHandler(w.log, nil)), lead)
	w.l.courses.off = seed%3 == 2
	t.Cleanup(w.l.stopAlarms)
	return w
}

// TestRandomWalks: whatever is done in whatever order, the accounts agree after
// every single move, and everything comes to an end. The ledger says of each record all that an export compares.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	const walks, steps = 20, 200 // every step looks at all that was done before it
	did, followed := map[string]int{}, 0
	for seed := range uint64(walks) {
		w := newWalker(t, seed)
		for range 2 {
			w.goal("g")
		}
		for step := range steps {
			what, err := w.move()
			if err != nil && !errors.Is(err, blackboard.ErrRefused) {
				t.Fatalf("walk %d, step %d: %s: %v", seed, step, what, err)
			}
			if err == nil {
				w.did[what]++
			}
			w.check(fmt.Sprintf("walk %d, step %d: %s (%v)", seed, step, what, err))
		}
		w.drain()
		if _, err := archive.Export(w.Context(), w.board, io.Discard, archive.ExportOptions{}); err != nil {
			t.Errorf("walk %d: records and ledger differ: %v", seed, err)
		}
		n := w.followed()
		if followed += n; w.l.courses.off == (n > 0) {
			t.Errorf("walk %d: scripts followed a course %d times", seed, n)
		}
		for what, n := range w.did {
			did[what] += n
		}
		if said := w.log.String(); strings.Contains(said, "not decided yet") || strings.Contains(said, "level=ERROR") {
			t.Errorf("walk %d: the orchestrator complains:\n%s", seed, said)
		}
	}
	t.Logf("moves taken: %v; scripts followed courses %d times", did, followed)
	for _, m := range moves {
		if did[m.what] == 0 {
			t.Errorf("nothing was ever done by %s", m.what)
		}
	}
}

// moves are all there is, and how often each is tried.
var moves = []struct {
	what string
	odds int
	make func(*walker) error
}{
	{"look", 30, (*walker).look}, {"look late", 1, (*walker).lookLate}, {"bid", 25, (*walker).bid}, {"start", 20, (*walker).begin},
	{"finish", 20, (*walker).finish}, {"hand back", 1, (*walker).handBack}, {"wait for its model", 8, (*walker).awaitModel}, {"crash", 3, (*walker).crash}, {"answer", 3, (*walker).answer},
	{"review", 2, (*walker).review}, {"approve", 4, (*walker).approve}, {"reject", 4, (*walker).reject}, {"cancel", 2, (*walker).cancel},
	{"retry", 4, (*walker).retry}, {"repeat", 2, (*walker).repeat}, {"goal", 2, (*walker).more}, {"cancel goal", 1, (*walker).cancelGoal},
}

// followed counts the decisions that scripts took.
func (w *walker) followed() (n int) {
	all, err := w.board.Ledger.History(w.Context(), blackboard.Beginning, 100_000)
	w.must(err)
	for _, e := range all {
		if e.Attributes[blackboard.AttributeDecidedBy] != "" {
			n++
		}
	}
	return n
}

var errNothing = fmt.Errorf("%w: there is nothing to do it to", blackboard.ErrRefused)

func (w *walker) move() (string, error) {
	sum := 0
	for _, m := range moves {
		sum += m.odds
	}
	n := w.r.IntN(sum)
	for _, m := range moves {
		if n -= m.odds; n < 0 {
			return m.what, m.make(w)
		}
	}
	return "", nil
}

// one returns one of what there is; false when there is nothing.
func one[T any](w *walker, of []T) (x T, ok bool) {
	if len(of) == 0 {
		return x, false
	}
	return of[w.r.IntN(len(of))], true
}

func (w *walker) look() error {
	work, err := w.board.Index.OpenWork(w.Context())
	if err != nil {
		return err
	}
	var keys []key
	for _, id := range work.Unclaimed {
		keys = append(keys, key{artefactKey, id})
	}
	for _, id := range work.Claims {
		keys = append(keys, key{claimKey, id})
	}
	k, ok := one(w, keys)
	if !ok {
		return errNothing
	}
	return w.l.look(w.Context(), k)
}

// lookLate finds that silence and questions have taken too long.
func (w *walker) lookLate() error {
	w.ahead = 2 * time.Hour
	defer func() { w.ahead = 0 }()
	return w.look()
}

// any returns a claim, open ones first.
func (w *walker) any() string {
	open, err := w.board.Index.OpenClaims(w.Context())
	w.must(err)
	if c, ok := one(w, open); ok && w.r.IntN(5) > 0 {
		return c
	}
	c, _ := one(w, slices.Sorted(maps.Keys(w.claims)))
	return c
}

func (w *walker) agentName() string { return w.cfg.Agents[w.r.IntN(len(w.cfg.Agents))].Name }

func (w *walker) bid() error {
	agent := w.agentName()
	work, err := w.board.Index.OpenAgentWork(w.Context(), agent)
	if err != nil {
		return err
	}
	c, ok := one(w, work.Due)
	if !ok {
		return errNothing
	}
	bid := []blackboard.BidType{"review", "claim", "claim", "claim", "exclusive", "exclusive", "ignore"}[w.r.IntN(7)]
	each, err := w.board.Cub.SubmitBids(w.Context(), []blackboard.BidRequest{{Claim: c, Agent: agent, Bid: bid}})
	return errors.Join(append(each, err)...)
}

// granted returns an agent's grant that is in this state, somewhere.
func (w *walker) granted(state blackboard.GrantState) (blackboard.Snapshot, blackboard.Grant, bool) {
	agent := w.agentName()
	work, err := w.board.Index.OpenAgentWork(w.Context(), agent)
	w.must(err)
	w.r.Shuffle(len(work.Grants), func(i, j int) { work.Grants[i], work.Grants[j] = work.Grants[j], work.Grants[i] })
	for _, c := range work.Grants {
		s := w.snapshot(c)
		if g, _ := s.Grant(agent); g.State == state {
			return s, g, true
		}
	}
	return blackboard.Snapshot{}, blackboard.Grant{}, false
}

func (w *walker) begin() error {
	s, g, ok := w.granted(blackboard.GrantQueued)
	if !ok {
		return errNothing
	}
	_, err := w.board.Cub.Start(w.Context(), blackboard.StartRequest{Claim: s.Claim.ID, Agent: g.Agent, Holder: "h"})
	return err
}

// results are what a tool may come to, by phase.
var results = map[bool][]blackboard.StructuralType{
	true:  {review, review, review, review, review, blackboard.Question, blackboard.Question, blackboard.Failure},
	false: {std, std, std, std, blackboard.Terminal, blackboard.Terminal, blackboard.Question, blackboard.Question, blackboard.Failure},
}

func (w *walker) finish() error {
	s, g, ok := w.granted(blackboard.GrantRunning)
	if !ok {
		return errNothing
	}
	st, _ := one(w, results[g.Phase == blackboard.PhaseReview])
	return w.board.Cub.Finish(w.Context(), w.result(s, g, st))
}

func (w *walker) result(s blackboard.Snapshot, g blackboard.Grant, st blackboard.StructuralType) blackboard.Result {
	typ, _ := one(w, []string{"Free", "HeldBack"})
	payload, _ := one(w, []string{"{}", "{}", "no"})
	a := blackboard.Artefact{ID: newID(), StructuralType: st, Type: typ, Payload: payload, SourceArtefacts: []string{s.Claim.ArtefactID},
		ProducedByRole: "r", ProducedByAgent: g.Agent, ClaimID: s.Claim.ID, WorkflowID: s.Claim.WorkflowID}
	if s.Claim.Rework && (st == std || st == blackboard.Terminal) {
		a.LogicalID = s.Claim.Target.LogicalID
	}
	r := blackboard.Result{GrantRef: blackboard.GrantRef{Claim: s.Claim.ID, Agent: g.Agent, Attempt: g.Attempt, Holder: g.Holder}, Artefact: a}
	if st == review {
		r.Verdict = blackboard.VerdictOf(payload)
	}
	return r
}

func (w *walker) handBack() error {
	s, g, ok := w.granted(blackboard.GrantRunning)
	if !ok {
		return errNothing
	}
	return w.board.Cub.Requeue(w.Context(), blackboard.HandBack{
		GrantRef: blackboard.GrantRef{Claim: s.Claim.ID, Agent: g.Agent, Attempt: g.Attempt, Holder: g.Holder}, Most: 100, Reason: "test",
	})
}

// awaitModel has a running grant wait for its model, or wait no longer.
func (w *walker) awaitModel() error {
	s, g, ok := w.granted(blackboard.GrantRunning)
	if !ok {
		return errNothing
	}
	what := blackboard.WaitModel
	if g.WaitsForModel() {
		what = ""
	}
	return w.board.Cub.Await(w.Context(), blackboard.GrantRef{Claim: s.Claim.ID, Agent: g.Agent, Attempt: g.Attempt, Holder: g.Holder}, what, "")
}

// crash has a grant fail, or be tried again, that runs, is in line or asks.
func (w *walker) crash() error {
	c := w.any()
	if c == "" {
		return errNothing
	}
	s := w.snapshot(c)
	open := slices.DeleteFunc(slices.Clone(s.Grants), func(g blackboard.Grant) bool { return g.State.Ended() && w.r.IntN(10) > 0 })
	g, ok := one(w, open)
	if !ok || blackboard.IsHuman(g.Agent) {
		return errNothing
	}
	ref := blackboard.GrantRef{Claim: s.Claim.ID, Agent: g.Agent, Attempt: g.Attempt}
	if g.State == blackboard.GrantRunning {
		ref.Holder = g.Holder
	}
	if g.State == blackboard.GrantRunning && w.r.IntN(2) == 0 {
		return w.board.Leader.RetryGrant(w.Context(), w.l.lead.Epoch, ref, "test")
	}
	f := w.result(s, g, blackboard.Failure).Artefact
	f.Type, f.ProducedByAgent, f.ProducedByRole = blackboard.TypeAgentCrashed, "", blackboard.RoleOrchestrator
	return w.board.Leader.FailGrant(w.Context(), w.l.lead.Epoch, ref, "test", f)
}

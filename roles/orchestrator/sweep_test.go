package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/role/repository"
)

// taker is a repository that took commits.
type taker struct {
	taken []repository.Taken
	swept repository.Swept
	lent  []repository.Lending
	kept  []repository.Orphan
	read  func() // when the list has been handed out
	keeps func() // when changes are to be kept

	away   int    // so often it does not answer
	sweeps func() // when commits are swept
}

func (k *taker) Taken(context.Context) ([]repository.Taken, error) {
	if k.away--; k.away >= 0 {
		return nil, errors.New("away")
	}
	if k.read != nil {
		defer k.read()
	}
	return slices.Clone(k.taken), nil
}

func (k *taker) Swept(_ context.Context, q repository.Swept) error {
	k.swept.Recorded, k.swept.Never = append(k.swept.Recorded, q.Recorded...), append(k.swept.Never, q.Never...)
	ends := func(t repository.Taken) bool { return slices.Contains(append(q.Recorded, q.Never...), t.Artefact) }
	k.taken = slices.DeleteFunc(k.taken, ends)
	if k.sweeps != nil {
		k.sweeps()
	}
	return nil
}

func (k *taker) Lent(context.Context) ([]repository.Lending, error) { return slices.Clone(k.lent), nil }

func (k *taker) Orphaned(_ context.Context, q repository.Orphan) error {
	k.kept = append(k.kept, q)
	if k.keeps != nil {
		k.keeps()
	}
	k.lent = slices.DeleteFunc(k.lent, func(l repository.Lending) bool { return l == q.Lending })
	return nil
}

// swept is a clan of which agent a works on a claim, and a term that asks the repository.
func swept(t *testing.T) (s *sett, sweeps *term, k *taker, claim string, st blackboard.Started) {
	t.Helper()
	s = newSett(t, "a", "b")
	s.lead(options{})
	claim = s.claimOf(s.goal("g"))
	s.bids(claim, "a claim", "b claim")
	s.grant(claim, "a", blackboard.GrantQueued)
	st, k = s.starts(claim, "a", "h1"), &taker{}
	o := s.unled(s.env(options{}, &output{}), slog.DiscardHandler)
	o.repository = k
	return s, newTerm(o, blackboard.Lead{}), k, claim, st
}

// A term looks for commits without an artefact as it begins, and soon again while the repository is not there yet.
func TestSweepAtTheBegin(t *testing.T) {
	t.Parallel()
	s, sweeps, k, claim, st := swept(t)
	s.must(s.board.Cub.Requeue(t.Context(), blackboard.HandBack{GrantRef: ref(st), Most: 10, Reason: "stopping"}))
	k.taken = []repository.Taken{{Artefact: newID(), Agent: "a", Grant: repository.Grant{Claim: claim, Attempt: 1}}}
	sweeps.pace.sweep, sweeps.pace.retry = time.Hour, time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	k.away, k.sweeps = 2, cancel
	limit := time.AfterFunc(time.Minute, cancel)
	defer limit.Stop()
	if err := sweeps.sweepRefs(ctx); !errors.Is(err, context.Canceled) || len(k.swept.Never) != 1 {
		t.Errorf("%v, swept %+v", err, k.swept)
	}
}

// What a tool left is kept once its cub can no longer ask for that: at once after a crash, and after a while where the
// grant was cancelled, whose cub may still be about to.
func TestOrphansAreKept(t *testing.T) {
	t.Parallel()
	s, sweeps, k, claim, st := swept(t)
	s.starts(claim, "b", "h2")
	goal, now := st.Claim.WorkflowID, time.Now()
	sweeps.clock.own = func() time.Time { return now }
	of := func(agent, claim string, attempt int) repository.Lending {
		return repository.Lending{Agent: agent, Slot: agent + ".w", Grant: repository.Grant{Claim: claim, Attempt: attempt}}
	}
	seen := map[repository.Lending]time.Time{}
	check := func(when string, want ...repository.Lending) {
		t.Helper()
		k.kept = nil
		s.must(keepOrphans(t.Context(), sweeps, seen))
		var got []repository.Lending
		for _, o := range k.kept {
			got = append(got, o.Lending)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: kept %+v, want %+v", when, got, want)
		}
	}
	first, other, unknown := of("a", claim, st.Grant.Attempt), of("b", claim, 1), of("a", newID(), 1)
	k.lent = []repository.Lending{first, other, unknown}
	check("while the grants run")
	s.must(s.board.Cub.Requeue(t.Context(), blackboard.HandBack{
		GrantRef: blackboard.GrantRef{Claim: claim, Agent: "a", Attempt: st.Grant.Attempt, Holder: "h1"}, Most: 9, Reason: "crashed"}))
	check("of an attempt before", first)
	s.must(s.board.People.CancelClaim(t.Context(), claim, blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure, Type: blackboard.TypeCancelled, Payload: "{}",
		SourceArtefacts: []string{goal}, ProducedByRole: blackboard.RoleHuman, ClaimID: claim, WorkflowID: goal}, "ann", "enough"))
	check("just cancelled")
	now = now.Add(usualPace().orphan)
	check("cancelled long ago", other)
	if len(k.lent) != 1 || k.lent[0] != unknown {
		t.Errorf("left: %+v", k.lent)
	}
}

// The changes of a dead cub are kept when its crash is recorded, and not at the next regular look.
func TestOrphansAreKeptSoon(t *testing.T) {
	t.Parallel()
	s, sweeps, k, claim, st := swept(t)
	sweeps.pace.sweep = time.Hour
	k.lent = []repository.Lending{{Agent: "a", Slot: "a.w", Grant: repository.Grant{Claim: claim, Attempt: st.Grant.Attempt}}}
	s.must(s.board.Cub.Requeue(t.Context(), blackboard.HandBack{
		GrantRef: blackboard.GrantRef{Claim: claim, Agent: "a", Attempt: st.Grant.Attempt, Holder: "h1"}, Most: 9, Reason: "crashed"}))
	ctx, cancel := context.WithCancel(t.Context())
	ended, kept := make(chan error, 1), make(chan struct{})
	k.keeps = func() { close(kept) }
	go func() { ended <- sweeps.sweepRefs(ctx) }()
	for range 2 { // of many that crash at once
		crashed(sweeps, "a")
	}
	select {
	case <-kept:
	case <-time.After(patience):
		t.Error("the tree was not looked at")
	}
	cancel()
	<-ended
}

// A commit is swept once its artefact is on the blackboard, or can never be: never while its grant
// may still end with it.
func TestSweepOfTakenCommits(t *testing.T) {
	t.Parallel()
	s, sweeps, k, claim, st := swept(t)
	take := func(artefact, claim, agent string, attempt int) {
		k.taken = append(k.taken, repository.Taken{Artefact: artefact, Agent: agent, Grant: repository.Grant{Claim: claim, Attempt: attempt}})
	}
	check := func(when string, recorded, never []string) {
		t.Helper()
		k.swept = repository.Swept{}
		s.must(sweeps.sweep(t.Context()))
		if !slices.Equal(k.swept.Recorded, recorded) || !slices.Equal(k.swept.Never, never) {
			t.Errorf("%s: swept %+v, want %v and %v", when, k.swept, recorded, never)
		}
	}
	unknown, dead := newID(), newID()
	take(unknown, newID(), "a", 1)
	take(dead, claim, "a", st.Grant.Attempt)
	check("while the grant runs", nil, nil)

	// The holder hands it back, and a later attempt makes the result.
	s.must(s.board.Cub.Requeue(t.Context(), blackboard.HandBack{
		GrantRef: blackboard.GrantRef{Claim: claim, Agent: "a", Attempt: st.Grant.Attempt, Holder: "h1"}, Most: 9, Reason: "stopped"}))
	check("of an attempt before", nil, []string{dead})
	st = s.starts(claim, "a", "h2")
	late := newID()
	take(late, claim, "a", st.Grant.Attempt)
	var made string
	k.read = func() { made = s.finishes(st, "a", std, "Draft", "x") } // while the sweep is at work
	check("that ends meanwhile", nil, []string{late})
	k.read = nil
	take(made, claim, "a", st.Grant.Attempt)
	check("of a result", []string{made}, nil)
	if len(k.taken) != 1 || k.taken[0].Artefact != unknown {
		t.Errorf("left: %+v", k.taken)
	}
}

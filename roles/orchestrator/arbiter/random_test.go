package arbiter

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

// TestAgainstNaive compares Decide with the naive implementation on random
// claims, sound ones and nonsense.
func TestAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds, seen := map[Kind]int{}, map[string]int{}
	for n := range 60_000 {
		s, p, now := randomCase(r, n%2 == 0)
		got := Decide(s, p, now)
		want, waits := naive(s, p, now)
		kinds[got.Kind]++
		if got.Kind != RecordIgnores && got.Kind != Complete {
			got.Reason = "" // for people
		}
		seen[got.FailureType]++
		if s.Claim.Target.OfLanding() && got.Kind == Terminate && got.FailureType == "" {
			seen[fmt.Sprint("landing, verified: ", p.Verifies)]++
		}
		if got.Rework != nil && got.Rework.Ask != "" {
			got.Rework.Ask = "something"
			seen["ask"]++
		}
		if slices.ContainsFunc(s.Grants, func(g blackboard.Grant) bool { return person(g.Agent) && g.Verdict == blackboard.Feedback }) {
			seen[string(got.Kind)+" with a person's feedback"]++
		}
		named := waitsOf(s, p, now, got)
		slices.SortFunc(named, byAgent) // their order is for people too
		slices.SortFunc(waits, byAgent)
		if !reflect.DeepEqual(got, want) || !slices.Equal(named, waits) {
			text, _ := json.MarshalIndent(s, "", " ")
			t.Fatalf("case %d: %s\n%+v at %v\ngot  %+v %+v\nwant %+v %+v", n, text, p, now, got, named, want, waits)
		}
	}
	for _, kind := range []Kind{Wait, RecordIgnores, GrantPhase, FailGrant, Complete, Terminate} {
		if kinds[kind] < 500 {
			t.Errorf("only %d of the cases were decided as %s", kinds[kind], kind)
		}
	}
	for _, what := range []string{"ask", "landing, verified: true", "landing, verified: false", blackboard.TypeQuestionTimeout, blackboard.TypeReviewLimit, blackboard.TypeAgentRemoved, FailureGoalRejected,
		"wait with a person's feedback", "terminate with a person's feedback", "grant_phase with a person's feedback"} {
		if seen[what] < 50 {
			t.Errorf("only %d of the cases came to %s: %v", seen[what], what, seen)
		}
	}
}

func byAgent(a, b waitFor) int { return strings.Compare(a.Agent, b.Agent) }

// waitFor is a wait as far as it follows from the claim alone.
type waitFor struct {
	What    blackboard.WaitKind
	Agent   string
	Since   time.Time
	Subject string // the Question that an answer is to
}

// waitsOf returns the waits of a claim where the decision is to wait.
func waitsOf(s blackboard.Snapshot, p Policy, now time.Time, d Decision) []waitFor {
	if d.Kind != Wait {
		return nil
	}
	bounds := blackboard.Policy{Agents: map[string]blackboard.AgentPolicy{}, BidTimeout: p.BidTimeout, QuestionTimeout: p.QuestionTimeout}
	for _, agent := range p.Clan {
		bounds.Agents[agent] = blackboard.AgentPolicy{BidsRequired: slices.Contains(p.BidsRequired, agent)}
	}
	var waits []waitFor
	for _, w := range blackboard.Waits(s, bounds, blackboard.Scene{Now: now}) {
		if w.Kind != blackboard.WaitAnswer {
			w.SubjectID = ""
		}
		waits = append(waits, waitFor{w.Kind, w.Agent, w.Since, w.SubjectID})
	}
	return waits
}

// TestDecideKeepsItsHandsOff: what it is given is neither changed nor kept, and
// the same question gets the same answer.
func TestDecideKeepsItsHandsOff(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5_000 {
		s, p, now := randomCase(r, false)
		before, _ := json.Marshal(s)
		clan := slices.Clone(p.Clan)
		first := Decide(s, p, now)
		text, _ := json.Marshal(first)
		if after, _ := json.Marshal(s); string(after) != string(before) || !slices.Equal(clan, p.Clan) {
			t.Fatalf("changed %s\nto %s", before, after)
		}
		if again := Decide(s, p, now); !reflect.DeepEqual(first, again) {
			t.Fatalf("%s: first %+v then %+v", before, first, again)
		}
		for i := range s.Claim.ExpectedBidders {
			s.Claim.ExpectedBidders[i] = "scribbled over"
		}
		if after, _ := json.Marshal(first); string(after) != string(text) {
			t.Fatalf("kept %s: %s became %s", before, text, after)
		}
	}
}

// pick returns one of the choices.
func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// subset returns some of the names in random order.
func subset(r *rand.Rand, from []string, odds int) []string {
	var some []string
	for _, i := range r.Perm(len(from)) {
		if r.IntN(odds) > 0 {
			some = append(some, from[i])
		}
	}
	return some
}

// randomCase makes a claim up. A sound one is like what the scripts bring about;
// the others have anything anywhere.
func randomCase(r *rand.Rand, sound bool) (blackboard.Snapshot, Policy, time.Time) {
	all := []string{"ann", "bob", "cyd", "dan", "eve"}
	opened := time.Unix(1_900_000_000, 0).UTC()
	now := opened.Add(time.Duration(r.IntN(121)) * time.Second)
	p := Policy{
		Clan: subset(r, all, pick(r, 10, 10, 3)), MaxReviewIterations: r.IntN(5) - 1,
		BidTimeout: pick(r, 0, time.Minute, 2*time.Minute), QuestionTimeout: pick(r, 0, 0, 30*time.Second, time.Minute, 2*time.Minute),
		AskAtReviewLimit: r.IntN(2) == 0, Verifies: r.IntN(2) == 0, BidsRequired: pick(r, nil, nil, subset(r, all, 2)),
	}
	s := blackboard.Snapshot{Claim: blackboard.Claim{
		Status: pick(r, blackboard.ClaimStatuses...), Origin: pick(r, blackboard.OriginArtefact, blackboard.OriginRetry),
		ExpectedBidders: subset(r, all, 5), OpenedAt: opened,
		Target: blackboard.Target{Agent: pick(r, append(all, "")...), Version: 1 + r.IntN(5)},
	}}
	if r.IntN(4) == 0 {
		s.Claim.Target.Type, s.Claim.Target.Role = pick(r, blackboard.TypeLanding, blackboard.TypeConflict), pick(r, blackboard.RoleRepository, blackboard.RoleUser)
		s.Claim.Target.Agent = pick(r, "", "", "ann")
	}
	if sound && s.Claim.Status.Closed() {
		s.Claim.Status = blackboard.PendingReview
	}
	for _, agent := range subset(r, s.Claim.ExpectedBidders, pick(r, 4, 1000)) {
		s.Bids = append(s.Bids, blackboard.Bid{Agent: agent, Type: pick(r, blackboard.BidTypes...)})
	}
	s.Claim.Withheld = map[string]blackboard.Withheld{}
	for _, agent := range subset(r, all, pick(r, 1, 1, 2)) {
		s.Claim.Withheld[agent] = blackboard.Withheld{Kind: blackboard.WithheldBudget, Since: opened.Add(time.Second)}
	}
	if !sound {
		corrupt(r, &s, all)
	} else if len(s.Missing()) == 0 {
		grantBids(r, &s, opened)
	} else {
		s.Claim.Status = blackboard.PendingReview
	}
	if sound {
		addPeople(r, &s, opened)
	}
	slices.SortFunc(s.Grants, func(a, b blackboard.Grant) int { return strings.Compare(a.Agent, b.Agent) })
	for _, l := range [][]string{s.Claim.GrantedReviewAgents, s.Claim.GrantedParallelAgents} {
		r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	}
	return s, p, now
}

// addPeople adds what people said while they could; once the review is over they
// have approved. What a person rejected at a gate has nothing else.
func addPeople(r *rand.Rand, s *blackboard.Snapshot, at time.Time) {
	if s.Claim.Status == blackboard.PendingReview && r.IntN(10) == 0 {
		s.Claim.ExpectedBidders, s.Claim.GrantedReviewAgents, s.Bids, s.Grants = nil, nil, nil, nil
		s.Grants = append(s.Grants, personsReview("human:ann", blackboard.Feedback, at))
	}
	for _, who := range []string{"human:bob", "human:zoe"} {
		if r.IntN(4) > 0 {
			continue
		}
		verdict := blackboard.Approve
		if s.Claim.Status == blackboard.PendingReview {
			verdict = pick(r, blackboard.Approve, blackboard.Feedback)
		}
		s.Grants = append(s.Grants, personsReview(who, verdict, at))
	}
}

func personsReview(who string, verdict blackboard.Verdict, at time.Time) blackboard.Grant {
	return blackboard.Grant{Agent: who, Phase: blackboard.PhaseReview, Attempt: 1, State: blackboard.GrantDone,
		ResultID: "result-" + who, Verdict: verdict, QueuedAt: at, EndedAt: at}
}

// grantBids grants the bids up to the claim's phase, those of phases before it
// done, those of its own phase somewhere.
func grantBids(r *rand.Rand, s *blackboard.Snapshot, at time.Time) {
	current := slices.IndexFunc(blackboard.Phases, func(p blackboard.Phase) bool { return p.Status() == s.Claim.Status })
	if r.IntN(3) == 0 {
		current-- // nothing granted in it yet
	}
	endings := []blackboard.GrantState{
		blackboard.GrantDone, blackboard.GrantDone, blackboard.GrantDone, blackboard.GrantDone, blackboard.GrantRunning,
		blackboard.GrantQueued, blackboard.GrantAwaitingAnswer, blackboard.GrantFailed,
	}
	endings = endings[:pick(r, 4, 7, 8)]
	for i, phase := range blackboard.Phases[:current+1] {
		for _, b := range s.Bids {
			if b.Type != phase.Bid() {
				continue
			}
			state := blackboard.GrantDone
			if i == current {
				state = pick(r, endings...)
			}
			g := randomGrant(r, b.Agent, phase, state, at)
			g.Holder = "holder"
			if state == blackboard.GrantAwaitingAnswer {
				g.ResultID = "question"
			}
			if i < current {
				g.Verdict = blackboard.Approve
			}
			s.Grants = append(s.Grants, g)
			if phase == blackboard.PhaseReview {
				s.Claim.GrantedReviewAgents = append(s.Claim.GrantedReviewAgents, b.Agent)
			}
			if phase == blackboard.PhaseParallel {
				s.Claim.GrantedParallelAgents = append(s.Claim.GrantedParallelAgents, b.Agent)
			}
			if phase == blackboard.PhaseExclusive {
				break
			}
		}
	}
}

func randomGrant(r *rand.Rand, agent string, phase blackboard.Phase, state blackboard.GrantState, at time.Time) blackboard.Grant {
	after := func() time.Time {
		if r.IntN(20) == 0 {
			return time.Time{} // not known
		}
		return at.Add(time.Duration(r.IntN(90)) * time.Second)
	}
	return blackboard.Grant{
		Agent: agent, Phase: phase, State: state, Attempt: 1 + r.IntN(3), Holder: pick(r, "", "holder"), ResultID: pick(r, "", "result-"+agent, "result-"+agent),
		Verdict:  pick(r, blackboard.Approve, blackboard.Approve, blackboard.Feedback, "", "maybe"),
		QueuedAt: after(), StartedAt: after(), EndedAt: after(),
	}
}

// corrupt puts into a claim what no script would.
func corrupt(r *rand.Rand, s *blackboard.Snapshot, all []string) {
	s.Claim.Status = pick(r, append(blackboard.ClaimStatuses, "", "pending")...)
	s.Claim.Origin = pick(r, blackboard.OriginArtefact, blackboard.OriginRework, blackboard.OriginRetry, "")
	s.Claim.Rework = r.IntN(5) == 0
	if len(s.Claim.ExpectedBidders) > 0 && r.IntN(3) == 0 {
		s.Claim.ExpectedBidders = append(s.Claim.ExpectedBidders, s.Claim.ExpectedBidders[0])
	}
	for range r.IntN(3) {
		s.Bids = append(s.Bids, blackboard.Bid{Agent: pick(r, all...), Type: pick(r, append(blackboard.BidTypes, "", "perhaps")...)})
	}
	for _, agent := range subset(r, append(slices.Clip(all), "human:zoe"), 2) {
		s.Grants = append(s.Grants, randomGrant(r, agent,
			pick(r, blackboard.PhaseReview, blackboard.PhaseReview, blackboard.PhaseParallel, blackboard.PhaseExclusive, "phase"),
			pick(r, blackboard.GrantDone, blackboard.GrantDone, blackboard.GrantRunning, blackboard.GrantAwaitingAnswer, blackboard.GrantCancelled, blackboard.GrantFailed, "state"),
			s.Claim.OpenedAt))
		if r.IntN(5) > 0 {
			s.Claim.GrantedReviewAgents = append(s.Claim.GrantedReviewAgents, agent)
			s.Claim.GrantedParallelAgents = append(s.Claim.GrantedParallelAgents, pick(r, agent, agent, "ann"))
		}
	}
	if r.IntN(2) == 0 {
		s.Grants = nil
	}
}

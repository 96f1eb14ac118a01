package orchestrator

import (
	"encoding/json"
	"slices"
	"testing"

	"sett/blackboard"
)

// by is a person's artefact about another one.
func (s *sett) by(who string, st blackboard.StructuralType, about, claim, payload string) blackboard.Artefact {
	s.Helper()
	metadata, err := json.Marshal(map[string]string{"by": who, "request": newID()})
	s.must(err)
	return blackboard.Artefact{ID: newID(), StructuralType: st, Type: string(st), Payload: payload, SourceArtefacts: []string{about},
		ProducedByRole: blackboard.RoleHuman, ClaimID: claim, WorkflowID: s.artefact(about).WorkflowID, Metadata: metadata}
}

// reviews adds a person's review to a claim, and returns its id.
func (s *sett) reviews(who, claim, payload string) string {
	s.Helper()
	r := s.by(who, blackboard.Review, s.snapshot(claim).Claim.ArtefactID, claim, payload)
	s.must(s.board.People.Review(s.Context(), claim, r, who))
	return r.ID
}

// What a person says while agents still bid is heard when they have: also where
// no agent reviews, and whatever else the last bid asks for.
func TestPersonReviewsWhileBidding(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"exclusive", "claim", "ignore", "review"} {
		t.Run(last, func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "maker", "other")
			s.lead(options{})
			g := s.goal("g")
			draft := s.makes(g, "maker")
			c := s.claimOf(draft)
			s.bids(c, "maker ignore")
			against := s.reviews("ann", c, "too long")
			s.passes() // its notice has been looked into: what follows is the last bid's
			s.bids(c, "other "+last)
			want := []string{against}
			if last == "review" { // people's come first
				want = append(want, s.does(c, "other", review, "Review", "me too"))
			}
			got := s.status(c, blackboard.Terminated)
			if _, granted := got.Grant("other"); granted != (last == "review") {
				t.Errorf("grants %+v", got.Grants)
			}
			st := s.starts(blackboard.ReworkClaimID(c), "maker", "h")
			if !slices.Equal(st.Claim.AdditionalContextIDs, want) {
				t.Errorf("the rework has %v, want %v", st.Claim.AdditionalContextIDs, want)
			}
			if next := s.artefact(s.finishes(st, "maker", std, "Draft", "v2")); next.Version != 2 {
				t.Errorf("next version %+v", next)
			}
		})
	}
}

// A person beside the agents counts like one of them, and holds nobody up.
func TestPersonReviewsBesideAgents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ person, agent string }{{"{}", "{}"}, {"no", "{}"}, {"{}", "no"}} {
		t.Run(test.person+test.agent, func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "maker", "critic")
			s.lead(options{})
			c := s.claimOf(s.makes(s.goal("g"), "maker"))
			s.bids(c, "maker exclusive", "critic review")
			st := s.starts(c, "critic", "h")
			person := s.reviews("ann", c, test.person)
			if got := s.snapshot(c); got.Claim.Status != blackboard.PendingReview {
				t.Fatalf("the claim did not wait for the agent: %+v", got.Claim)
			}
			agent := s.finishes(st, "critic", review, "Review", test.agent)
			if test.person == "{}" && test.agent == "{}" {
				s.grant(c, "maker", blackboard.GrantQueued)
				return
			}
			against := person
			if test.agent == "no" {
				against = agent
			}
			s.status(c, blackboard.Terminated)
			if st := s.starts(blackboard.ReworkClaimID(c), "maker", "h"); !slices.Equal(st.Claim.AdditionalContextIDs, []string{against}) {
				t.Errorf("the rework has %v", st.Claim.AdditionalContextIDs)
			}
		})
	}
}

// An approval alone decides nothing: the agents are waited for.
func TestPersonApprovesWhileBidding(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "mute")
	s.lead(options{})
	c := s.claimOf(s.goal("g"))
	s.reviews("ann", c, "{}")
	s.bids(c, "a exclusive")
	if got := s.snapshot(c); got.Claim.Status != blackboard.PendingReview || !slices.Equal(got.Missing(), []string{"mute"}) {
		t.Fatalf("the claim does not wait for the silent agent: %+v", got)
	}
	s.bids(c, "mute ignore")
	s.does(c, "a", blackboard.Terminal, "Done", "x")
	s.status(c, blackboard.Complete)
}

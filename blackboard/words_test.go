package blackboard

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"
)

// Exactly {} and [] approve, white space around them aside.
func TestVerdictOf(t *testing.T) {
	for payload, want := range map[string]Verdict{
		"{}": Approve, "[]": Approve, " \t\r\n{}\n": Approve, "\n[] ": Approve,
		"": Feedback, " ": Feedback, "{ }": Feedback, "[ ]": Feedback, "{}{}": Feedback, "[{}]": Feedback, "null": Feedback,
		`""`: Feedback, "{}x": Feedback, "{": Feedback, `{"a":1}`: Feedback, "looks good": Feedback, "\ufeff{}": Feedback,
		"true": Feedback, "\x00{}": Feedback,
	} {
		if got := VerdictOf(payload); got != want {
			t.Errorf("%q: %s, want %s", payload, got, want)
		}
	}
}

// The JSON form has no nulls and is read back as it was.
func TestArtefactJSON(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	for name, tc := range map[string]struct {
		a    Artefact
		want string
	}{
		"least": {Artefact{}, `{"id":"","logical_id":"","version":0,"structural_type":"","type":"","payload":"",` +
			`"source_artefacts":[],"produced_by_role":"","produced_by_agent":"","claim_id":"","workflow_id":"","summary":"",` +
			`"metadata":{},"created_at":"0001-01-01T00:00:00Z"}`},
		"all": {Artefact{"i", "l", 2, Review, "T", "p\n\"", []string{"s"}, "r", "a", "c", "w", "y", json.RawMessage(`{"k":[1]}`),
			time.Date(2026, 1, 2, 5, 4, 5, 6000, zone), "h", false}, `{"id":"i","logical_id":"l","version":2,"structural_type":"Review","type":"T",` +
			`"payload":"p\n\"","source_artefacts":["s"],"produced_by_role":"r","produced_by_agent":"a","claim_id":"c",` +
			`"workflow_id":"w","summary":"y","metadata":{"k":[1]},"created_at":"2026-01-02T03:04:05.000006Z","commit":"h"}`},
	} {
		got, err := json.Marshal(tc.a)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: got\n%s %v\nwant\n%s", name, got, err, tc.want)
		}
		var back Artefact
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != tc.want {
			t.Errorf("%s read back: %s %v", name, again, err)
		}
	}
	if _, err := json.Marshal(Artefact{Metadata: json.RawMessage("{")}); err == nil {
		t.Error("broken metadata was written")
	}
}

func TestStructuralTypes(t *testing.T) {
	for _, s := range StructuralTypes {
		if !s.Valid() || s.Claimable() != (s == Standard) {
			t.Errorf("%s: valid %v, claimable %v", s, s.Valid(), s.Claimable())
		}
	}
	if StructuralType("").Valid() || StructuralType("standard").Valid() || len(StructuralTypes) != 6 {
		t.Error("there are six, written as they are")
	}
	for role, want := range map[string]bool{"user": true, "human": true, "orchestrator": true, "writer": false, "User": false, "": false} {
		if ReservedRole(role) != want {
			t.Errorf("role %q reserved: %v", role, !want)
		}
	}
}

func TestStatuses(t *testing.T) {
	for i, s := range ClaimStatuses {
		if s.Closed() != (i >= 3) {
			t.Errorf("%s closed: %v", s, s.Closed())
		}
	}
	for s, want := range map[GrantState]bool{
		GrantQueued: false, GrantRunning: false, GrantAwaitingAnswer: false, GrantDone: true, GrantFailed: true, GrantCancelled: true,
	} {
		if s.Ended() != want {
			t.Errorf("grant %s ended: %v", s, !want)
		}
	}
	for s, want := range map[WorkflowStatus]bool{
		WorkflowActive: false, "": false, WorkflowAchieved: true, WorkflowFailed: true, WorkflowStalled: true,
	} {
		if s.Ended() != want {
			t.Errorf("workflow %s ended: %v", s, !want)
		}
	}
}

// Each phase runs in its status and is asked for by its bid, in the order of both.
func TestPhases(t *testing.T) {
	for i, p := range Phases {
		if p.Status() != ClaimStatuses[i] || p.Bid() != BidTypes[i] {
			t.Errorf("%s: %s %s", p, p.Status(), p.Bid())
		}
	}
	for _, b := range BidTypes {
		if !b.Valid() {
			t.Errorf("%s is not valid", b)
		}
	}
	if BidType("").Valid() || BidType("Review").Valid() || BidType("parallel").Valid() {
		t.Error("there are four bids")
	}
}

func TestSnapshot(t *testing.T) {
	s := Snapshot{
		Claim:  Claim{ExpectedBidders: []string{"c", "a", "b"}},
		Bids:   []Bid{{"a", BidIgnore}, {"stranger", BidReview}},
		Grants: []Grant{{Agent: "a", Attempt: 2}, {Agent: "b"}},
	}
	if got := s.Missing(); !slices.Equal(got, []string{"c", "b"}) {
		t.Errorf("missing %v", got)
	}
	if got := (Snapshot{Claim: Claim{ExpectedBidders: []string{"a"}}, Bids: s.Bids}).Missing(); got != nil {
		t.Errorf("nobody is missing: %v", got)
	}
	if !s.HasBid("a") || s.HasBid("c") {
		t.Error("who has bid")
	}
	if g, ok := s.Grant("a"); !ok || g.Attempt != 2 {
		t.Errorf("grant of a: %+v %v", g, ok)
	}
	if g, ok := s.Grant("z"); ok || !reflect.DeepEqual(g, Grant{}) {
		t.Errorf("grant of z: %+v %v", g, ok)
	}
}

// Who wrote something is read from what he signed; unnamed, it is a person all the
// same, and nobody else's metadata makes one.
func TestPersonOf(t *testing.T) {
	for what, tc := range map[string]struct {
		a    Artefact
		want string
	}{
		"signed":         {Artefact{ProducedByRole: RoleHuman, Metadata: SignedBy(`Zoë "Z"`, "r")}, `Zoë "Z"`},
		"without a name": {Artefact{ProducedByRole: RoleHuman, Metadata: json.RawMessage(`{"request":"r"}`)}, RoleHuman},
		"not readable":   {Artefact{ProducedByRole: RoleHuman, Metadata: json.RawMessage(`{"by":7}`)}, RoleHuman},
		"no metadata":    {Artefact{ProducedByRole: RoleHuman}, RoleHuman},
		"an agent":       {Artefact{ProducedByRole: "coder", Metadata: SignedBy("zoe", "r")}, ""},
		"a goal":         {Artefact{ProducedByRole: RoleUser, Metadata: SignedBy("zoe", "r")}, ""},
	} {
		if got := PersonOf(tc.a); got != tc.want {
			t.Errorf("%s: %q, want %q", what, got, tc.want)
		}
	}
	if got, want := string(SignedBy("zoe", "r")), `{"by":"zoe","request":"r"}`; got != want {
		t.Errorf("signed %s, want %s", got, want)
	}
	for agent, want := range map[string]bool{"zoe": true, HumanAgent("zoe"): false} {
		if (Grant{Agent: agent}).OfAgent() != want {
			t.Errorf("the grant of %s: of an agent %v", agent, !want)
		}
	}
}

// A sentence about a budget names its limit, used up or not.
func TestSameBudget(t *testing.T) {
	a := Exceeded{Of: BudgetOfGoal, Unit: "tokens", Limit: "100", Used: "90"}
	b := a
	b.Limit = "200"
	for _, s := range []string{a.String(), a.NoRoom("20")} {
		if !SameBudget(s, a.String()) || SameBudget(s, b.NoRoom("20")) || SameBudget(b.String(), s) {
			t.Errorf("%s", s)
		}
	}
}

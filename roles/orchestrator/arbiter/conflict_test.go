package arbiter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

func TestDecideConflict(t *testing.T) {
	t.Parallel()
	claim := func(s blackboard.ClaimStatus, grants ...blackboard.Grant) *blackboard.Snapshot {
		return &blackboard.Snapshot{Claim: blackboard.Claim{ID: "c", Status: s, Reason: "why"}, Grants: grants}
	}
	rework := func(s blackboard.ClaimStatus) *blackboard.Claim { return &claim(s).Claim }
	feedback := blackboard.Grant{Phase: blackboard.PhaseReview, State: blackboard.GrantDone, Verdict: blackboard.Feedback}
	failed := blackboard.Grant{Phase: blackboard.PhaseExclusive, State: blackboard.GrantFailed}
	for name, c := range map[string]struct {
		f      ConflictFacts
		before []string
		want   ConflictKind
		says   string // the artefact, or a part of the reason
	}{
		"no claim yet":                  {f: ConflictFacts{Later: "l", Latest: "l"}, want: ConflictWait},
		"never a claim":                 {f: ConflictFacts{Refused: true, Later: "l", Latest: "l"}, want: ConflictFail, says: "no claim"},
		"an open claim":                 {f: ConflictFacts{Claim: claim(blackboard.PendingExclusive), Later: "l", Latest: "l2", Commits: true}, want: ConflictWait},
		"settled":                       {f: ConflictFacts{Claim: claim(blackboard.Complete), Settled: "s", Later: "l", Latest: "l"}, want: ConflictGoOn, says: "s"},
		"settled, and reworked besides": {f: ConflictFacts{Claim: claim(blackboard.Complete), Settled: "s", Later: "l", Latest: "l2", Commits: true}, want: ConflictGoOn, says: "s"},
		"settled before, in vain":       {f: ConflictFacts{Claim: claim(blackboard.Complete), Settled: "s", Later: "l", Latest: "l"}, before: []string{"s"}, want: ConflictRework},
		"settled in vain, and reworked": {f: ConflictFacts{Claim: claim(blackboard.Complete), Settled: "s", Later: "l", Latest: "l2", Commits: true}, before: []string{"s"}, want: ConflictGoOn, says: "l2"},
		"nobody settles it":             {f: ConflictFacts{Claim: claim(blackboard.Complete), Later: "l", Latest: "l", Commits: true}, want: ConflictRework},
		"reworked for another reason":   {f: ConflictFacts{Claim: claim(blackboard.Complete), Later: "l", Latest: "l2", Commits: true}, want: ConflictGoOn, says: "l2"},
		"that one has no commit":        {f: ConflictFacts{Claim: claim(blackboard.Complete), Later: "l", Latest: "l2"}, want: ConflictRework},
		"feedback on it":                {f: ConflictFacts{Claim: claim(blackboard.Terminated, feedback), Later: "l", Latest: "l", Commits: true}, want: ConflictRework},
		"feedback and a failure":        {f: ConflictFacts{Claim: claim(blackboard.Terminated, feedback, failed), Later: "l", Latest: "l", Commits: true}, want: ConflictFail, says: "settling failed in claim c (why)"},
		"it fails":                      {f: ConflictFacts{Claim: claim(blackboard.Terminated, failed), Later: "l", Latest: "l", Commits: true}, want: ConflictFail, says: "sett retry"},
		"it is cancelled":               {f: ConflictFacts{Claim: claim(blackboard.Terminated), Later: "l", Latest: "l", Commits: true}, want: ConflictFail},
		"being reworked":                {f: ConflictFacts{Rework: rework(blackboard.PendingExclusive), Later: "l", Latest: "l", Commits: true}, want: ConflictWait},
		"being reworked again":          {f: ConflictFacts{Rework: rework(blackboard.PendingExclusive), Reworked: true, Later: "l", Latest: "l2", Commits: true}, want: ConflictWait},
		"reworked":                      {f: ConflictFacts{Reworked: true, Later: "l", Latest: "l2", Commits: true}, want: ConflictGoOn, says: "l2"},
		"reworked in vain":              {f: ConflictFacts{Reworked: true, Later: "l", Latest: "l2", Commits: true}, before: []string{"l2"}, want: ConflictRework},
		"reworked, and a result":        {f: ConflictFacts{Claim: claim(blackboard.Complete), Settled: "s", Reworked: true, Later: "l", Latest: "l2", Commits: true}, before: []string{"l2"}, want: ConflictRework},
		"reworked without a commit":     {f: ConflictFacts{Reworked: true, Later: "l", Latest: "l2"}, want: ConflictRework},
		"reworked without a version":    {f: ConflictFacts{Rework: rework(blackboard.Complete), Later: "l", Latest: "l", Commits: true}, want: ConflictFail, says: "no new version"},
		"the rework fails":              {f: ConflictFacts{Rework: rework(blackboard.Terminated), Later: "l", Latest: "l", Commits: true}, want: ConflictFail, says: "rework failed"},
	} {
		got := DecideConflict(c.f, c.before)
		if got.Kind != c.want || !strings.Contains(got.Settled+got.Reason, c.says) || (got.Kind == ConflictFail) == (got.Reason == "") {
			t.Errorf("%s: %+v, want %s %q", name, got, c.want, c.says)
		}
	}
}

// naiveConflict decides like DecideConflict, told another way: each sentence of the contract's page "Conflicts" is a rule.
func naiveConflict(f ConflictFacts, before []string) (ConflictKind, string) {
	used := map[string]bool{"": true}
	for _, b := range before {
		used[b] = true
	}
	const none = blackboard.ClaimStatus("none")
	claim, rework := none, none
	fed, bad := false, false
	if f.Claim != nil {
		claim = f.Claim.Claim.Status
		for _, g := range f.Claim.Grants {
			bad = bad || g.State != "done"
			fed = fed || g.Phase == "review" && g.Verdict != "approve"
		}
	}
	if f.Rework != nil {
		rework = f.Rework.Status
	}
	open := func(s blackboard.ClaimStatus) bool { return strings.HasPrefix(string(s), "pending") }
	first := !f.Reworked && rework == none // nobody was sent back yet
	version := f.Later != f.Latest && f.Commits && !used[f.Latest]
	var fails, waits, settles bool
	fails = rework == "terminated" || rework == "complete" ||
		first && (claim == none && f.Refused || claim == "terminated" && (bad || !fed))
	waits = open(rework) || first && !fails && (claim == none || open(claim))
	settles = first && !used[f.Settled]
	switch {
	case fails:
		return ConflictFail, ""
	case waits:
		return ConflictWait, ""
	case settles:
		return ConflictGoOn, f.Settled
	case version:
		return ConflictGoOn, f.Latest
	}
	return ConflictRework, ""
}

// TestConflictAgainstNaive compares the two on random facts.
func TestConflictAgainstNaive(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	kinds := map[ConflictKind]int{}
	for n := range 20_000 {
		f := ConflictFacts{Refused: r.IntN(2) == 0, Settled: pick(r, "", "s"), Later: "l", Latest: pick(r, "l", "l2"), Commits: r.IntN(3) > 0, Reworked: r.IntN(2) == 0}
		if r.IntN(3) > 0 {
			f.Claim = &blackboard.Snapshot{Claim: blackboard.Claim{ID: "c", Status: pick(r, blackboard.ClaimStatuses...)}}
			for i := range r.IntN(3) {
				f.Claim.Grants = append(f.Claim.Grants, randomGrant(r, fmt.Sprint(i), pick(r, blackboard.Phases...),
					pick(r, blackboard.GrantDone, blackboard.GrantDone, blackboard.GrantFailed, blackboard.GrantCancelled), time.Unix(1_900_000_000, 0)))
			}
		}
		if r.IntN(3) == 0 {
			f.Rework = &blackboard.Claim{ID: "r", Status: pick(r, blackboard.ClaimStatuses...)}
		}
		before := subset(r, []string{"s", "l", "l2"}, 2)
		got := DecideConflict(f, before)
		if kind, settled := naiveConflict(f, before); got.Kind != kind || got.Settled != settled {
			t.Fatalf("case %d: %+v (claim %+v, rework %+v) before %v: got %+v, want %s %q", n, f, f.Claim, f.Rework, before, got, kind, settled)
		}
		kinds[got.Kind]++
	}
	for _, kind := range []ConflictKind{ConflictWait, ConflictGoOn, ConflictRework, ConflictFail} {
		if kinds[kind] < 500 {
			t.Errorf("only %d of the cases were decided as %s", kinds[kind], kind)
		}
	}
}

// TestConflictEnds follows conflicts whose later side is reworked again and again, in vain, in all ways: with the same
// commit, without one, with a failure that a person has tried again. Each ends at the limit, and not before.
func TestConflictEnds(t *testing.T) {
	t.Parallel()
	type stop struct {
		reworks int
		kind    string
	}
	// run follows one conflict; ways says for each rework how it ends.
	run := func(limit int, ways []byte) (at stop) {
		f := ConflictFacts{Claim: &blackboard.Snapshot{Claim: blackboard.Claim{Status: blackboard.Complete}}, Later: "v1", Latest: "v1", Commits: true}
		version, before := 1, []string(nil)
		for range 100 {
			d := DecideConflict(f, before)
			switch d.Kind {
			case ConflictGoOn:
				if slices.Contains(before, d.Settled) {
					return stop{at.reworks, "a loop with " + d.Settled}
				}
				before = append(before, d.Settled) // and the commits clash again
			case ConflictFail:
				if f.Rework == nil || f.Rework.Status != blackboard.Terminated {
					return stop{at.reworks, d.Reason}
				}
				f.Rework = &blackboard.Claim{Status: blackboard.PendingExclusive} // a person has it tried again
				ways[at.reworks-1] = 'c'
			case ConflictWait: // the rework is open, and ends
				switch ways[at.reworks-1] {
				case 'f':
					f.Rework.Status = blackboard.Terminated
				default:
					version++
					f.Latest, f.Commits, f.Rework, f.Reworked = fmt.Sprint("v", version), ways[at.reworks-1] == 'c', nil, true
				}
			case ConflictRework:
				back := SendBack(f.Latest, blackboard.Target{Agent: "b", Version: version}, Policy{Clan: []string{"b"}, MaxReviewIterations: limit}, nil, nil)
				if back.Rework == nil {
					return stop{at.reworks, back.FailureType}
				}
				if at.reworks == len(ways) {
					return stop{at.reworks, "still going"}
				}
				at.reworks++
				f.Rework = &blackboard.Claim{Status: blackboard.PendingExclusive}
			}
		}
		return stop{at.reworks, "no end"}
	}
	const most = 5
	for n := range 3 * 3 * 3 * 3 * 3 { // each string of five letters
		ways := make([]byte, most)
		for i, rest := 0, n; i < most; i, rest = i+1, rest/3 {
			ways[i] = "cnf"[rest%3]
		}
		for limit := 1; limit <= most; limit++ {
			if got, want := run(limit, slices.Clone(ways)), (stop{limit, blackboard.TypeReviewLimit}); got != want {
				t.Fatalf("limit %d, reworks %s: %+v, want %+v", limit, ways, got, want)
			}
		}
		if got := run(0, slices.Clone(ways)); got.kind != "still going" {
			t.Fatalf("no limit, reworks %s: %+v", ways, got)
		}
	}
}

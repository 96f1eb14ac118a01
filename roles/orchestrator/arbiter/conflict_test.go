package arbiter

import (
	"strings"
	"testing"

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
		"settled before, in vain":       {f: ConflictFacts{Claim: claim(blackboard.Complete), Settled: "s", Later: "l", Latest: "l"}, before: []string{"s"}, want: ConflictFail, says: "has not"},
		"nobody settles it":             {f: ConflictFacts{Claim: claim(blackboard.Complete), Later: "l", Latest: "l", Commits: true}, want: ConflictRework},
		"reworked for another reason":   {f: ConflictFacts{Claim: claim(blackboard.Complete), Later: "l", Latest: "l2", Commits: true}, want: ConflictGoOn, says: "l2"},
		"that one has no commit":        {f: ConflictFacts{Claim: claim(blackboard.Complete), Later: "l", Latest: "l2"}, want: ConflictRework},
		"feedback on it":                {f: ConflictFacts{Claim: claim(blackboard.Terminated, feedback), Later: "l", Latest: "l", Commits: true}, want: ConflictRework},
		"feedback and a failure":        {f: ConflictFacts{Claim: claim(blackboard.Terminated, feedback, failed), Later: "l", Latest: "l", Commits: true}, want: ConflictFail, says: "settling failed in claim c (why)"},
		"it fails":                      {f: ConflictFacts{Claim: claim(blackboard.Terminated, failed), Later: "l", Latest: "l", Commits: true}, want: ConflictFail, says: "sett retry"},
		"it is cancelled":               {f: ConflictFacts{Claim: claim(blackboard.Terminated), Later: "l", Latest: "l", Commits: true}, want: ConflictFail},
		"being reworked":                {f: ConflictFacts{Rework: rework(blackboard.PendingExclusive), Later: "l", Latest: "l", Commits: true}, want: ConflictWait},
		"reworked":                      {f: ConflictFacts{Rework: rework(blackboard.Complete), Later: "l", Latest: "l2", Commits: true}, want: ConflictGoOn, says: "l2"},
		"reworked without a commit":     {f: ConflictFacts{Rework: rework(blackboard.Complete), Later: "l", Latest: "l2"}, want: ConflictFail, says: "no commit"},
		"the rework fails":              {f: ConflictFacts{Rework: rework(blackboard.Terminated), Later: "l", Latest: "l", Commits: true}, want: ConflictFail, says: "rework failed"},
	} {
		got := DecideConflict(c.f, c.before)
		if got.Kind != c.want || !strings.Contains(got.Settled+got.Reason, c.says) || (got.Kind == ConflictFail) == (got.Reason == "") {
			t.Errorf("%s: %+v, want %s %q", name, got, c.want, c.says)
		}
	}
}

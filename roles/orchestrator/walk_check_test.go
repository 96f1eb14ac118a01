package orchestrator

import (
	"slices"
	"strings"

	"sett/blackboard"
)

// walked is everything there is on the blackboard.
type walked struct {
	goals     []blackboard.Workflow
	artefacts map[string]blackboard.Artefact
	claims    map[string]blackboard.Snapshot
	unclaimed []string
	open      []string // claims
	gates     []string
	questions []string
}

func (w *walker) read() walked {
	w.Helper()
	all := walked{artefacts: map[string]blackboard.Artefact{}, claims: map[string]blackboard.Snapshot{}}
	goals, err := w.board.Index.Goals(w.Context(), 0)
	w.must(err)
	all.goals, err = w.board.Records.Workflows(w.Context(), goals)
	w.must(err)
	list, err := w.board.Records.ListArtefacts(w.Context(), blackboard.Filter{})
	w.must(err)
	for _, a := range list {
		all.artefacts[a.ID] = a
	}
	for _, g := range goals {
		ids, err := w.board.Index.WorkflowClaims(w.Context(), g)
		w.must(err)
		snaps, each, err := w.board.Records.Snapshots(w.Context(), ids)
		w.must(err)
		for i, s := range snaps {
			w.must(each[i])
			all.claims[s.Claim.ID] = s
		}
	}
	work, err := w.board.Index.OpenWork(w.Context())
	w.must(err)
	all.unclaimed, all.open = work.Unclaimed, work.Claims
	all.gates, err = w.board.Index.OpenGates(w.Context())
	w.must(err)
	all.questions, err = w.board.Index.OpenQuestions(w.Context())
	w.must(err)
	return all
}

// check is what must hold after every move.
func (w *walker) check(after string) walked {
	w.Helper()
	all := w.read()
	bad := func(what string, got, want any) { w.Fatalf("%s: %s: %+v, want %+v", after, what, got, want) }
	w.checkClaims(all, bad)
	for _, g := range all.goals {
		checkGoal(all, g, bad)
	}
	w.checkLedger(all, bad)
	for id := range all.artefacts {
		if all.held(id) && slices.Contains(all.unclaimed, id) {
			bad("artefact "+id, "held and to be claimed", "one of them")
		}
	}
	return all
}

// checkClaims: statuses move forward, what is closed has nothing open, and the
// indexes of what is open say what the claims say.
func (w *walker) checkClaims(all walked, bad func(string, any, any)) {
	var open, questions []string
	due, granted := map[string][]string{}, map[string][]string{}
	for id, s := range all.claims {
		was, known := w.claims[id]
		at := func(s blackboard.ClaimStatus) int { return slices.Index(blackboard.ClaimStatuses, s) }
		if known && (at(s.Claim.Status) < at(was) || was.Closed() && s.Claim.Status != was) {
			bad("claim "+id, s.Claim.Status, "no way back from "+string(was))
		}
		w.claims[id] = s.Claim.Status
		exclusive := 0
		for _, g := range s.Grants {
			if g.Phase == blackboard.PhaseExclusive {
				exclusive++
			}
			switch g.State {
			case blackboard.GrantQueued, blackboard.GrantRunning:
				granted[g.Agent] = append(granted[g.Agent], id)
			case blackboard.GrantAwaitingAnswer:
				questions = append(questions, g.ResultID)
			}
			if s.Claim.Status.Closed() && !g.State.Ended() {
				bad("grant of a closed claim", g, "its end")
			}
		}
		if exclusive > 1 {
			bad("claim "+id, exclusive, "one exclusive grant")
		}
		if of := s.Claim.RetryOf; of != "" && all.claims[of].Claim.RetriedAs != id {
			bad("claim "+of, all.claims[of].Claim.RetriedAs, id)
		}
		if of := all.claims[s.Claim.RetryOf]; all.heeded(of) {
			bad("claim "+of.Claim.ID, of, "no retry "+id+", after feedback")
		}
		if s.Claim.Status.Closed() {
			continue
		}
		open = append(open, id)
		if s.Claim.Status == blackboard.PendingReview {
			for _, a := range s.Missing() {
				due[a] = append(due[a], id)
			}
		}
	}
	same("open claims", all.open, open, bad)
	same("open questions", all.questions, questions, bad)
	for _, a := range w.cfg.Agents {
		work, err := w.board.Index.OpenAgentWork(w.Context(), a.Name)
		w.must(err)
		same("bids due of "+a.Name, work.Due, due[a.Name], bad)
		same("grants of "+a.Name, work.Grants, granted[a.Name], bad)
	}
}

// checkLedger: the entry of the move after which a goal waits for people alone says
// so, and no other does.
func (w *walker) checkLedger(all walked, bad func(string, any, any)) {
	events, err := w.board.Ledger.History(w.Context(), w.seen, 1000)
	w.must(err)
	latest := map[string]blackboard.Event{}
	for _, e := range events {
		latest[e.Workflow], w.seen = e, e.ID
	}
	for _, g := range all.goals {
		e := latest[g.ID]
		if e.OnlyPeople() && !g.OnlyPeople() || g.OnlyPeople() && !w.people[g.ID] && !e.OnlyPeople() {
			bad("entry of goal "+g.ID, e, g)
		}
		w.people[g.ID] = g.OnlyPeople()
	}
}

// heeded says whether feedback ended a claim for good: there is a rework for it, or
// nobody to do one.
func (all walked) heeded(s blackboard.Snapshot) bool {
	_, reworked := all.claims[blackboard.ReworkClaimID(s.Claim.ID)]
	return reworked || s.Claim.Target.Agent == "" && slices.ContainsFunc(s.Grants, against) && !slices.ContainsFunc(s.Grants, undone)
}

// against says whether a grant is a Review that did not approve.
func against(g blackboard.Grant) bool {
	return g.Phase == blackboard.PhaseReview && g.State == blackboard.GrantDone && g.Verdict != blackboard.Approve
}

func undone(g blackboard.Grant) bool { return g.State != blackboard.GrantDone }

func same(what string, got, want []string, bad func(string, any, any)) {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		bad(what, got, want)
	}
}

// gated says whether an artefact is of those that a person has to approve.
func gated(a blackboard.Artefact) bool {
	return strings.HasPrefix(a.Type, "Held") && (a.StructuralType == std || a.StructuralType == blackboard.Terminal)
}

// held says whether it waits for that.
func (all walked) held(id string) bool { return slices.Contains(all.gates, id) }

// checkGoal: its account is the sum of what there is of it.
func checkGoal(all walked, g blackboard.Workflow, bad func(string, any, any)) {
	want := blackboard.Workflow{ID: g.ID, Status: blackboard.WorkflowActive, By: g.By, CreatedAt: g.CreatedAt, EndedAt: g.EndedAt}
	var failures, terminals []string
	cancelled := false
	for id, a := range all.artefacts {
		if a.WorkflowID != g.ID {
			continue
		}
		want.Artefacts++
		if slices.Contains(all.unclaimed, id) {
			want.Outstanding++
		}
		decided, reviewed := all.artefacts[blackboard.GateReviewID(id)]
		if all.held(id) {
			want.Gates++
			want.Outstanding++
			want.Suspended++
			if !gated(a) || reviewed {
				bad("what is held", a, "something undecided that has to be approved")
			}
		}
		if slices.Contains(all.questions, id) {
			want.Questions++
		}
		switch {
		case a.StructuralType == blackboard.Failure && (a.ClaimID == "" || all.claims[a.ClaimID].Claim.RetriedAs == ""):
			failures = append(failures, id)
			cancelled = cancelled || a.Type == blackboard.TypeCancelled && a.ClaimID == ""
		case a.StructuralType == blackboard.Terminal && (!gated(a) || reviewed && decided.Payload == "{}"):
			terminals = append(terminals, id)
		}
	}
	for _, s := range all.claims {
		if s.Claim.WorkflowID != g.ID {
			continue
		}
		want.Claims++
		if !s.Claim.Status.Closed() {
			want.Outstanding++
		}
		if s.Suspended() {
			want.Suspended++
		}
	}
	want.Failures, want.Terminals = len(failures), len(terminals)
	want.FailureID, want.TerminalID = g.FailureID, g.TerminalID
	if (g.FailureID == "") != (len(failures) == 0) || g.FailureID != "" && !slices.Contains(failures, g.FailureID) {
		bad("failure of goal "+g.ID, g.FailureID, failures)
	}
	if (g.TerminalID == "") != (len(terminals) == 0) || g.TerminalID != "" && !slices.Contains(terminals, g.TerminalID) {
		bad("terminal of goal "+g.ID, g.TerminalID, terminals)
	}
	switch {
	case want.Outstanding > 0:
	case want.Failures > 0:
		want.Status = blackboard.WorkflowFailed
	case want.Terminals > 0:
		want.Status = blackboard.WorkflowAchieved
	default:
		want.Status = blackboard.WorkflowStalled
	}
	if g != want || want.Status.Ended() == g.EndedAt.IsZero() || cancelled && want.Outstanding > 0 {
		bad("goal", g, want)
	}
	if got := peopleOnly(all, g); got != g.OnlyPeople() {
		bad("goal waits for people alone", g, got)
	}
}

// peopleOnly says by every grant of a goal whether it waits for people alone: the
// counts have to say the same.
func peopleOnly(all walked, g blackboard.Workflow) bool {
	open := g.Gates
	for _, c := range all.claims {
		if c.Claim.WorkflowID != g.ID || c.Claim.Status.Closed() {
			continue
		}
		open++
		if slices.ContainsFunc(c.Grants, func(g blackboard.Grant) bool {
			return g.State == blackboard.GrantQueued || g.State == blackboard.GrantRunning && g.WaitsFor != "model" || g.State == blackboard.GrantFailed
		}) || !slices.ContainsFunc(c.Grants, func(g blackboard.Grant) bool {
			return g.State == blackboard.GrantAwaitingAnswer || g.WaitsFor == "model"
		}) {
			return false
		}
	}
	return !g.Status.Ended() && g.Outstanding > 0 && g.Outstanding == open
}

// drain has everybody do what is left to do, until nothing is.
func (w *walker) drain() {
	w.Helper()
	for round := range 200 {
		all := w.check("in the end")
		if !slices.ContainsFunc(all.goals, func(g blackboard.Workflow) bool { return !g.Status.Ended() }) {
			return
		}
		for _, id := range all.unclaimed {
			w.must(w.l.look(w.Context(), key{artefactKey, id}))
		}
		for _, id := range all.gates {
			w.approves("ann", id)
		}
		for _, id := range all.questions {
			w.answers(id, "so")
		}
		for _, id := range all.open {
			w.finishClaim(id)
			w.must(w.l.look(w.Context(), key{claimKey, id}))
		}
		if round == 199 {
			w.Fatalf("it does not end: %+v", all)
		}
	}
}

// finishClaim has agents do what a claim waits for.
func (w *walker) finishClaim(id string) {
	w.Helper()
	s := w.snapshot(id)
	if s.Claim.Status == blackboard.PendingReview {
		for _, a := range s.Missing() {
			w.bids(id, a+" ignore")
		}
	}
	for _, g := range s.Grants {
		if g.State == blackboard.GrantQueued {
			st := w.starts(id, g.Agent, "h")
			g.State, g.Attempt, g.Holder = blackboard.GrantRunning, st.Grant.Attempt, "h"
		}
		if g.State != blackboard.GrantRunning {
			continue
		}
		r := w.result(s, g, blackboard.Terminal)
		if g.Phase == blackboard.PhaseReview {
			r = w.result(s, g, review)
			r.Artefact.Payload, r.Verdict = "{}", blackboard.Approve
		}
		w.must(w.board.Cub.Finish(w.Context(), r))
	}
}

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/role/store"
)

// outcome is how a goal ended, with every id replaced by what it stands for, as
// sorted lines: two runs that did the same have the same.
func (in *instance) outcome(goal string) string {
	in.t.Helper()
	o, err := in.readOutcome(goal)
	if err != nil {
		in.t.Fatalf("read outcome: %v", err)
	}
	return o
}

func (in *instance) readOutcome(goal string) (string, error) {
	ctx := context.Background()
	w, err := in.board.Records.Workflow(ctx, goal)
	if err != nil {
		return "", err
	}
	artefacts, err := in.artefacts(goal)
	if err != nil {
		return "", err
	}
	names := namesOf(artefacts)
	name := func(id string) string {
		if n, ok := names[id]; ok || id == "" {
			return n
		}
		return "UNKNOWN " + id
	}
	all := func(ids []string) string {
		var out []string
		for _, id := range ids {
			out = append(out, name(id))
		}
		slices.Sort(out)
		return strings.Join(out, ",")
	}
	lines := []string{fmt.Sprintf("workflow %s outstanding=%d artefacts=%d claims=%d failures=%d terminals=%d questions=%d terminal=%s failure=%s",
		w.Status, w.Outstanding, w.Artefacts, w.Claims, w.Failures, w.Terminals, w.Questions, name(w.TerminalID), name(w.FailureID))}
	for _, a := range artefacts {
		switch {
		case a.Commit != "" && a.Payload == a.Commit:
			a.Payload = in.history(a)
		case a.Commit != "":
			a.Payload += "\n" + in.history(a)
		}
		lines = append(lines, fmt.Sprintf("artefact %s structural=%s payload=%q summary=%q role=%s thread=%s sources=%s", name(a.ID),
			a.StructuralType, a.Payload, a.Summary, a.ProducedByRole, name(a.LogicalID), all(a.SourceArtefacts)))
	}
	ids, err := in.board.Index.WorkflowClaims(ctx, goal)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		s, err := in.board.Records.Snapshot(ctx, id)
		if err != nil {
			return "", err
		}
		lines = append(lines, claimLines(s, name, all)...)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// history is what the commit of an artefact and those below it hold, without their times
// and ids. The store holds it for the artefact.
func (in *instance) history(a blackboard.Artefact) string {
	in.t.Helper()
	if held := in.stored("rev-parse", store.Artefact(a.ID)); strings.TrimSpace(held) != a.Commit {
		in.t.Errorf("the store holds %s for artefact %s, want %s", held, a.ID, a.Commit)
	}
	return in.stored("log", "--format=%T %an %s", a.Commit)
}

func claimLines(s blackboard.Snapshot, name func(string) string, all func([]string) string) []string {
	c := s.Claim
	head := fmt.Sprintf("claim on %s origin=%s", name(c.ArtefactID), c.Origin)
	review, parallel := slices.Sorted(slices.Values(c.GrantedReviewAgents)), slices.Sorted(slices.Values(c.GrantedParallelAgents))
	lines := []string{fmt.Sprintf("%s status=%s reason=%q review=%v parallel=%v exclusive=%s context=%s", head,
		c.Status, c.Reason, review, parallel, c.GrantedExclusiveAgent, all(c.AdditionalContextIDs))}
	for _, b := range s.Bids {
		lines = append(lines, fmt.Sprintf("%s bid %s=%s", head, b.Agent, b.Type))
	}
	for _, g := range s.Grants {
		lines = append(lines, fmt.Sprintf("%s grant %s=%s phase=%s verdict=%s result=%s", head, g.Agent, g.State, g.Phase, g.Verdict, name(g.ResultID)))
	}
	return lines
}

func (in *instance) artefacts(goal string) ([]blackboard.Artefact, error) {
	ctx := context.Background()
	return in.board.Records.ListArtefacts(ctx, blackboard.Filter{Workflow: goal})
}

// namesOf gives every artefact its place in the graph as a name. A review is named
// after what it reviews, since it begins a thread of its own.
func namesOf(artefacts []blackboard.Artefact) map[string]string {
	byID := map[string]blackboard.Artefact{}
	for _, a := range artefacts {
		byID[a.ID] = a
	}
	names := map[string]string{}
	for _, a := range artefacts {
		n := fmt.Sprintf("%s/v%d by %s", a.Type, a.Version, a.ProducedByAgent)
		if len(a.SourceArtefacts) > 0 {
			target := byID[a.SourceArtefacts[0]]
			n += fmt.Sprintf(" from %s/v%d", target.Type, target.Version)
		}
		names[a.ID] = n
	}
	return names
}

// atRest checks what must hold when nothing is under way any more.
func (in *instance) atRest() {
	in.t.Helper()
	in.quietly(func(format string, args ...any) { in.t.Errorf(format, args...) })
}

func (in *instance) quietly(complain func(string, ...any)) {
	ctx := context.Background()
	w, err := in.board.Index.OpenWork(ctx)
	if err != nil || len(w.Claims)+len(w.Unclaimed) > 0 {
		complain("open work left: %+v %v", w, err)
	}
	questions, err := in.board.Index.OpenQuestions(ctx)
	gates, err2 := in.board.Index.OpenGates(ctx)
	if err := errors.Join(err, err2); err != nil || len(questions)+len(gates) > 0 {
		complain("questions %v and gates %v left open: %v", questions, gates, err)
	}
	active, err := in.board.Index.ActiveWorkflows(ctx)
	if err != nil || len(active) > 0 {
		complain("active workflows left: %v %v", active, err)
	}
	running, err := in.board.Roster.Running(ctx)
	if err != nil || len(running) > 0 {
		complain("grants run: %v %v", running, err)
	}
	present, err := in.board.Roster.Agents(ctx)
	if err != nil {
		complain("agents: %v", err)
	}
	for name := range present {
		work, err := in.board.Index.OpenAgentWork(ctx, name)
		if err != nil || len(work.Due)+len(work.Grants) > 0 {
			complain("work of %s left: %+v %v", name, work, err)
		}
	}
	in.ledgerHolds(complain)
}

// ledgerHolds checks the ledger for what may happen only once: an artefact is
// written once, every claimable artefact has one bidding claim, every claim ends
// once, every phase is granted once and after the one before it.
func (in *instance) ledgerHolds(complain func(string, ...any)) {
	ctx := context.Background()
	written, opened, ended := map[string]int{}, map[string]int{}, map[string]int{}
	phase := map[string]int{}
	order := map[string]int{"review": 1, "parallel": 2, "exclusive": 3}
	for after := "0-0"; ; {
		events, err := in.board.Ledger.History(ctx, after, 500)
		if err != nil {
			complain("read ledger: %v", err)
			return
		}
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			switch e.Kind {
			case blackboard.EventGoal, blackboard.EventResult, blackboard.EventAnswer:
				written[e.Artefact]++
			case blackboard.EventOpen:
				opened[e.Artefact]++
			case blackboard.EventComplete, blackboard.EventTerminate:
				ended[e.Claim]++
			case blackboard.EventGrant:
				if order[e.Phase] <= phase[e.Claim] {
					complain("claim %s: phase %s granted after %d", e.Claim, e.Phase, phase[e.Claim])
				}
				phase[e.Claim] = order[e.Phase]
			default:
			}
		}
		after = events[len(events)-1].ID
	}
	for what, counts := range map[string]map[string]int{"artefact written": written, "bidding claim opened on": opened, "claim ended": ended} {
		for id, n := range counts {
			if n != 1 {
				complain("%s %s %d times", what, id, n)
			}
		}
	}
}

// diff lists the lines that only one of both has.
func diff(want, got string) string {
	left := map[string]int{}
	for line := range strings.Lines(want) {
		left[strings.TrimRight(line, "\n")]++
	}
	var out []string
	for line := range strings.Lines(got) {
		line = strings.TrimRight(line, "\n")
		if left[line]--; left[line] < 0 {
			out = append(out, "got  "+line)
		}
	}
	for line, n := range left {
		for ; n > 0; n-- {
			out = append(out, "want "+line)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

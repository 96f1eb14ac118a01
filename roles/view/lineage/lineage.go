package lineage

import (
	"context"

	"sett/blackboard"
	"sett/roles/view"
)

// lineage is all artefacts and claims of one goal, as read at one time, with the sources
// and the claim of each artefact. The cost of reading grows with this goal only, not with
// other goals on the blackboard.
type lineage struct {
	workflow  blackboard.Workflow
	ids       []string // of the artefacts, oldest first
	artefacts map[string]*blackboard.Outline
	broken    map[string]error // artefacts that are missing or corrupt
	claims    map[string]blackboard.Claim
	unread    map[string]error    // claims with a corrupt record
	on        map[string][]string // artefact to the claims on it, oldest first
	held      map[string]bool     // artefacts that wait for approval
}

// claimPage is the number of claims read in one round trip.
const claimPage = 200

// readLineage reads a goal's lineage, without payloads.
func readLineage(ctx context.Context, b view.Board, goal string) (*lineage, error) {
	l := &lineage{artefacts: map[string]*blackboard.Outline{}, broken: map[string]error{}, claims: map[string]blackboard.Claim{},
		unread: map[string]error{}, on: map[string][]string{}, held: map[string]bool{}}
	var err error
	if l.workflow, err = b.Workflow(ctx, goal); err != nil {
		return nil, err
	}
	if l.ids, err = b.WorkflowArtefacts(ctx, goal); err != nil {
		return nil, err
	}
	if err := l.readArtefacts(ctx, b, l.ids); err != nil {
		return nil, err
	}
	if err := l.readStrangers(ctx, b); err != nil {
		return nil, err
	}
	if err := l.readClaims(ctx, b, goal); err != nil {
		return nil, err
	}
	if l.workflow.Gates == 0 {
		return l, nil
	}
	held, err := b.OpenGates(ctx)
	for _, id := range held {
		l.held[id] = true
	}
	return l, err
}

func (l *lineage) readArtefacts(ctx context.Context, b view.Board, ids []string) error {
	all, each, err := b.Outlines(ctx, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if each[i] != nil {
			l.broken[id] = each[i]
			continue
		}
		l.artefacts[id] = &all[i]
	}
	return nil
}

// readStrangers reads the sources that belong to other goals: a tool's result may name
// any artefact as a source.
func (l *lineage) readStrangers(ctx context.Context, b view.Board) error {
	seen := map[string]bool{}
	for _, id := range l.ids {
		seen[id] = true
	}
	var strangers []string
	for _, id := range l.ids {
		if a := l.artefacts[id]; a != nil {
			for _, source := range a.SourceArtefacts {
				if !seen[source] {
					seen[source] = true
					strangers = append(strangers, source)
				}
			}
		}
	}
	l.ids = append(strangers, l.ids...)
	return l.readArtefacts(ctx, b, strangers)
}

func (l *lineage) readClaims(ctx context.Context, b view.Board, goal string) error {
	ids, err := b.WorkflowClaims(ctx, goal)
	if err != nil {
		return err
	}
	for from := 0; from < len(ids); from += claimPage {
		all, each, err := b.TryClaims(ctx, ids[from:min(from+claimPage, len(ids))])
		if err != nil {
			return err
		}
		for i, c := range all {
			if each[i] != nil {
				l.unread[ids[from+i]] = each[i]
				continue
			}
			l.claims[c.ID] = c
			l.on[c.ArtefactID] = append(l.on[c.ArtefactID], c.ID)
		}
	}
	return nil
}

// readTexts reads the payloads of at most so many bytes. The others stay empty.
func (l *lineage) readTexts(ctx context.Context, b view.Board, ids []string, most int) error {
	var all []*blackboard.Outline
	for _, id := range ids {
		if a := l.artefacts[id]; a != nil && a.Payload == "" {
			all = append(all, a)
		}
	}
	return b.ReadPayloads(ctx, all, most)
}

// readVerdicts returns the verdicts of the Reviews. If a Review's payload was too long to
// read, its verdict comes from the grant that made it.
func (l *lineage) readVerdicts(ctx context.Context, b view.Board, ids []string) (map[string]blackboard.Verdict, error) {
	verdicts, claims := map[string]blackboard.Verdict{}, map[string]bool{}
	var wanted []string
	for _, id := range ids {
		a := l.artefacts[id]
		if a == nil || a.StructuralType != blackboard.Review {
			continue
		}
		verdicts[id] = blackboard.VerdictOf(a.Payload)
		if len(a.Payload) < a.PayloadSize && a.ClaimID != "" && !claims[a.ClaimID] {
			claims[a.ClaimID] = true
			wanted = append(wanted, a.ClaimID)
		}
	}
	all, _, err := b.Snapshots(ctx, wanted)
	for _, c := range all {
		for _, g := range c.Grants {
			if _, ok := verdicts[g.ResultID]; ok && g.Verdict != "" {
				verdicts[g.ResultID] = g.Verdict
			}
		}
	}
	return verdicts, err
}

// target returns the artefact of the claim that an artefact was made under.
func (l *lineage) target(a *blackboard.Outline) string { return l.claims[a.ClaimID].ArtefactID }

// The states of an artefact, beside the status of its goal or claim.
const (
	StateHeld     = view.GateHeld // for a person's approval
	StateReworked = "reworked"    // there is a next version
	StateRetried  = "retried"     // the claim of a Failure
	StateOpen     = "open"        // a Question without an Answer
	StateAnswered = "answered"
	StateClosed   = "closed" // a Question without an Answer in a closed claim
)

// status returns the state of an artefact: of its goal, of its Question or Failure, or of
// the claims on it. Empty: it has none.
func (l *lineage) status(a *blackboard.Outline, answered map[string]bool) string {
	claims := l.on[a.ID]
	made := l.claims[a.ClaimID]
	for a.StructuralType == blackboard.Question && a.ProducedByAgent == "" && made.RetriedAs != "" {
		made = l.claims[made.RetriedAs] // a retry of a rework repeats the orchestrator's Question
	}
	switch {
	case a.ID == l.workflow.ID:
		return string(l.workflow.Status)
	case l.held[a.ID]:
		return StateHeld
	case a.StructuralType == blackboard.Question && answered[a.ID]:
		return StateAnswered
	case a.StructuralType == blackboard.Question && made.Status.Closed():
		return StateClosed
	case a.StructuralType == blackboard.Question:
		return StateOpen
	case a.StructuralType == blackboard.Failure && (made.RetriedAs != "" || l.workflow.HasRetried(a.ID)):
		return StateRetried
	}
	status := ""
	for _, id := range claims {
		c := l.claims[id]
		if c.Rework && c.Status == blackboard.Complete {
			return StateReworked
		}
		if !c.Rework || !c.Status.Closed() { // the next version shows the end of a rework
			status = string(c.Status)
		}
	}
	return status
}

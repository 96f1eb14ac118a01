package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/roles/view/lineage"
)

// mostPatch is how much of a commit's patch a report shows, in bytes.
const mostPatch = 256 << 10

// Read reads the report of a goal. Records and commits that cannot be read are named in
// Lacks. ErrNotFound: there is no such goal.
func Read(ctx context.Context, from Sources, goal string) (*Report, error) {
	h, err := lineage.ReadHistory(ctx, from.Board, from.Ledger, goal)
	if err != nil {
		return nil, err
	}
	r := &Report{Kind: "report", Sett: from.Sett, Instance: from.Instance, Steps: h.Steps, Graph: h.Graph,
		Artefacts: []Artefact{}, Timeline: []Stretch{}, People: []Deed{}, Commits: []Commit{}, Ran: []Ran{}, Ledger: []Entry{}, Lacks: []string{}}
	w := h.Workflow
	r.Goal = Goal{workflow: w, ID: goal, Status: w.Status, Began: w.CreatedAt.UTC(), Ended: w.EndedAt.UTC(), Seconds: view.Seconds(w.CreatedAt, w.EndedAt)}
	if w.EndedAt.IsZero() {
		r.Goal.Ended = w.EndedAt
	}
	if w.EndedAt.IsZero() && from.Now != nil {
		now, err := from.Now(ctx)
		if err != nil {
			return nil, err
		}
		r.Goal.AsOf = now.UTC()
	}
	r.artefacts(h)
	for _, err := range h.Broken {
		r.Lacks = append(r.Lacks, role.Clean(err.Error()))
	}
	r.outcome(w)
	r.stretches(h)
	if from.wants("ledger", "people", "ran") {
		r.entries(h)
	}
	if from.wants("commits", "lacks") {
		if err := r.commits(ctx, from, h); err != nil {
			return nil, err
		}
	}
	if from.wants("models") {
		s, err := from.Spending(ctx, goal)
		if err != nil {
			return nil, err
		}
		r.Models = view.SpentOf(s.Total())
	}
	return r, nil
}

// artefacts takes the artefacts, and the goal's text and base.
func (r *Report) artefacts(h *lineage.History) {
	sums := map[string]string{}
	for _, e := range h.Events {
		id := cmp.Or(e.Attributes[blackboard.AttributeResult], e.Artefact)
		if sum := e.Attributes["sha256"]; sum != "" && sums[id] == "" {
			sums[id] = sum
		}
	}
	for i := range h.Outlines {
		o := &h.Outlines[i]
		a := Artefact{Brief: view.BriefOf(o), SHA256: sums[o.ID], Excerpt: excerpt(o), Gate: h.Gates[o.ID]}
		a.CreatedAt = a.CreatedAt.UTC()
		r.Artefacts = append(r.Artefacts, a)
		if o.Altered {
			r.Lacks = append(r.Lacks, fmt.Sprintf("artefact %s as it was: it is %s", o.ID, view.AlteredMark))
		}
		if o.ID != r.Goal.ID {
			continue
		}
		if r.Goal.Text = view.Whole(&o.Artefact, role.CleanText(o.Payload)); o.Payload == "" {
			r.Goal.Text = a.Excerpt
		}
		var meta struct{ Base, Branch string }
		if json.Unmarshal(o.Metadata, &meta) == nil {
			r.Goal.Base, r.Goal.Branch = role.Clean(meta.Base), role.Clean(meta.Branch)
		}
	}
}

// excerpt is the beginning of a payload. One that is too large to be read is named.
func excerpt(o *blackboard.Outline) string {
	if o.Payload == "" && o.PayloadSize > 0 {
		return fmt.Sprintf("%s: sett unearth %s", words.Size(o.PayloadSize), words.Short(o.ID))
	}
	return view.Excerpt(o.Artefact)
}

// outcome finds the goal's final result or Failure.
func (r *Report) outcome(w blackboard.Workflow) {
	id := w.TerminalID
	if w.Status == blackboard.WorkflowFailed {
		id = w.FailureID
	}
	if i := slices.IndexFunc(r.Artefacts, func(a Artefact) bool { return a.ID == id }); id != "" && i >= 0 {
		r.Outcome = &r.Artefacts[i]
	}
}

// entries takes the ledger, the words of people, and the images and programs that ran.
func (r *Report) entries(h *lineage.History) {
	texts := map[string]*blackboard.Artefact{}
	for i := range h.Outlines {
		texts[h.Outlines[i].ID] = &h.Outlines[i].Artefact
	}
	for _, e := range h.Events {
		line := view.Describe(e, texts[view.About(e)])
		r.Ledger = append(r.Ledger, Entry{e.ID, e.Time.UTC(), e.Kind, line.Agent, line.What, line.As})
		if by := e.Attributes[blackboard.AttributeBy]; by != "" || e.Kind == blackboard.EventGoal {
			r.People = append(r.People, Deed{e.Time.UTC(), role.Clean(cmp.Or(by, blackboard.RoleUser)), e.Kind, line.What, cmp.Or(e.Attributes[blackboard.AttributeResult], e.Artefact)})
		}
		if e.Kind == blackboard.EventStart {
			r.ran(e)
		}
	}
	slices.SortStableFunc(r.Ran, func(a, b Ran) int { return cmp.Compare(a.Agent, b.Agent) })
}

// ran counts a start.
func (r *Report) ran(e blackboard.Event) {
	with := e.Ran()
	i := slices.IndexFunc(r.Ran, func(x Ran) bool { return x.Agent == e.Agent && x.Ran == with })
	if i < 0 {
		i = len(r.Ran)
		r.Ran = append(r.Ran, Ran{Agent: role.Clean(e.Agent), Ran: with})
	}
	r.Ran[i].Times++
}

// commits reads the commits that artefacts name.
func (r *Report) commits(ctx context.Context, from Sources, h *lineage.History) error {
	for i := range h.Outlines {
		a := h.Outlines[i].Artefact
		hash := a.CommitHash()
		if hash == "" {
			continue
		}
		c := Commit{Hash: role.Clean(hash), Files: []File{}}
		if from.Commits == nil {
			r.Lacks = append(r.Lacks, fmt.Sprintf("the diff of commit %s: no store of git objects is at hand", c.Hash))
		} else if read, err := from.Commits(ctx, a); err == nil {
			c = read
		} else if ctx.Err() != nil {
			return ctx.Err()
		} else {
			r.Lacks = append(r.Lacks, fmt.Sprintf("the diff of commit %s: %s", c.Hash, role.Clean(err.Error())))
		}
		c.ArtefactID = a.ID
		if len(c.Patch) > mostPatch {
			c.Patch, c.Cut = c.Patch[:mostPatch], true
		}
		c.Patch = role.CleanText(c.Patch)
		r.Commits = append(r.Commits, c)
	}
	return nil
}

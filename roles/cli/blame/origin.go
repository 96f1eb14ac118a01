package blame

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/view"
)

// The writers of lines.
const (
	Agent  = "agent"
	Person = "person"
	Nobody = "uncommitted" // the line is not committed yet
)

// Origin is a commit, and the artefact that brought it.
type Origin struct {
	Commit  string    `json:"commit"` // empty: the lines are not committed
	By      string    `json:"by"`     // agent, person or uncommitted
	Author  string    `json:"author,omitempty"`
	Date    time.Time `json:"date,omitzero"`
	Subject string    `json:"subject,omitempty"`

	// Of an agent's:
	Known     string       `json:"known_by,omitempty"` // commit, history, message or patch
	Artefact  *view.Meta   `json:"artefact,omitempty"`
	Reviewers []Reviewer   `json:"reviewers,omitempty"` // in the order of their verdicts
	Goal      string       `json:"goal,omitempty"`      // its text
	Models    []view.Spent `json:"models,omitempty"`    // calls of models that made the artefact
}

// Reviewer is an agent or a person with a verdict on the artefact.
type Reviewer struct {
	By      string             `json:"by"`
	Verdict blackboard.Verdict `json:"verdict"`
	Review  string             `json:"review_id"`
	Says    string             `json:"says,omitempty"`
}

// Sources are the places that a blame is read from.
type Sources struct {
	Reader  view.Reader
	Store   *store.Store
	Commits git.Repository // those of the store and of the user
	User    git.Repository
	At      string // the commit that has the file; empty: the working tree of User
}

// Read reads the origins of the lines from first to last (0: all) of a file, by its path: on
// this machine, or in the commit that has it.
func Read(ctx context.Context, from Sources, path string, first, last int) (*Blame, error) {
	lines, commits, err := read(ctx, from, path, first, last)
	if err != nil {
		return nil, err
	}
	find, err := newFinder(ctx, from.Store, from.Commits, from.User, from.Reader.Artefacts)
	if err != nil {
		return nil, err
	}
	within := path
	if from.At == "" {
		top, err := from.User.Run(ctx, "rev-parse", "--show-toplevel")
		if err != nil {
			return nil, err
		}
		if within, err = filepath.Rel(strings.TrimSpace(top), path); err != nil {
			within = filepath.Base(path)
		}
	}
	b := &Blame{Lines: lines, Origins: []*Origin{}}
	for _, c := range commits {
		o := &Origin{Commit: written(c.hash), By: Person, Author: c.author, Date: c.date, Subject: c.subject}
		if o.Commit == "" {
			b.Origins = append(b.Origins, &Origin{By: Nobody})
			continue
		}
		id, by, err := find.find(ctx, c.hash, filepath.ToSlash(within))
		if err != nil {
			return nil, err
		}
		if id != "" {
			if err := o.describe(ctx, from.Reader, id, by); err != nil {
				return nil, err
			}
		}
		b.Origins = append(b.Origins, o)
	}
	return b, nil
}

// describe adds the artefact, its reviewers and its goal.
func (o *Origin) describe(ctx context.Context, r view.Reader, id, by string) error {
	a, err := r.Artefact(ctx, id)
	if errors.Is(err, blackboard.ErrNotFound) {
		return nil // of a ledger that is gone
	}
	if err != nil {
		return err
	}
	detail, err := r.ArtefactDetail(ctx, a)
	if err != nil {
		return err
	}
	o.By, o.Known, o.Artefact, o.Models = Agent, by, &detail.Artefact, view.ModelsOf(a)
	if g := detail.Gate; g != nil && g.ReviewID != "" {
		verdict := blackboard.Approve
		if g.State == view.GateRejected {
			verdict = blackboard.Feedback
		}
		o.Reviewers = append(o.Reviewers, Reviewer{g.By, verdict, g.ReviewID, g.Says})
	}
	if detail.Claim != nil {
		for _, g := range detail.Claim.Grants {
			known := slices.ContainsFunc(o.Reviewers, func(r Reviewer) bool { return r.Review == g.ResultID })
			if g.Verdict != "" && !known {
				who := g.Agent
				if g.By != "" {
					who = g.By
				}
				o.Reviewers = append(o.Reviewers, Reviewer{who, g.Verdict, g.ResultID, g.Says})
			}
		}
	}
	texts, each, err := r.GoalTexts(ctx, []string{a.WorkflowID}, false)
	if err != nil {
		return err
	}
	if each[0] == nil {
		o.Goal = texts[0]
	}
	return nil
}

// Of returns the origin of a line.
func (b *Blame) Of(l Line) *Origin {
	i := slices.IndexFunc(b.Origins, func(o *Origin) bool { return o.Commit == l.Commit })
	return b.Origins[i]
}

// Who names the writer for people.
func (o *Origin) Who() string {
	switch o.By {
	case Nobody:
		return "you"
	case Agent:
		if o.Artefact.ProducedByAgent != "" {
			return role.Clean(o.Artefact.ProducedByAgent)
		}
		return role.Clean(o.Artefact.ProducedByRole)
	}
	return role.Clean(o.Author)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// The kinds of what waits for a person.
const (
	matterQuestion = "question"
	matterGate     = "gate"
)

// matter is a question without an answer, or an artefact that waits for approval.
// The names of its fields are part of the interface.
type matter struct {
	ID         string      `json:"id"`   // of the question, of the artefact that is held
	Kind       string      `json:"kind"` // question or gate
	Since      time.Time   `json:"since"`
	AgeSeconds int64       `json:"age_seconds"`
	Agent      string      `json:"agent"` // who asks, who made what is held; empty: no agent did
	Role       string      `json:"role"`
	ClaimID    string      `json:"claim_id"` // that waits for the answer, that the artefact is a result of; empty for a goal
	About      matterAbout `json:"about"`
	WorkflowID string      `json:"workflow_id"`
	Goal       string      `json:"goal"`           // how its text begins
	Text       string      `json:"text"`           // the question; of what is held, its summary or how it begins
	Look       string      `json:"look,omitempty"` // the command that shows what is held
	Commands   []string    `json:"commands"`       // that settle it; ids are whole for programs
}

// matterAbout is the artefact that a matter is about.
type matterAbout struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Version int    `json:"version"`
}

// openMatters returns the ids of what waits for a person, of one goal or (empty) of
// all.
func openMatters(ctx context.Context, b *redis.Board) (questions, gates []string, err error) {
	if questions, err = b.OpenQuestions(ctx); err != nil {
		return nil, nil, err
	}
	gates, err = b.OpenGates(ctx)
	return questions, gates, err
}

// matterReader reads matters with what they are about, in a few round trips.
type matterReader struct {
	*app
	b        *redis.Board
	in       *instance
	workflow string // only of this goal; empty: of all
	whole    bool   // for programs: also texts that are too long to be shown, and whole ids
}

// read returns what waits for a person, the oldest first. A record that cannot be
// read says so, and hides no other.
func (r matterReader) read(ctx context.Context, questions, gates []string) ([]matter, error) {
	ids := slices.Concat(questions, gates)
	all, broken, err := r.b.Outlines(ctx, ids)
	if err != nil {
		return nil, err
	}
	claims, err := r.claims(ctx, all[:len(questions)], broken)
	if err != nil {
		return nil, err
	}
	goals, err := r.goals(ctx, all, broken)
	if err != nil {
		return nil, err
	}
	if err := r.payloads(ctx, all, broken); err != nil {
		return nil, err
	}
	now, err := r.b.ServerTime(ctx)
	if err != nil {
		return nil, err
	}
	out := []matter{}
	for i := range all {
		m := matter{ID: ids[i], Kind: matterGate, Commands: []string{}}
		if i < len(questions) {
			m.Kind = matterQuestion
		}
		switch {
		case errors.Is(broken[i], blackboard.ErrNotFound):
			continue // gone with an import that was given up
		case broken[i] != nil:
			m.Since, m.Text = blackboard.IDTime(ids[i]), broken[i].Error()
		case r.workflow != "" && all[i].WorkflowID != r.workflow:
			continue
		default:
			r.fill(&m, &all[i], claims[all[i].ClaimID], goals[all[i].WorkflowID])
		}
		m.AgeSeconds = ageSeconds(now, m.Since)
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(x, y matter) int { return x.Since.Compare(y.Since) })
	return out, nil
}

// fill describes a matter that could be read.
func (r matterReader) fill(m *matter, o *redis.Outline, claim blackboard.Claim, goal string) {
	m.Since, m.Agent, m.Role, m.ClaimID = o.CreatedAt, o.ProducedByAgent, o.ProducedByRole, o.ClaimID
	m.WorkflowID, m.Goal = o.WorkflowID, goal
	if m.Kind == matterGate {
		m.About = matterAbout{o.ID, o.Type, o.Version}
		m.Text = gistOf(o)
		look := "unearth "
		if o.Type == blackboard.TypeCodeCommit {
			look += "--diff "
		}
		m.Look = r.commandLine(r.in, look+r.id(o))
		m.Commands = []string{r.commandLine(r.in, "approve "+r.id(o)), r.commandLine(r.in, "reject "+r.id(o)+` "why"`)}
		return
	}
	m.About = matterAbout{claim.ArtefactID, claim.Target.Type, claim.Target.Version}
	m.Text = o.Payload
	if m.Text == "" {
		m.Text = gistOf(o)
	}
	m.Commands = []string{r.commandLine(r.in, "answer "+r.id(o)+` "…"`)}
}

// id is an artefact's id as it stands in a command: for people, who may have to
// type it, as short as everywhere.
func (r matterReader) id(o *redis.Outline) string {
	if r.whole {
		return o.ID
	}
	return short(o.ID)
}

// claims reads the claims that questions were asked in, by id.
func (r matterReader) claims(ctx context.Context, questions []redis.Outline, broken []error) (map[string]blackboard.Claim, error) {
	var ids []string
	for i, q := range questions {
		if broken[i] == nil && q.ClaimID != "" {
			ids = append(ids, q.ClaimID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	all, each, err := r.b.TryClaims(ctx, ids)
	out := map[string]blackboard.Claim{}
	for i, id := range ids {
		if err == nil && each[i] == nil {
			out[id] = all[i]
		}
	}
	return out, err
}

// goals reads how the texts of goals begin, by id.
func (r matterReader) goals(ctx context.Context, all []redis.Outline, broken []error) (map[string]string, error) {
	var ids []string
	for i, o := range all {
		if broken[i] == nil {
			ids = append(ids, o.WorkflowID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	goals, each, err := r.b.OutlinesWithTexts(ctx, ids, maxShown)
	out := map[string]string{}
	for i := range goals {
		if each[i] == nil {
			out[ids[i]] = gistOf(&goals[i])
		}
	}
	return out, err
}

// payloads reads the texts of what is shown.
func (r matterReader) payloads(ctx context.Context, all []redis.Outline, broken []error) error {
	var short, whole []*redis.Outline
	for i := range all {
		switch {
		case broken[i] != nil || r.workflow != "" && all[i].WorkflowID != r.workflow:
		case r.whole && all[i].StructuralType == blackboard.Question:
			whole = append(whole, &all[i])
		default:
			short = append(short, &all[i])
		}
	}
	if err := r.b.ReadPayloads(ctx, short, maxShown); err != nil {
		return err
	}
	for _, o := range whole { // one at a time: they may be large
		if err := r.b.ReadPayloads(ctx, []*redis.Outline{o}, o.PayloadSize); err != nil {
			return err
		}
	}
	return nil
}

// text shows a matter to people, with the command lines that settle it.
func (m matter) text(a *app) {
	if m.WorkflowID == "" {
		a.printf("%s %s  cannot be read: %s\n", m.Kind, a.paint(short(m.ID), accent), clean(m.Text))
		return
	}
	who := orElse(m.Agent, m.Role)
	about := ""
	if m.About.ID != "" {
		about = title(blackboard.Artefact{Type: m.About.Type, Version: m.About.Version, StructuralType: blackboard.Standard}) + " " + short(m.About.ID)
	}
	what := fmt.Sprintf("%s asks about %s", clean(who), about)
	if m.Kind == matterGate {
		what = fmt.Sprintf("%s of %s waits for approval", about, clean(who))
	}
	a.printf("%s %s  %s  %s, for goal %s: %s\n", m.Kind, a.paint(short(m.ID), accent), a.paint(ageOf(m.AgeSeconds), dim),
		what, short(m.WorkflowID), shorten(clean(m.Goal), 60))
	a.printf("%s\n", indent(excerpt(blackboard.Artefact{Payload: m.Text}), "    "))
	for _, c := range m.next() {
		a.printf("  %s\n", a.paint(clean(c), bold))
	}
}

// next is what to type, in the order in which somebody does: first he looks.
func (m matter) next() []string {
	if m.Look == "" {
		return m.Commands
	}
	return append([]string{m.Look}, m.Commands...)
}

// brief is a matter in a message: one line about it, then its text, then what to
// type.
func (m matter) brief() string {
	head := fmt.Sprintf("%s asks (Question %s): ", clean(orElse(m.Agent, m.Role)), short(m.ID))
	if m.Kind == matterGate {
		head = fmt.Sprintf("%s %s of %s waits for approval: ", clean(m.About.Type), short(m.ID), clean(orElse(m.Agent, m.Role)))
	}
	return head + strings.TrimSpace(excerpt(blackboard.Artefact{Payload: m.Text})) + "\n  " + strings.Join(m.next(), "\n  ")
}

package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// The kinds of matters.
const (
	MatterQuestion = "question"
	MatterGate     = "gate"
	MatterLanding  = "landing" // see Barred
	MatterBid      = "bid"     // see Withheld
	MatterModel    = "model"   // see Withheld
)

// Matter is a question without an answer, an artefact that waits for approval, a goal that
// cannot land or a claim whose bids or grants wait for a model until a person acts. The names of its fields are part of
// the interface.
type Matter struct {
	ID         string        `json:"id"`   // of the question, of the artefact that is held, of the goal that cannot land, of the claim that waits for a model
	Kind       string        `json:"kind"` // question, gate, landing, bid or model
	Since      time.Time     `json:"since"`
	AgeSeconds int64         `json:"age_seconds"`
	Agent      string        `json:"agent"` // asked the question, or made the artefact, or cannot bid or begin; empty: the orchestrator or a person
	Role       string        `json:"role"`
	ClaimID    string        `json:"claim_id"` // that waits for the answer, or made the artefact; empty for a goal
	About      MatterSubject `json:"about"`
	WorkflowID string        `json:"workflow_id"`
	Goal       string        `json:"goal"`           // the beginning of its text
	Text       string        `json:"text"`           // the question; of a gate the artefact's summary or beginning; of a landing, a bid and a model the reason
	Look       string        `json:"look,omitempty"` // of a gate: the command that shows the artefact; of a question that people are shown in part: the one that shows all of it
	Commands   []string      `json:"commands"`       // that settle it; ids are whole for programs

	unearth string // of a question, for people: the command that shows all of it
}

// MatterSubject is the artefact that a matter is about.
type MatterSubject struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Version int    `json:"version"`
}

// OpenMatters returns the ids of the matters that wait for a person, of all goals.
func OpenMatters(ctx context.Context, b Index) (questions, gates []string, err error) {
	if questions, err = b.OpenQuestions(ctx); err != nil {
		return nil, nil, err
	}
	gates, err = b.OpenGates(ctx)
	return questions, gates, err
}

// MatterReader reads matters with their subjects, in a few round trips.
type MatterReader struct {
	Reader
	Workflow string // only of this goal; empty: of all
	Whole    bool   // for programs: also texts that are too long to be shown, and whole ids
}

// Open reads all open matters, the oldest first.
func (r MatterReader) Open(ctx context.Context) ([]Matter, error) {
	questions, gates, err := OpenMatters(ctx, r.Board)
	if err != nil {
		return nil, err
	}
	return r.Read(ctx, questions, gates)
}

// Read reads matters, the oldest first. A record that cannot be read says so, and
// hides no other.
func (r MatterReader) Read(ctx context.Context, questions, gates []string) ([]Matter, error) {
	ids := slices.Concat(questions, gates)
	all, broken, err := r.Outlines(ctx, ids)
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
	now, err := r.ServerTime(ctx)
	if err != nil {
		return nil, err
	}
	out := []Matter{}
	for i := range all {
		m := Matter{ID: ids[i], Kind: MatterGate, Commands: []string{}}
		if i < len(questions) {
			m.Kind = MatterQuestion
		}
		switch {
		case errors.Is(broken[i], blackboard.ErrNotFound):
			continue // gone with an import that was given up
		case broken[i] != nil:
			m.Since, m.Text = blackboard.IDTime(ids[i]), broken[i].Error()
		case r.Workflow != "" && all[i].WorkflowID != r.Workflow:
			continue
		default:
			r.fill(&m, &all[i], claims[all[i].ClaimID], goals[all[i].WorkflowID])
		}
		m.AgeSeconds = AgeSeconds(now, m.Since)
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(x, y Matter) int { return x.Since.Compare(y.Since) })
	return out, nil
}

// fill describes a matter from its records.
func (r MatterReader) fill(m *Matter, o *blackboard.Outline, claim blackboard.Claim, goal string) {
	m.Since, m.Agent, m.Role, m.ClaimID = o.CreatedAt, o.ProducedByAgent, o.ProducedByRole, o.ClaimID
	m.WorkflowID, m.Goal = o.WorkflowID, goal
	if m.Kind == MatterGate {
		m.About = MatterSubject{o.ID, o.Type, o.Version}
		m.Text = GistOf(o)
		look := "unearth "
		if o.NamesCommit() {
			look += "--diff "
		}
		m.Look = r.Command(look + r.id(o.ID))
		m.Commands = []string{r.Command("approve " + r.id(o.ID)), r.Command("reject " + r.id(o.ID) + ` "why"`)}
		return
	}
	m.About = MatterSubject{claim.ArtefactID, claim.Target.Type, claim.Target.Version}
	m.Text = o.Payload
	if m.Text == "" {
		m.Text = GistOf(o)
	}
	m.Commands = []string{r.Command("answer " + r.id(o.ID) + ` "…"`)}
	if o.ProducedByRole == blackboard.RoleOrchestrator { // at a limit; the answer would begin one more round
		m.Commands = append(m.Commands, r.Command("cancel "+r.id(o.WorkflowID)+` "why"`))
	}
	if r.Whole {
		return
	}
	m.unearth = r.Command("unearth " + r.id(o.ID))
	if o.Payload == "" && o.PayloadSize > 0 || strings.HasSuffix(Excerpt(blackboard.Artefact{Payload: m.Text}), cutMark) {
		m.Look = m.unearth
	}
}

// id is an id in a command line: short for people, since they may have to type it.
func (r MatterReader) id(whole string) string {
	if r.Whole {
		return whole
	}
	return words.Short(whole)
}

// claims reads the claims of questions, by id.
func (r MatterReader) claims(ctx context.Context, questions []blackboard.Outline, broken []error) (map[string]blackboard.Claim, error) {
	var ids []string
	for i, q := range questions {
		if broken[i] == nil && q.ClaimID != "" {
			ids = append(ids, q.ClaimID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	all, each, err := r.TryClaims(ctx, ids)
	out := map[string]blackboard.Claim{}
	for i, id := range ids {
		if err == nil && each[i] == nil {
			out[id] = all[i]
		}
	}
	return out, err
}

// goals reads the beginnings of goals' texts, by id.
func (r MatterReader) goals(ctx context.Context, all []blackboard.Outline, broken []error) (map[string]string, error) {
	var ids []string
	for i, o := range all {
		if broken[i] == nil {
			ids = append(ids, o.WorkflowID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	goals, each, err := r.OutlinesWithTexts(ctx, ids, MaxShown)
	out := map[string]string{}
	for i := range goals {
		if each[i] == nil {
			out[ids[i]] = GistOf(&goals[i])
		}
	}
	return out, err
}

// payloads reads the texts that are shown.
func (r MatterReader) payloads(ctx context.Context, all []blackboard.Outline, broken []error) error {
	var short, whole []*blackboard.Outline
	for i := range all {
		switch {
		case broken[i] != nil || r.Workflow != "" && all[i].WorkflowID != r.Workflow:
		case r.Whole && all[i].StructuralType == blackboard.Question:
			whole = append(whole, &all[i])
		default:
			short = append(short, &all[i])
		}
	}
	if err := r.ReadPayloads(ctx, short, MaxShown); err != nil {
		return err
	}
	for _, o := range whole { // one at a time: they may be large
		if err := r.ReadPayloads(ctx, []*blackboard.Outline{o}, o.PayloadSize); err != nil {
			return err
		}
	}
	return nil
}

// Barred reads the goals that cannot land until a person acts, the oldest first.
func Barred(ctx context.Context, r MatterReader) ([]Matter, error) {
	ids, err := r.Board.Landing.OpenLandings(ctx)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	all, each, err := r.TryWorkflows(ctx, ids)
	if err != nil {
		return nil, err
	}
	now, err := r.ServerTime(ctx)
	if err != nil {
		return nil, err
	}
	var out []Matter
	for i, w := range all {
		if each[i] != nil || w.Landing == nil || !w.Landing.People || r.Workflow != "" && r.Workflow != w.ID {
			continue
		}
		m := Matter{ID: w.ID, Kind: MatterLanding, WorkflowID: w.ID, Since: w.Landing.Since, AgeSeconds: AgeSeconds(now, w.Landing.Since),
			Role: blackboard.RoleRepository, Text: w.Landing.Reason}
		about, broken, err := r.OutlinesWithTexts(ctx, []string{w.Landing.Artefact, w.ID}, MaxShown)
		if err != nil {
			return nil, err
		}
		id := w.ID
		if !r.Whole {
			id = words.Short(id)
		}
		if broken[0] == nil {
			m.About = MatterSubject{about[0].ID, about[0].Type, about[0].Version}
		}
		if broken[1] == nil {
			m.Goal = GistOf(&about[1])
		}
		m.Commands = []string{r.Command(words.Land(id, w.Landing.Branch))}
		out = append(out, m)
	}
	return out, nil
}

// Heading names the agent that waits, the artefact it is about, and the goal.
func (m Matter) Heading() string {
	who := role.Clean(cmp.Or(m.Agent, m.Role))
	about := ""
	if m.About.ID != "" {
		about = Named(blackboard.Artefact{ID: m.About.ID, Type: m.About.Type, Version: m.About.Version, StructuralType: blackboard.Standard})
	}
	what := fmt.Sprintf("%s asks about %s", who, about)
	if m.Kind == MatterGate {
		what = fmt.Sprintf("%s of %s waits for approval", about, who)
	}
	if m.Kind == MatterLanding {
		what = about + " cannot land"
	}
	if m.Kind == MatterBid {
		what = fmt.Sprintf("%s cannot bid on %s", who, about)
	}
	if m.Kind == MatterModel {
		what = fmt.Sprintf("%s waits for its model to begin with %s", who, about)
	}
	return fmt.Sprintf("%s, for goal %s: %s", what, words.Short(m.WorkflowID), words.Shorten(role.Clean(m.Goal), 60))
}

// Next are the command lines that look at the matter and settle it, in the order in
// which a person types them.
func (m Matter) Next() []string {
	if m.Look == "" {
		return m.Commands
	}
	return append([]string{m.Look}, m.Commands...)
}

// LookFor is the command that shows a question whole, for a place that shows so much of its text; empty: that is all
// of it, or it is no question.
func (m Matter) LookFor(shown string) string {
	if m.Look != "" || shown == role.Clean(strings.TrimSpace(m.Text)) {
		return m.Look
	}
	return m.unearth
}

// Brief is a matter in a message: one line about it, then its text, then the command
// lines.
func (m Matter) Brief() string {
	who := role.Clean(cmp.Or(m.Agent, m.Role))
	head := fmt.Sprintf("%s asks (Question %s): ", who, words.Short(m.ID))
	switch m.Kind {
	case MatterGate:
		head = fmt.Sprintf("%s %s of %s waits for approval: ", role.Clean(m.About.Type), words.Short(m.ID), who)
	case MatterLanding:
		head = fmt.Sprintf("goal %s cannot land: ", words.Short(m.ID))
	case MatterBid:
		head = fmt.Sprintf("%s cannot bid (claim %s): ", who, words.Short(m.ID))
	case MatterModel:
		head = fmt.Sprintf("%s waits for its model (claim %s): ", who, words.Short(m.ID))
	}
	return head + strings.TrimSpace(Excerpt(blackboard.Artefact{Payload: m.Text})) + "\n  " + strings.Join(m.Next(), "\n  ")
}

// Count counts matters for people: "1 question, 2 approvals, 1 goal that cannot land, 1 claim without a bid, 1 claim
// without its model".
func Count(all []Matter) string {
	var w blackboard.Workflow
	barred, bids, models := 0, 0, 0
	for _, m := range all {
		switch m.Kind {
		case MatterQuestion:
			w.Questions++
		case MatterGate:
			w.Gates++
		case MatterBid:
			bids++
		case MatterModel:
			models++
		default:
			barred++
		}
	}
	counts := peoples(w)
	if barred > 0 {
		counts = append(counts, words.Count(barred, "goal")+" that cannot land")
	}
	if bids > 0 {
		counts = append(counts, words.Count(bids, "claim")+" without a bid")
	}
	if models > 0 {
		counts = append(counts, words.Count(models, "claim")+" without its model")
	}
	return strings.Join(counts, ", ")
}

package cli

import (
	"cmp"
	"errors"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

type whyCmd struct {
	ID string `arg:"" optional:"" help:"An artefact or claim: any part of its id's beginning or end that is unique (default: @last, the newest goal). Of a goal that has ended: its Terminal or Failure."`
	outputs
}

// Help is shown by `sett why --help`.
func (whyCmd) Help() string {
	return `Says how something came to be: the chain of claims from the goal to an artefact, or to a
claim. At each step: why the claim was opened and on what; the bids in the order they came in;
who was granted what, how long it waited and ran, and what came of it; what Reviews said;
questions and who answered; what waited for approval and who gave it; what was retried or
cancelled, by whom and why. What a step's artefact was also made from is named beside it.

json and yaml are one object with "steps", oldest first; jsonl is one step per line.

Examples:
  sett why
  sett why 7XK2ABCD
  sett why 7XK2ABCD -o json`
}

// Run shows the chain.
func (c *whyCmd) Run(a *app) error {
	on, err := a.about(orElse(c.ID, lastGoal))
	if err != nil {
		return err
	}
	defer on.done()
	if on.id, err = a.outcome(on); err != nil {
		return err
	}
	v, err := a.readWhy(on.b, on.id, on.kind)
	if err != nil {
		return err
	}
	err = a.emit(c.outputs, shown{whole: v, lines: v.Steps, table: func() error { return v.text(a) }})
	return cmp.Or(err, v.broken.failure())
}

// outcome returns what came of a goal that has ended, in the place of the goal
// itself, which nothing led to; everything else as it is.
func (a *app) outcome(on subject) (string, error) {
	id := on.id
	if on.kind == redis.KindClaim {
		return id, nil
	}
	w, err := on.b.Workflow(a.ctx, id)
	if errors.Is(err, blackboard.ErrNotFound) {
		return id, nil // no goal
	}
	if err != nil {
		return "", err
	}
	last := w.TerminalID
	if w.Status == blackboard.WorkflowFailed {
		last = w.FailureID
	}
	if !w.Status.Ended() || last == "" {
		a.sayf("sett: note: goal %s is %s; %s says how far it has come\n", short(id), w.Status, a.commandLine(on.in, "show "+short(id)))
		return id, nil
	}
	a.sayf("sett: note: how goal %s was %s\n", short(id), w.Status)
	return last, nil
}

// whyView is how an artefact or claim came to be.
type whyView struct {
	Kind  redis.Kind `json:"kind"` // artefact or claim: what was asked about
	ID    string     `json:"id"`
	Goal  string     `json:"workflow_id"`
	Took  float64    `json:"took_seconds"` // from the goal to it; for a claim to when it was opened
	Steps []whyStep  `json:"steps"`        // oldest first; the goal's own is the first

	broken leftOut // claims on the way that cannot be read
}

// whyStep is one claim on the way, and what it yielded for the next step.
type whyStep struct {
	Claim      *whyClaim       `json:"claim"`    // null for the goal, and for what no claim led to
	Artefact   *artefactBrief  `json:"artefact"` // null when the next step came of the claim's end
	Gate       *gate           `json:"gate"`     // on the artefact; null when it needed no approval
	Sources    []artefactBrief `json:"other_sources"`
	Unreadable string          `json:"unreadable,omitempty"` // why there is no claim, where one is

	unread string // its id
}

// whyClaim is a claim with what led to it and what became of it.
type whyClaim struct {
	ID         string                 `json:"id"`
	ArtefactID string                 `json:"artefact_id"`
	Target     blackboard.Target      `json:"target"`
	Origin     blackboard.ClaimOrigin `json:"origin"`
	Because    string                 `json:"because"`            // why it was opened, in words
	Feedback   []artefactBrief        `json:"feedback"`           // the Reviews that a rework answers
	RetryOf    string                 `json:"retry_of,omitempty"` // the claim it tries again
	RetriedAs  string                 `json:"retried_as,omitempty"`
	RetriedBy  string                 `json:"retried_by,omitempty"` // who wanted this retry, and why
	RetryWhy   string                 `json:"retry_why,omitempty"`
	Cancelled  *whyCancel             `json:"cancelled,omitempty"`
	Status     blackboard.ClaimStatus `json:"status"`
	Reason     string                 `json:"reason"`
	Bids       []blackboard.Bid       `json:"bids"` // in the order they came in
	Grants     []whyGrant             `json:"grants"`
	OpenedAt   time.Time              `json:"opened_at"`
	ClosedAt   time.Time              `json:"closed_at,omitzero"`
	BidsTook   *float64               `json:"bids_seconds,omitempty"` // from opening to the first grant, or to the end without any
	Took       *float64               `json:"took_seconds,omitempty"` // once it is closed
}

// whyCancel is who ended a claim, or its goal, by hand.
type whyCancel struct {
	FailureID   string    `json:"failure_id"`
	By          string    `json:"by"`
	Why         string    `json:"why"`
	CancelledAt time.Time `json:"cancelled_at"`
}

// whyGrant is a grant with what came of it.
type whyGrant struct {
	Phase     blackboard.Phase      `json:"phase"`
	Agent     string                `json:"agent"`
	By        string                `json:"by,omitempty"` // the person
	Attempt   int                   `json:"attempt"`
	Crashes   int                   `json:"crashes"`
	State     blackboard.GrantState `json:"state"`
	Verdict   blackboard.Verdict    `json:"verdict,omitempty"`
	ResultID  string                `json:"result_id,omitempty"`
	Title     string                `json:"result_title,omitempty"` // its type and version
	Says      string                `json:"says,omitempty"`         // the gist of the result
	Reason    string                `json:"reason,omitempty"`
	Kept      bool                  `json:"kept"` // from the claim that this one retries
	Questions []whyQuestion         `json:"questions"`
	QueuedAt  time.Time             `json:"queued_at"`
	StartedAt time.Time             `json:"started_at,omitzero"`
	EndedAt   time.Time             `json:"ended_at,omitzero"`
	Queued    *float64              `json:"queued_seconds,omitempty"` // of the last attempt
	Tool      *float64              `json:"tool_seconds,omitempty"`
	Took      *float64              `json:"took_seconds,omitempty"` // from start to end
}

// whyQuestion is a Question that a grant asked, and its Answer.
type whyQuestion struct {
	ID         string    `json:"id"`
	Says       string    `json:"says"`
	AskedAt    time.Time `json:"asked_at,omitzero"`
	AnswerID   string    `json:"answer_id,omitempty"`
	Answer     string    `json:"answer,omitempty"`
	By         string    `json:"by,omitempty"`
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	Waited     *float64  `json:"waited_seconds,omitempty"`
}

// seconds is how long it was between two times that are known.
func seconds(from, to time.Time) *float64 {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	s := to.Sub(from).Seconds()
	return &s
}

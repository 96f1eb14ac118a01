package orchestrator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/repository"
	"sett/roles/role/words"
	"sett/runtime"
)

// trouble is an error about one landing: the role's, or of a record that it needs. It
// keeps no other goal from landing.
type trouble struct{ error }

// Unwrap returns the error.
func (t *trouble) Unwrap() error { return t.error }

// soundLander is the role, with its errors as trouble.
type soundLander struct{ lander }

func (l soundLander) Plan(ctx context.Context, q repository.Landing) (repository.LandingPlan, error) {
	p, err := l.lander.Plan(ctx, q)
	return p, inTrouble(err)
}

func (l soundLander) Land(ctx context.Context, q repository.Land) (repository.Landed, error) {
	d, err := l.lander.Land(ctx, q)
	return d, inTrouble(err)
}

func (l soundLander) Hold(ctx context.Context, q repository.Hold) error {
	return inTrouble(l.lander.Hold(ctx, q))
}

func inTrouble(err error) error {
	if err == nil {
		return nil
	}
	return &trouble{err}
}

// ofRecord returns the error of a read: a record that is corrupt or lost is trouble of its goal alone.
func ofRecord(err error) error {
	if errors.Is(err, blackboard.ErrCorrupt) || errors.Is(err, blackboard.ErrNotFound) {
		return &trouble{err}
	}
	return err
}

// mostTrouble is the length of a reason on the blackboard, in characters.
const mostTrouble = 2000

// troubled names the trouble of a goal on the blackboard and has the landing tried again
// later. The others pass. A role that does not answer is at first everybody's trouble: the order
// stays.
func troubled(ctx context.Context, t *term, goal string, sick *trouble) (turn, error) {
	ill := t.ailing.fell(goal, t.pace.landings, t.clock.own())
	t.log.Warn("not landed yet", "workflow", goal, "try", ill.tries, "error", sick)
	next := passes
	if errors.Is(sick, repository.ErrAway) && ill.tries < triesAway {
		next = holds
	}
	w, err := t.board.Workflow(ctx, goal)
	if err != nil || w.Landing == nil {
		return next, err
	}
	s := landing{t: t, w: w, was: *w.Landing, l: *w.Landing}
	s.l.Trouble = words.Shorten(role.Clean(strings.ReplaceAll(strings.TrimPrefix(sick.Error(), "ask the repository: "), "\n", "; ")), mostTrouble)
	if s.l.Trouble == s.was.Trouble {
		return next, nil
	}
	err = s.record(ctx, blackboard.LandingStep{})
	if errors.Is(err, errChanged) {
		err = nil
	}
	return next, err
}

// triesAway is how often a goal finds the role away until others are tried before it: it
// may be the cause.
const triesAway = 3

// ailments are the goals with trouble.
type ailments map[string]*ailment

type ailment struct {
	tries int
	pause runtime.Backoff
	until time.Time // of our own clock
}

// rests says whether a goal is not to be tried yet.
func (a ailments) rests(goal string, now time.Time) bool {
	ill := a[goal]
	return ill != nil && now.Before(ill.until)
}

// fell notes a try that failed.
func (a ailments) fell(goal string, pause runtime.Backoff, now time.Time) *ailment {
	ill := a[goal]
	if ill == nil {
		ill = &ailment{pause: pause}
		a[goal] = ill
	}
	ill.tries++
	ill.until = now.Add(ill.pause.Failed())
	return ill
}

// well forgets the trouble of a goal.
func (a ailments) well(goal string) { delete(a, goal) }

// keep forgets all goals but these.
func (a ailments) keep(open []string) {
	maps.DeleteFunc(a, func(goal string, _ *ailment) bool { return !slices.Contains(open, goal) })
}

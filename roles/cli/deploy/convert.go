package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/runtime"
)

// lookAtSchema refuses an instance that runs with records which a newer sett wrote, before any part of that is stopped.
// A blackboard that does not answer is told of when its parts are started.
func lookAtSchema(ctx context.Context, u *upRun) error {
	if !u.facts.runs() {
		return nil
	}
	b, err := u.in.Glance(ctx, u.at.Terminal, "sett-up")
	if err == nil {
		b.Close()
	}
	if schema := (*blackboard.SchemaError)(nil); errors.As(err, &schema) && !schema.Older {
		return role.NotOpened(schema, "")
	}
	return nil
}

// noteConversion plans the conversion of records of an older sett: of a blackboard that answers, and of a stopped one in files
// of this machine.
func noteConversion(ctx context.Context, u *upRun) {
	if !u.in.Known() || u.facts.moved() || boardOf(u.plan.state) != boardOf(u.in.State) {
		return
	}
	b, err := u.in.Glance(ctx, u.at.Terminal, "sett-up")
	done := func() { b.Close() }
	var schema *blackboard.SchemaError
	if err != nil && !errors.As(err, &schema) && !u.facts.runs() {
		_, done, err = instance.OpenStopped(ctx, u.at, u.in)
	}
	if err == nil {
		done()
		return
	}
	if !errors.As(err, &schema) || !schema.Older {
		return
	}
	u.plan.Blackboard.Converts = true
	u.plan.note(nil, "%v; %s", schema, schema.Remedy())
}

// convert brings the records of an older sett into the form of this one, once. The parts of then
// write the old form, so those that run are stopped first; the new ones take their place.
func convert(ctx context.Context, u *upRun) error {
	older, err := u.board.Control.Older(ctx)
	if err != nil || !older {
		return err
	}
	if u.plan.Action == actionApply {
		if err := stopParts(ctx, u); err != nil {
			return err
		}
	}
	n, err := u.board.Control.Convert(ctx)
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return role.Fail(role.TimedOut, err, "sett up goes on with it; --timeout gives it more time")
	}
	if err != nil {
		if refusal := (*blackboard.NoWritesError)(nil); errors.As(err, &refusal) {
			refusal.Down = true // the parts of then are stopped, also of an instance that ran
		}
		return role.Fail(role.Environment, err, "")
	}
	u.at.Printf("  converted %s and %s to the form of this sett\n", words.Count(n.Artefacts, "artefact"), words.Count(n.Claims, "claim"))
	return nil
}

// stopParts stops all parts but the blackboard. If this up is killed here, the next one finds a down to
// finish, and starts everything.
func stopParts(ctx context.Context, u *upRun) error {
	if err := u.in.SetStopping(true); err != nil {
		return err
	}
	before, err := u.in.Config()
	if err != nil {
		before = u.c // for grace periods only
	}
	s := &stopper{at: u.at, in: u.in, place: othersThan{u.place, runtime.ComponentBlackboard}, config: before, with: "sett up"}
	units, err := s.place.List(ctx, nil)
	if err == nil {
		err = s.inOrder(ctx, units, false)
	}
	if err != nil {
		return fmt.Errorf("stop the parts that another sett started: %w", err)
	}
	return u.in.SetStopping(false)
}

// othersThan is a place without one of its components.
type othersThan struct {
	instance.Place
	component string
}

// List lists the other units.
func (p othersThan) List(ctx context.Context, labels runtime.Labels) ([]runtime.Unit, error) {
	units, err := p.Place.List(ctx, labels)
	return slices.DeleteFunc(units, func(u runtime.Unit) bool { return u.Labels[runtime.LabelComponent] == p.component }), err
}

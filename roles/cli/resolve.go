package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

// lastGoal stands for the newest goal wherever an id is expected.
const lastGoal = "@last"

// resolve returns the full id that somebody meant, and what it names. Several
// that fit are listed with type and age.
func (a *app) resolve(ctx context.Context, b *redis.Board, part string, want ...redis.Kind) (string, redis.Kind, error) {
	if part == lastGoal {
		ids, err := b.Goals(ctx, 1)
		if err != nil {
			return "", "", err
		}
		if len(ids) == 0 {
			return "", "", role.Fail(role.NotFound, errors.New("no goal has been posted yet"), `sett forage --goal "…"`)
		}
		return ids[0], redis.KindArtefact, nil
	}
	id, kind, err := b.Resolve(ctx, part, want...)
	var several *redis.AmbiguousError
	switch {
	case errors.As(err, &several):
		return "", "", role.Fail(role.NotFound, a.candidates(ctx, b, several), "type more of the one you mean")
	case errors.Is(err, blackboard.ErrNotFound):
		var words []string
		for _, k := range want {
			words = append(words, string(k))
		}
		return "", "", role.Fail(role.NotFound, fmt.Errorf("no %s has an id that begins or ends with %s", strings.Join(words, " or "), clean(part)),
			"sett goals and sett hoard list ids; %s is the newest goal", lastGoal)
	}
	return id, kind, err
}

// subject is what a command is about, by the id that was typed, and the board that
// has it. The caller calls done when it needs that no more.
type subject struct {
	b    *redis.Board
	in   *instance
	done func()
	id   string
	kind redis.Kind // artefact or claim
}

// about opens the board and finds there what somebody meant.
func (a *app) about(part string) (s subject, err error) {
	if s.b, s.in, s.done, err = a.board(a.ctx); err != nil {
		return s, err
	}
	if s.id, s.kind, err = a.resolve(a.ctx, s.b, part, redis.KindArtefact, redis.KindClaim); err != nil {
		s.done()
	}
	return s, err
}

// resolveWorkflow returns the goal that an id belongs to: a goal's own, or that
// of any of its artefacts and claims.
func (a *app) resolveWorkflow(ctx context.Context, b *redis.Board, part string) (string, error) {
	id, kind, err := a.resolve(ctx, b, part, redis.KindArtefact, redis.KindClaim)
	if err != nil {
		return "", err
	}
	if kind == redis.KindClaim {
		c, err := b.Snapshot(ctx, id)
		return c.Claim.WorkflowID, err
	}
	artefact, err := b.Artefact(ctx, id)
	return artefact.WorkflowID, err
}

// candidates says what each of several ids names, one a line.
func (a *app) candidates(ctx context.Context, b *redis.Board, several *redis.AmbiguousError) error {
	lines := []string{fmt.Sprintf("id %s fits several:", clean(several.Part))}
	for _, id := range several.Candidates {
		lines = append(lines, id+"  "+a.nameOf(ctx, b, id))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// nameOf says what an id names, and how old that is.
func (a *app) nameOf(ctx context.Context, b *redis.Board, id string) string {
	if artefact, err := b.Artefact(ctx, id); err == nil {
		return fmt.Sprintf("%s, %s ago", title(artefact), age(a.Now().Sub(artefact.CreatedAt)))
	}
	if c, err := b.Snapshot(ctx, id); err == nil {
		return fmt.Sprintf("claim on %s %s, %s ago", clean(c.Claim.Target.Type), short(c.Claim.ArtefactID), age(a.Now().Sub(c.Claim.OpenedAt)))
	}
	return "unreadable"
}

// title is an artefact's type, with its version unless that is the first, and
// with its structural type where that says more.
func title(a blackboard.Artefact) string {
	s := clean(a.Type)
	if a.Version > 1 {
		s = fmt.Sprintf("%s v%d", s, a.Version)
	}
	if st := string(a.StructuralType); a.StructuralType != blackboard.Standard && !strings.Contains(s, st) {
		s += ", " + st
	}
	return s
}

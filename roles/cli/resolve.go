package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// resolve returns the full id for a typed part of one, and its kind. When several ids
// fit, the error lists them with type and age.
func (a *app) resolve(ctx context.Context, b *instance.Board, part string, want ...blackboard.Kind) (string, blackboard.Kind, error) {
	if part == grammar.LastGoal || part == grammar.LastResult {
		id, err := lastGoal(ctx, b)
		if err == nil && part == grammar.LastResult {
			id, err = terminalOf(ctx, b, id)
		}
		return id, blackboard.KindArtefact, err
	}
	id, kind, err := b.Index.Resolve(ctx, part, want...)
	var several *blackboard.AmbiguousError
	switch {
	case errors.As(err, &several):
		return "", "", role.Fail(role.NotFound, candidates(ctx, a, b, several), "type more of the one you mean")
	case errors.Is(err, blackboard.ErrNotFound):
		if short, ok := blackboard.NormalizeIDPart(part); ok && len(short) < leastLookedUp {
			return "", "", role.Fail(role.NotFound, fmt.Errorf("%s is too short: type %d characters of the id or more", role.Clean(part), leastLookedUp),
				"sett goals and sett hoard list ids; %s is the newest goal", grammar.LastGoal)
		}
		var words []string
		for _, k := range want {
			words = append(words, string(k))
		}
		return "", "", role.Fail(role.NotFound, fmt.Errorf("no %s has an id that begins or ends with %s", strings.Join(words, " or "), role.Clean(part)),
			"sett goals and sett hoard list ids; %s is the newest goal", grammar.LastGoal)
	}
	return id, kind, err
}

// leastLookedUp is the shortest part of an id, in characters, that the blackboard looks up.
const leastLookedUp = 2

// leastIDPart is the shortest part of an id, in characters, where a text may stand in its
// place: an answer may be one letter.
const leastIDPart = 4

// idAndText tells a record's id from the text behind it, where the id may be left out: id
// is empty if the first word begins the text. A word that looks like an id and names no
// record stays an id, so that a mistyped one never becomes a text.
func idAndText(a *app, b *instance.Board, first string, rest []string) (id string, text []string, err error) {
	if first == grammar.LastGoal || first == grammar.LastResult {
		return first, rest, nil
	}
	text = append([]string{first}, rest...)
	if first == "" {
		if len(rest) == 0 {
			text = nil
		}
		return "", text, nil
	}
	if _, ok := blackboard.NormalizeIDPart(first); !ok || len(first) < leastIDPart {
		return "", text, nil
	}
	_, _, err = b.Index.Resolve(a.ctx, first, blackboard.KindArtefact, blackboard.KindClaim)
	switch several := (*blackboard.AmbiguousError)(nil); {
	case err == nil || errors.As(err, &several) || errors.Is(err, blackboard.ErrNotFound) && (looksLikeID(first) || len(rest) > 0 && isShownAsID(first)):
		return first, rest, nil
	case errors.Is(err, blackboard.ErrNotFound):
		return "", text, nil
	}
	return "", nil, err
}

// looksLikeID says whether a word that an id may contain has digits and letters, as most
// parts of ids have and words have not.
func looksLikeID(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.Trim(s, "0123456789") != ""
}

// isShownAsID says whether a word without digits has the length and the letters of an id as Sett shows it. One of
// twenty ids has no digit; words of that kind begin few texts.
func isShownAsID(s string) bool {
	return (len(s) == blackboard.ShortIDLength || len(s) == blackboard.IDLength) && strings.Trim(s, "ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

// openMatters returns the matters of a kind that wait for a person.
func openMatters(a *app, b *instance.Board, in *instance.Instance, kind string) ([]view.Matter, error) {
	all, err := view.MatterReader{Reader: status.Reader(a.at, b, in)}.Open(a.ctx)
	return slices.DeleteFunc(all, func(m view.Matter) bool { return m.Kind != kind || m.WorkflowID == "" }), err
}

// onlyMatter returns the artefact of the only matter of a kind that waits for a person. The hint is for the case that
// several wait.
func onlyMatter(a *app, b *instance.Board, in *instance.Instance, kind, hint string) (blackboard.Artefact, error) {
	all, err := openMatters(a, b, in, kind)
	switch {
	case err != nil:
		return blackboard.Artefact{}, err
	case len(all) == 0:
		return blackboard.Artefact{}, noneWaits(a, in, kind)
	case len(all) == 1:
		return b.Records.Artefact(a.ctx, all[0].ID)
	}
	lines := []string{view.Count(all) + " wait; say which one is meant"}
	for _, m := range all {
		lines = append(lines, m.Brief())
	}
	if kind == view.MatterGate {
		lines[0] = words.Count(len(all), "artefact") + " wait for approval; say which one is meant"
	}
	return blackboard.Artefact{}, role.Fail(role.Usage, errors.New(strings.Join(lines, "\n")), "%s", hint)
}

// noneWaits is the error of a command for which nothing waits.
func noneWaits(a *app, in *instance.Instance, kind string) error {
	what := "no question waits for an answer"
	if kind == view.MatterGate {
		what = "nothing waits for approval"
	}
	return role.Fail(role.NotFound, errors.New(what), "%s lists what waits for a person", a.at.CommandLine(in, "questions"))
}

// lastGoal returns the newest goal.
func lastGoal(ctx context.Context, b *instance.Board) (string, error) {
	ids, err := b.Index.Goals(ctx, 1)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", role.Fail(role.NotFound, errors.New("no goal has been posted yet"), `sett forage --goal "…"`)
	}
	return ids[0], nil
}

// terminalOf returns the final result of a goal. A goal without one is an error that says
// why.
func terminalOf(ctx context.Context, b *instance.Board, goal string) (string, error) {
	w, err := b.Records.Workflow(ctx, goal)
	if err != nil || w.TerminalID != "" {
		return w.TerminalID, err
	}
	why, hint := "it goes on", "sett wait %s follows it"
	switch w.Status {
	case blackboard.WorkflowFailed:
		why, hint = "it failed", "sett why %s says how"
	case blackboard.WorkflowStalled:
		why, hint = "it stalled: no agent made a Terminal", "sett hoard --workflow %s lists what came of it"
	}
	return "", role.Fail(role.NotFound, fmt.Errorf("goal %s has no final result: %s", words.Short(goal), why), hint, words.Short(goal))
}

// subject is the artefact or claim of the typed id, and the board that has it. The
// caller calls done when it no longer needs the board.
type subject struct {
	b    *instance.Board
	in   *instance.Instance
	done func()
	id   string
	kind blackboard.Kind // artefact or claim
}

// about opens the board and finds the artefact or claim of a typed id.
func (a *app) about(part string) (s subject, err error) {
	if s.b, s.in, s.done, err = a.at.Board(a.ctx); err != nil {
		return s, err
	}
	if s.id, s.kind, err = a.resolve(a.ctx, s.b, part, blackboard.KindArtefact, blackboard.KindClaim); err != nil {
		s.done()
	}
	return s, err
}

// resolveWorkflow returns the goal that an id belongs to: a goal's own, or that
// of any of its artefacts and claims.
func (a *app) resolveWorkflow(ctx context.Context, b *instance.Board, part string) (string, error) {
	id, kind, err := a.resolve(ctx, b, part, blackboard.KindArtefact, blackboard.KindClaim)
	if err != nil {
		return "", err
	}
	if kind == blackboard.KindClaim {
		c, err := b.Records.Snapshot(ctx, id)
		return c.Claim.WorkflowID, err
	}
	artefact, err := b.Records.Artefact(ctx, id)
	return artefact.WorkflowID, err
}

// candidates is an error that lists several ids with their descriptions, one a line.
func candidates(ctx context.Context, a *app, b *instance.Board, several *blackboard.AmbiguousError) error {
	lines := []string{fmt.Sprintf("id %s fits several:", role.Clean(several.Part))}
	for _, id := range several.Candidates {
		lines = append(lines, id+"  "+nameOf(ctx, a, b, id))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// nameOf describes the artefact or claim of an id, with its age.
func nameOf(ctx context.Context, a *app, b *instance.Board, id string) string {
	if artefact, err := b.Records.Artefact(ctx, id); err == nil {
		return fmt.Sprintf("%s, %s ago", view.Title(artefact), words.Age(a.Now().Sub(artefact.CreatedAt)))
	}
	if c, err := b.Records.Snapshot(ctx, id); err == nil {
		return fmt.Sprintf("claim on %s %s, %s ago", role.Clean(c.Claim.Target.Type), words.Short(c.Claim.ArtefactID), words.Age(a.Now().Sub(c.Claim.OpenedAt)))
	}
	return "unreadable"
}

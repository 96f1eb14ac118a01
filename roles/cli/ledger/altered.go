package ledger

import (
	"cmp"
	"context"
	"errors"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Comparison reads artefacts for a view and compares each with the entry of the ledger that stored it. An altered one is
// marked, so that its line says so. An outline counts as read once its payload was wanted.
type Comparison struct {
	view.Artefacts
	board   *instance.Board
	errs    map[string]error // by artefact
	altered []error
	unread  error // the first error of the ledger: artefacts could not be compared
}

// Compare returns a blackboard for views, whose artefacts are compared with the ledger. The command asks the Comparison for its
// Failure after it has printed.
func Compare(b *instance.Board, on view.Board) (view.Board, *Comparison) {
	c := &Comparison{Artefacts: on.Artefacts, board: b, errs: map[string]error{}}
	on.Artefacts = c
	return on, c
}

// Artefact reads an artefact, and compares it.
func (c *Comparison) Artefact(ctx context.Context, id string) (blackboard.Artefact, error) {
	all, each, err := c.TryArtefacts(ctx, []string{id})
	if err = errors.Join(append(each, err)...); err != nil {
		return blackboard.Artefact{}, err
	}
	return all[0], nil
}

// TryArtefacts reads artefacts, and compares them.
func (c *Comparison) TryArtefacts(ctx context.Context, ids []string) ([]blackboard.Artefact, []error, error) {
	all, each, err := c.Artefacts.TryArtefacts(ctx, ids)
	if err != nil {
		return all, each, err
	}
	whole := make([]*blackboard.Outline, 0, len(all))
	for i, a := range all {
		if each[i] == nil {
			whole = append(whole, &blackboard.Outline{Artefact: a, PayloadSize: len(a.Payload)})
		}
	}
	err = c.compare(ctx, whole)
	for i := range all {
		all[i].Altered = c.errs[all[i].ID] != nil
	}
	return all, each, err
}

// OutlinesWithTexts reads outlines with short payloads, and compares them.
func (c *Comparison) OutlinesWithTexts(ctx context.Context, ids []string, most int) ([]blackboard.Outline, []error, error) {
	all, each, err := c.Artefacts.OutlinesWithTexts(ctx, ids, most)
	if err != nil {
		return all, each, err
	}
	var read []*blackboard.Outline
	for i := range all {
		if each[i] == nil {
			read = append(read, &all[i])
		}
	}
	return all, each, c.compare(ctx, read)
}

// ReadPayloads reads short payloads into outlines, and compares all of these.
func (c *Comparison) ReadPayloads(ctx context.Context, all []*blackboard.Outline, most int) error {
	if err := c.Artefacts.ReadPayloads(ctx, all, most); err != nil {
		return err
	}
	return c.compare(ctx, all)
}

// compare marks the altered ones of artefacts that were read.
func (c *Comparison) compare(ctx context.Context, all []*blackboard.Outline) error {
	var fresh []*blackboard.Outline
	for _, a := range all {
		if _, known := c.errs[a.ID]; !known {
			fresh = append(fresh, a)
		}
	}
	each, err := altered(ctx, c.board, fresh)
	if err != nil {
		c.unread = cmp.Or(c.unread, err)
		return ctx.Err()
	}
	for i, a := range fresh {
		if c.errs[a.ID] = each[i]; each[i] != nil {
			c.altered = append(c.altered, each[i])
		}
	}
	for _, a := range all {
		a.Altered = c.errs[a.ID] != nil
	}
	return nil
}

// Failure is the error of a command that has printed altered artefacts, or such as could not be compared; nil: none. It says each but the last, which
// is in the error.
func (c *Comparison) Failure(sayf func(format string, args ...any)) error {
	if len(c.altered) == 0 {
		return c.unread
	}
	last := len(c.altered) - 1
	for _, err := range c.altered[:min(last, mostSaid)] {
		sayf("sett: note: %s\n", role.Clean(err.Error()))
	}
	if left := last - mostSaid; left > 0 {
		sayf("sett: note: %s more\n", words.Count(left, "artefact"))
	}
	return changedByHand(c.altered[last])
}

// mostSaid is how many altered artefacts are named.
const mostSaid = 20

// changedByHand is the error of an artefact that is not as the ledger recorded it.
func changedByHand(err error) error {
	return role.Fail(role.Failed, err, "it was changed on the blackboard, not by Sett; sett ledger export names all such records")
}

// Trust returns an error when artefacts that a command is about to act on are not as the ledger recorded them, or cannot be
// compared. The command does nothing then.
func Trust(ctx context.Context, b *instance.Board, all ...blackboard.Artefact) error {
	whole := make([]*blackboard.Outline, len(all))
	for i, a := range all {
		whole[i] = &blackboard.Outline{Artefact: a, PayloadSize: len(a.Payload)}
	}
	each, err := altered(ctx, b, whole)
	for _, one := range each {
		err = cmp.Or(err, changedByHand(one))
	}
	return err
}

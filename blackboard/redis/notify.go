package redis

import (
	"context"
	"fmt"
	"regexp"
	"sync"

	"sett/blackboard/redis/internal/store"
)

// position is the pattern of a position in the ledger.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,20}-[0-9]{1,20}$`) })

// Notified returns the position in the ledger up to which people have been
// notified; "" when they never were, or when the stored text is no position.
func (b Ledger) Notified(ctx context.Context) (string, error) {
	at, err := b.c.Text(ctx, "read notified", "GET", b.c.Keys.Notified())
	if err != nil || !position().MatchString(at) {
		return "", err
	}
	return at, nil
}

// SetNotified stores that position. It is the one thing that the notifier writes,
// and nobody else does while it runs, so that it takes no script to write it.
func (b Ledger) SetNotified(ctx context.Context, at string) error {
	if !position().MatchString(at) {
		return fmt.Errorf("store notified: %q is no position in the ledger", at)
	}
	_, err := b.c.Ask(ctx, "store notified", "SET", b.c.Keys.Notified(), at)
	return err
}

// ForgetNotified removes that position: the notifier then begins with recent
// entries, as at its very first start.
func (b Ledger) ForgetNotified(ctx context.Context) error {
	_, err := b.c.Ask(ctx, "forget notified", "DEL", b.c.Keys.Notified())
	return err
}

// tracedKey is the key traced. No script uses it.
func tracedKey(k store.Keys) string { return k.Prefix + "traced" }

// Traced returns the position in the ledger up to which the traces of goals have been
// sent; "": none were.
func (b Ledger) Traced(ctx context.Context) (string, error) {
	at, err := b.c.Text(ctx, "read traced", "GET", tracedKey(b.c.Keys))
	if err != nil || !position().MatchString(at) {
		return "", err
	}
	return at, nil
}

// SetTraced stores that position; "" removes it. Two leaders may both do so for a moment:
// a trace that is sent twice is one trace.
func (b Ledger) SetTraced(ctx context.Context, at string) error {
	if at == "" {
		_, err := b.c.Ask(ctx, "forget traced", "DEL", tracedKey(b.c.Keys))
		return err
	}
	if !position().MatchString(at) {
		return fmt.Errorf("store traced: %q is no position in the ledger", at)
	}
	_, err := b.c.Ask(ctx, "store traced", "SET", tracedKey(b.c.Keys), at)
	return err
}

// WaitsForHuman says whether the artefact is a Question that nobody has answered
// yet, or is held by a gate.
func (b Index) WaitsForHuman(ctx context.Context, artefactID string) (bool, error) {
	for _, index := range []string{b.c.Keys.Questions(), b.c.Keys.Gates()} {
		since, err := b.c.Text(ctx, "read open work", "ZSCORE", index, artefactID)
		if err != nil || since != "" {
			return since != "", err
		}
	}
	return false, nil
}

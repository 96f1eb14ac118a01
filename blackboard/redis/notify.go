package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"

	"sett/blackboard"
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

// SetNotified stores that position. Nobody else does while the notifier runs, so that it
// takes no script to write it.
func (b Ledger) SetNotified(ctx context.Context, at string) error {
	if !position().MatchString(at) {
		return fmt.Errorf("store notified: %q is no position in the ledger", at)
	}
	_, err := b.c.Ask(ctx, "store notified", "SET", b.c.Keys.Notified(), at)
	return err
}

// ForgetNotified removes that position, of a notifier that was removed: the next one begins
// with recent entries, but with none that was told before. It can be repeated.
func (b Ledger) ForgetNotified(ctx context.Context) error {
	at, err := b.Notified(ctx)
	if err == nil && at != "" {
		err = b.SetNotifier(ctx, blackboard.Notifier{Told: at})
	}
	if err != nil {
		return err
	}
	_, err = b.c.Ask(ctx, "forget notified", "DEL", b.c.Keys.Notified())
	return err
}

// notifierKey is the key notifier. No script uses it.
func notifierKey(k store.Keys) string { return k.Prefix + "notifier" }

// Notifier returns the notifier's last word about itself; the zero value: none that can be read.
func (b Ledger) Notifier(ctx context.Context) (n blackboard.Notifier, err error) {
	text, err := b.c.Text(ctx, "read notifier", "GET", notifierKey(b.c.Keys))
	if err != nil || json.Unmarshal([]byte(text), &n) != nil {
		return blackboard.Notifier{}, err
	}
	if !position().MatchString(n.Told) {
		n.Told = ""
	}
	return n, nil
}

// SetNotifier stores the notifier's word about itself. This key and that of the position
// are all that it may write.
func (b Ledger) SetNotifier(ctx context.Context, n blackboard.Notifier) error {
	text, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("store notifier: %w", err)
	}
	_, err = b.c.Ask(ctx, "store notifier", "SET", notifierKey(b.c.Keys), string(text))
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

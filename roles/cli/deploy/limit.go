package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sett/roles/role"
)

// errTooLong is the cause with which the context of an up ends when its time is over.
var errTooLong = errors.New("time is over")

// standstill is how long an up without --timeout waits while nothing more becomes ready.
// Many agents on a busy machine take longer than that, but one after another.
const standstill = time.Minute

// limit is the time that an up has.
type limit struct {
	whole *time.Duration // --timeout: 0 for no limit; nil: until a standstill
	still *time.Timer    // until then
}

// context is a context that ends with errTooLong when the time is over.
func (l *limit) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.whole != nil {
		return role.WithLimit(ctx, *l.whole, errTooLong)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l.still = time.AfterFunc(standstill, func() { cancel(errTooLong) })
	return ctx, func() { l.still.Stop(); cancel(nil) }
}

// moved has the time until a standstill begin anew.
func (l *limit) moved() {
	if l.still != nil {
		l.still.Reset(standstill)
	}
}

// over says for how long something was not ready when the time was over.
func (l *limit) over() string {
	if l.whole != nil {
		return fmt.Sprintf("not ready after %s", *l.whole)
	}
	return fmt.Sprintf("not ready, and nothing more became ready for %s", standstill)
}

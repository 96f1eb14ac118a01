package deploy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestStandstill: without --timeout each part that becomes ready gives the others another
// minute, and with it none does.
func TestStandstill(t *testing.T) {
	most := 90 * time.Second
	for name, c := range map[string]struct {
		timeout *time.Duration
		over    bool // after two parts in 100 seconds
		says    string
	}{
		"default":   {nil, false, "not ready, and nothing more became ready for 1m0s"},
		"--timeout": {&most, true, "not ready after 1m30s"},
		"unlimited": {new(time.Duration), false, "not ready after 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limit{whole: c.timeout}
				ctx, cancel := l.context(t.Context())
				defer cancel()
				for range 2 {
					time.Sleep(50 * time.Second)
					l.moved()
				}
				synctest.Wait()
				if over := errors.Is(context.Cause(ctx), errTooLong); over != c.over {
					t.Errorf("over after 100 seconds: %v", over)
				}
				time.Sleep(standstill + time.Second)
				synctest.Wait()
				if over := errors.Is(context.Cause(ctx), errTooLong); over != (name != "unlimited") {
					t.Errorf("over after a standstill: %v", over)
				}
				if says := l.over(); says != c.says {
					t.Errorf("says %q", says)
				}
			})
		})
	}
}

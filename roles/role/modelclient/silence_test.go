package modelclient

import (
	"errors"
	"io"
	"testing"
	"time"
)

// quiet says something, and ends after a time.
type quiet struct {
	now  time.Time
	gave bool
}

func (q *quiet) Read(p []byte) (int, error) {
	if !q.gave {
		q.gave = true
		return copy(p, "data: {\"choices\":[{\"delta\":{\"content\":\"I\"}}]}\n\n"), nil
	}
	q.now = q.now.Add(5 * time.Minute)
	return 0, io.ErrUnexpectedEOF
}

// TestSilence: the end of a connection after a long silence says so.
func TestSilence(t *testing.T) {
	t.Parallel()
	q := &quiet{}
	err := events(q, func() time.Time { return q.now }, &chatAnswer{})
	if !errors.Is(err, ErrCut) || err.Error() != "the provider was silent for 5m0s, then the connection ended in the middle of the answer" {
		t.Errorf("got %v", err)
	}
}

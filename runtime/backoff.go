package runtime

import "time"

// Backoff computes the pauses between attempts to run a unit: each pause is twice the
// one before. After a long run, the next pause is the shortest again.
type Backoff struct {
	Shortest time.Duration // the first pause
	Longest  time.Duration // no pause is longer
	Healthy  time.Duration // a run of this length resets the pauses; 0: every run resets them

	last time.Duration
}

// Failed returns the pause after an attempt that failed.
func (b *Backoff) Failed() time.Duration {
	b.last = min(max(2*b.last, b.Shortest), b.Longest)
	return b.last
}

// Ended returns the pause after a run of this length.
func (b *Backoff) Ended(ran time.Duration) time.Duration {
	if ran >= b.Healthy {
		b.Reset()
	}
	return b.Failed()
}

// Reset makes the next pause the shortest again.
func (b *Backoff) Reset() { b.last = 0 }

// Last returns the latest pause; 0: none since the beginning or Reset.
func (b *Backoff) Last() time.Duration { return b.last }

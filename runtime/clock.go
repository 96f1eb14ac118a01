package runtime

import "time"

// Ahead is how far a clock that showed at between two moments of ours is ahead, as
// far as the way of its answer cannot explain it; negative: it is behind.
func Ahead(at, before, after time.Time) time.Duration {
	switch {
	case at.Before(before):
		return at.Sub(before)
	case at.After(after):
		return at.Sub(after)
	}
	return 0
}

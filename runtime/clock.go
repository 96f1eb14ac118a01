package runtime

import "time"

// Ahead is the lead of a remote clock that showed at between two moments of the local
// clock, without the time that its answer may have taken; negative: it is behind.
func Ahead(at, before, after time.Time) time.Duration {
	switch {
	case at.Before(before):
		return at.Sub(before)
	case at.After(after):
		return at.Sub(after)
	}
	return 0
}

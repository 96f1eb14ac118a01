package blackboard

import "errors"

// Errors that callers tell apart. The packages that return them wrap them with
// what was being done.
var (
	// ErrNotFound: no such artefact, claim, workflow or agent.
	ErrNotFound = errors.New("not found")
	// ErrAmbiguous: an abbreviated id fits several.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrRefused: the move contradicts what is stored; repeating it is pointless.
	ErrRefused = errors.New("refused")
	// ErrStale: the caller decided on an old state, or is no longer the leader.
	ErrStale = errors.New("stale")
	// ErrStopping: the instance is being stopped and takes no new work.
	ErrStopping = errors.New("instance is stopping")
	// ErrUnavailable: the blackboard cannot be reached.
	ErrUnavailable = errors.New("blackboard unavailable")
	// ErrCorrupt: a stored record has missing or broken fields.
	ErrCorrupt = errors.New("corrupt record")
)

// RefusedError is an ErrRefused that says why: the blackboard's own sentence, which
// people are shown.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return ErrRefused.Error() + ": " + e.Reason }
func (e *RefusedError) Unwrap() error { return ErrRefused }

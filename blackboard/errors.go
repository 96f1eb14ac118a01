package blackboard

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that callers tell apart. Packages wrap them with the operation that failed.
var (
	// ErrNotFound: no such artefact, claim, workflow or agent.
	ErrNotFound = errors.New("not found")
	// ErrAmbiguous: an abbreviated id fits several.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrRefused: the move contradicts the stored records; repeating it is pointless.
	ErrRefused = errors.New("refused")
	// ErrStale: the caller decided on an old state, or is no longer the leader.
	ErrStale = errors.New("stale")
	// ErrNotLeader: another orchestrator leads now. It comes with ErrStale.
	ErrNotLeader = errors.New("no longer the leader")
	// ErrStopping: the instance is being stopped and takes no new work.
	ErrStopping = errors.New("instance is stopping")
	// ErrUnavailable: the blackboard cannot be reached.
	ErrUnavailable = errors.New("blackboard unavailable")
	// ErrBusy: it answers nobody, because a script on it runs without an end. It wraps
	// ErrUnavailable.
	ErrBusy = fmt.Errorf("%w: a script on it runs without an end", ErrUnavailable)
	// ErrCorrupt: a stored record has missing or broken fields.
	ErrCorrupt = errors.New("corrupt record")
)

// RefusedError is an ErrRefused with the blackboard's own sentence for people.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return ErrRefused.Error() + ": " + e.Reason }
func (e *RefusedError) Unwrap() error { return ErrRefused }

// NoWritesError says that the blackboard answers reads and refuses writes. It wraps
// ErrUnavailable.
type NoWritesError struct {
	Addr string
	Why  string // the server's words, which begin with its code, such as READONLY
	Down bool   // no part of the instance goes on: a person has to start it
}

func (e *NoWritesError) Error() string {
	return fmt.Sprintf("blackboard %s refuses writes: %s", e.Addr, e.Why)
}

// Unwrap makes errors.Is find ErrUnavailable.
func (e *NoWritesError) Unwrap() error { return ErrUnavailable }

// Remedy returns the way to make the server take writes again.
func (e *NoWritesError) Remedy() string {
	code, _, _ := strings.Cut(e.Why, " ")
	remedy := ""
	switch code {
	case "OOM":
		remedy = "its memory is full: raise maxmemory of that server, or free memory there"
	case "READONLY":
		remedy = "it is a read-only replica: redis.url has to name the primary"
	case "NOREPLICAS":
		remedy = "too few of its replicas are connected: see min-replicas-to-write of that server"
	default:
		if e.Down {
			return "is its disk full? Free some room, then sett up"
		}
		return "is its disk full? Once there is room the work goes on by itself; sett doctor"
	}
	if e.Down {
		remedy += "; then sett up"
	}
	return remedy
}

// SchemaError says that the records of an instance have another form than this sett reads.
type SchemaError struct {
	Instance, Has, Wants string
	Older                bool // they can be converted
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("the records of instance %s have schema %s, this sett writes %s", e.Instance, e.Has, e.Wants)
}

// Remedy returns the way on.
func (e *SchemaError) Remedy() string {
	if e.Older {
		return "sett up converts them, once"
	}
	return "use the sett that wrote them, or a newer one"
}

// AmbiguousError lists the ids that an abbreviated id fits. It wraps ErrAmbiguous.
type AmbiguousError struct {
	Part       string
	Candidates []string // at most ten
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("id %s fits several: %s", e.Part, strings.Join(e.Candidates, ", "))
}

// Unwrap makes errors.Is find ErrAmbiguous.
func (e *AmbiguousError) Unwrap() error { return ErrAmbiguous }

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

// DeniedError says that the blackboard's server answers, and takes neither the user nor its password, or
// refuses rights that Sett needs. Once a board was open that may be for a while only, as while a
// password is rotated: it comes with ErrUnavailable then. At the first connection it does not.
type DeniedError struct {
	Addr  string
	Why   string // the server's words, which begin with its code, such as WRONGPASS
	Login bool   // it refuses the login, and not a command
	User  string // of the URL; empty: see Rule
	Rule  string // of Redis' ACL, with which the server can be asked what else the user lacks; empty: it can be
	Err   error  // the server's error
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("blackboard %s refuses the user of its URL: %s", e.Addr, e.Why)
}

// Unwrap returns the server's error.
func (e *DeniedError) Unwrap() error { return e.Err }

// Remedy returns the way to make the server take the user.
func (e *DeniedError) Remedy() string {
	if e.Login {
		return "are user and password in its URL right, and is the user on? See ACL LIST on that server"
	}
	if e.Rule != "" {
		return fmt.Sprintf("on that server, type: ACL SETUSER %s %s; sett doctor then names what else the user lacks", e.User, e.Rule)
	}
	return "the user lacks rights on that server: sett doctor names those that Sett needs"
}

// RightsError names the rights that Sett needs, and the user of a server of one's own lacks.
type RightsError struct {
	Addr, User string
	Keys       bool     // it may not use the instance's keys
	Commands   []string // that it may not make
	Rule       string   // of Redis' ACL, which gives it all that
}

func (e *RightsError) Error() string {
	var lacks []string
	if e.Keys {
		lacks = append(lacks, "use the keys of the instance")
	}
	if len(e.Commands) > 0 {
		lacks = append(lacks, strings.Join(e.Commands, ", "))
	}
	return fmt.Sprintf("user %s of blackboard %s lacks rights that Sett needs; it may not: %s", e.User, e.Addr, strings.Join(lacks, ", "))
}

// Remedy returns the command that gives the user its rights.
func (e *RightsError) Remedy() string {
	return fmt.Sprintf("on that server, type: ACL SETUSER %s %s", e.User, e.Rule)
}

// CommandError says that the blackboard's server lacks commands that Sett needs, as one does whose operator renamed them.
type CommandError struct {
	Addr     string
	Commands []string // none: a script needs one, and the server does not tell which
	Err      error    // the server's error; nil: it was asked
}

func (e *CommandError) Error() string {
	switch len(e.Commands) {
	case 0:
		return fmt.Sprintf("the Redis at %s lacks a command that a script of Sett needs", e.Addr)
	case 1:
		return fmt.Sprintf("the Redis at %s lacks the command %s, which Sett needs", e.Addr, e.Commands[0])
	}
	return fmt.Sprintf("the Redis at %s lacks commands that Sett needs: %s", e.Addr, strings.Join(e.Commands, ", "))
}

// Unwrap returns the server's error.
func (e *CommandError) Unwrap() error { return e.Err }

// Remedy returns the way to give the server its commands back.
func (e *CommandError) Remedy() string {
	return "take its rename-command off the configuration of that server, and restart it"
}

// HalfMadeError says that a script was begun, and the server refuses one of its commands to the user: its move may be half made.
// It is not made again.
type HalfMadeError struct {
	Addr string
	Err  error // the server's error
}

func (e *HalfMadeError) Error() string {
	return fmt.Sprintf("the user of blackboard %s lacks a right that a script of Sett needs: a move may be half made", e.Addr)
}

// Unwrap returns the server's error.
func (e *HalfMadeError) Unwrap() error { return e.Err }

// Remedy returns the way to find the right and the move.
func (e *HalfMadeError) Remedy() string {
	return "sett doctor names the right; before you repeat a command, sett goals shows whether its goal was posted all the same"
}

// KeyTypeError says that a key of the instance has another type than Sett gives it: another application wrote to it. It
// does not pass by itself.
type KeyTypeError struct {
	Addr      string
	Key       string // empty: it is the key of a single record, or the server does not tell
	Has, Want string // types, as Redis calls them
	Err       error  // the server's error
}

func (e *KeyTypeError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("a key of the instance at %s has another type than Sett gives it: another application wrote to it", e.Addr)
	}
	return fmt.Sprintf("the key %s at %s has another type than Sett gives it (%s, not %s): another application wrote to it", e.Key, e.Addr, e.Has, e.Want)
}

// Unwrap returns the server's error.
func (e *KeyTypeError) Unwrap() error { return e.Err }

// Remedy returns the way to find out how much is lost, and to bring it back.
func (e *KeyTypeError) Remedy() string {
	const after = "then sett doctor; what the key had is lost, and an export brings it back: sett down --purge, sett up, sett ledger import FILE"
	if e.Key == "" {
		return "keep that application off this database, and have TYPE on that server find the key; " + after
	}
	_, rest, _ := strings.Cut(e.Key, "{") // without the beginning of Sett's keys, in the same slot of a cluster
	return fmt.Sprintf("keep that application off this database; on that server, type: RENAME '%s' 'foreign:{%s'; %s", e.Key, rest, after)
}

// Mendable is an error about the blackboard's server that tells how to mend it.
type Mendable interface {
	error
	Remedy() string
}

// MendableOf returns the error about a server that refuses writes, the user or a command, of a script, too, or has a key of
// another type; nil: err has none.
func MendableOf(err error) Mendable {
	var (
		writes  *NoWritesError
		denied  *DeniedError
		lacks   *CommandError
		half    *HalfMadeError
		foreign *KeyTypeError
	)
	switch {
	case errors.As(err, &writes):
		return writes
	case errors.As(err, &denied):
		return denied
	case errors.As(err, &lacks):
		return lacks
	case errors.As(err, &half):
		return half
	case errors.As(err, &foreign):
		return foreign
	}
	return nil
}

// UnsureError says that a move may have been made: it was sent, and its answer was lost. Its error wraps
// ErrUnavailable.
type UnsureError struct {
	ID   string // of the record that shows whether it was made; empty: not known
	Made bool   // it was made, and a failover may lose it: replicas have not confirmed it
	Err  error
}

func (e *UnsureError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the last attempt.
func (e *UnsureError) Unwrap() error { return e.Err }

// RemovedError says that the ledger, which only grows, lacks entries that were added. It wraps ErrCorrupt.
type RemovedError struct {
	Entries int64  // that are gone
	Last    string // the latest of them; empty: the server does not tell
}

func (e *RemovedError) Error() string {
	entries, last := "entries were", ""
	if e.Entries == 1 {
		entries = "entry was"
	}
	if e.Last != "" {
		last = ", the latest at " + e.Last
	}
	return fmt.Sprintf("%d %s removed from the ledger%s: not by Sett, which removes none", e.Entries, entries, last)
}

// Unwrap makes errors.Is find ErrCorrupt.
func (e *RemovedError) Unwrap() error { return ErrCorrupt }

// SchemaError says that the records of an instance have another form than this sett reads.
type SchemaError struct {
	Instance, Has, Wants string
	Older                bool // they can be converted
	Begun                bool // a conversion was interrupted: an older sett is shut out already
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("the records of instance %s have schema %s, this sett writes %s", e.Instance, e.Has, e.Wants)
}

// Remedy returns the way on.
func (e *SchemaError) Remedy() string {
	switch {
	case e.Older && e.Begun:
		return "sett up goes on to convert them"
	case e.Older:
		return "sett up converts them, once; an older sett is shut out from then on, so make a backup with that one first: sett ledger export"
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

package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// DefaultSnapshotRecords is how many commands the log takes before a snapshot
// is due, when Options does not say. Replaying as many takes 0.3 s.
const DefaultSnapshotRecords = 20_000

// Options are the directory of the blackboard and its password.
type Options struct {
	// Dir holds the log, the snapshot and the lock; it is created with mode
	// 0700 when missing. Required.
	Dir string
	// Password that clients send with AUTH, as the user "default" or with no
	// user. Empty: no authentication.
	Password string
	// Logger logs events beside the answers to clients. Nil: none.
	Logger *slog.Logger
	// Now is the clock, used to the microsecond. Nil: time.Now.
	Now func() time.Time
	// SnapshotRecords is how many logged commands make a snapshot due.
	// Zero or less: DefaultSnapshotRecords.
	SnapshotRecords int
	// Own says by the digest that a script is the owner's and surely has an end: it runs
	// faster, unwatched. Nil: none is.
	Own func(sha string) bool
	// BusyAfter is the time of another script, after which others are told that it keeps
	// the server busy, and may end it. Zero: 5 s.
	BusyAfter time.Duration
	// Sync makes a file's content durable. Nil: (*os.File).Sync.
	Sync func(*os.File) error
}

// withDefaults is o with every zero field replaced.
func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("open blackboard: no directory given")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SnapshotRecords <= 0 {
		o.SnapshotRecords = DefaultSnapshotRecords
	}
	if o.Own == nil {
		o.Own = func(string) bool { return false }
	}
	if o.BusyAfter <= 0 {
		o.BusyAfter = defaultBusyAfter
	}
	if o.Sync == nil {
		o.Sync = (*os.File).Sync
	}
	return o, nil
}

// Report has the findings of Open.
type Report struct {
	// Snapshot is the number of keys that came from the snapshot.
	Snapshot int
	// Records is the number of logged commands replayed on top of it.
	Records int
	// Repaired is how many bytes of a truncated last frame were cut off the
	// log. They belong to writes that were never acknowledged. Zero: none.
	Repaired int64
	// Took is how long Open needed.
	Took time.Duration
}

// CorruptError says that a file is damaged where no crash of ours can have
// damaged it. Nothing on disk was changed.
type CorruptError struct {
	File   string // path of the damaged file
	Offset int64  // byte position of the damaged part
	Reason string
}

// Error names the file and the position.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("read %s: damaged at byte %d: %s", e.File, e.Offset, e.Reason)
}

// Remedy returns the way on.
func (e *CorruptError) Remedy() string {
	return fmt.Sprintf("nothing was changed; restore %s from a copy, or give the record up with sett down --purge", e.File)
}

// LockedError says that another server has the directory open.
type LockedError struct {
	File string // path of the lock file
	PID  int    // process that holds it, 0 if unknown
}

// Error names the lock and its holder.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("lock %s: held by another process", e.File)
	}
	return fmt.Sprintf("lock %s: held by process %d", e.File, e.PID)
}

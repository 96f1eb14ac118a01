package archive

import (
	"cmp"
	"fmt"
	"time"

	"sett/blackboard"
)

const (
	// mostAhead is how far an entry may be ahead of the blackboard's clock. Each later entry gets the time of the last one.
	mostAhead = 24 * time.Hour
	// lastMilli is the end of the year 9999, the last that JSON writes. Behind the last id of a stream nothing can be added.
	lastMilli = 253402300799999
)

// entries checks the ids of a ledger that is imported.
type entries struct {
	now   time.Time // by the blackboard's clock
	set   time.Time // of the last entry that says that the clock was set back: those around it are ahead for this reason
	last  string
	at    entryTime // of the last one
	late  error     // see recorded.check
	ahead string    // the first entry that is too far ahead without such a reason
}

// next takes the next entry.
func (e *entries) next(id string, fields Fields) error {
	ms, n, ok := blackboard.Position(id)
	switch {
	case !ok || ms == 0 && n == 0:
		return fmt.Errorf("%q is no id of an entry", id)
	case ms >= lastMilli:
		return fmt.Errorf("entry %q is of a time after which no entry can be added", id)
	case e.last != "" && !blackboard.IsAfter(id, e.last):
		return fmt.Errorf("entry %q does not come after entry %q", id, e.last)
	case len(fields) == 0:
		return fmt.Errorf("entry %q has no fields", id)
	}
	e.last, e.at = id, e.at.after(id)
	switch at := timeOfEntry(ms); {
	case string(fields["kind"]) == string(blackboard.EventClock):
		e.ahead, e.set = "", at
	case e.ahead == "" && at.Sub(e.now) > mostAhead && at.Sub(e.set) > mostAhead:
		e.ahead = id
	}
	return nil
}

// rest returns an error when the ledger, or an artefact's entry, is ahead of the clock, and the ledger does not say so itself.
func (e *entries) rest() error {
	if e.late != nil && e.set.IsZero() {
		return e.late
	}
	if e.ahead == "" {
		return nil
	}
	ms, _, _ := blackboard.Position(e.ahead)
	return fmt.Errorf("entry %q is of %s, and the blackboard's clock says %s: every new entry would get the time of the file's last one",
		e.ahead, timeOfEntry(ms).Format(time.RFC3339), e.now.UTC().Format(time.RFC3339))
}

func timeOfEntry(ms uint64) time.Time {
	return time.UnixMilli(int64(ms)).UTC() //nolint:gosec // at most lastMilli
}

func (i *imports) event(line []byte) error {
	var l EventLine
	if err := i.decode(line, &l); err != nil {
		return err
	}
	if err := i.entries.next(l.ID, l.Fields); err != nil {
		return i.wrong("%s", err)
	}
	stored := textOf(l.Fields)
	err, late := i.artefacts.check(i.entries.at, stored)
	if err != nil {
		return i.wrong("%s", err)
	}
	i.entries.late = cmp.Or(i.entries.late, late)
	i.hear(stored)
	return i.stage.event(l.ID, stored)
}

package blackboard

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrLost says that the blackboard is not the one that the instance had.
var ErrLost = errors.New("ledger lost")

// Mark is a sight of a blackboard: which one it is, and how far its ledger was. The
// ledger only grows, so that a blackboard with less is an older copy, and so is one with
// as much that has other entries. The zero Mark knows nothing.
type Mark struct {
	ID      string `json:"id"`             // random; made at the instance's first start
	Adopted int64  `json:"adopted"`        // how often a person adopted the blackboard as it was
	Entries int64  `json:"entries"`        // of the ledger
	Epoch   int64  `json:"epoch"`          // number of the newest lead
	Last    string `json:"last,omitempty"` // position of the ledger's last entry; empty: it was not looked at
}

// String is the form in which marks travel; empty: nothing is known.
func (m Mark) String() string {
	if m.ID == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d:%d:%s", m.ID, m.Adopted, m.Entries, m.Epoch, m.Last)
}

// ParseMark reads the form of String, and that of an older sett, without the last entry.
func ParseMark(s string) (m Mark, err error) {
	parts := strings.Split(s, ":")
	known := len(parts) == 4 || len(parts) == 5
	if s == "" || known && parts[0] == "" {
		return m, nil
	}
	if !known {
		return m, fmt.Errorf("parse mark %q: want ID:ADOPTED:ENTRIES:EPOCH:LAST", s)
	}
	if len(parts) == 5 && parts[4] != "" {
		if _, _, ok := Position(parts[4]); !ok {
			return m, fmt.Errorf("parse mark %q: %q is no position", s, parts[4])
		}
		m.Last = parts[4]
	}
	for i, n := range []*int64{&m.Adopted, &m.Entries, &m.Epoch} {
		if *n, err = strconv.ParseInt(parts[i+1], 10, 64); err != nil || *n < 0 {
			return Mark{}, fmt.Errorf("parse mark %q: %q is no count", s, parts[i+1])
		}
	}
	m.ID = parts[0]
	return m, nil
}

// Position takes apart a position in the ledger: milliseconds since 1970, and the number among the entries of that one.
func Position(s string) (ms, n uint64, ok bool) {
	first, second, _ := strings.Cut(s, "-")
	ms, err1 := strconv.ParseUint(first, 10, 64)
	n, err2 := strconv.ParseUint(second, 10, 64)
	return ms, n, err1 == nil && err2 == nil
}

// IsAfter says whether a position in the ledger is later than another one. What is no
// position is before all.
func IsAfter(a, b string) bool {
	ms1, n1, _ := Position(a)
	ms2, n2, _ := Position(b)
	return ms1 > ms2 || ms1 == ms2 && n1 > n2
}

// laterPosition returns the later one.
func laterPosition(a, b string) string {
	if IsAfter(b, a) {
		return b
	}
	return a
}

// After returns the mark with what a later sight adds. A sight of another blackboard
// adds nothing.
func (m Mark) After(later Mark) Mark {
	switch {
	case m.ID == "" || m.ID == later.ID && later.Adopted > m.Adopted:
		return later
	case m.ID == later.ID && later.Adopted == m.Adopted:
		m.Entries, m.Epoch, m.Last = max(m.Entries, later.Entries), max(m.Epoch, later.Epoch), laterPosition(m.Last, later.Last)
	}
	return m
}

// Loss says in which way a blackboard is not the one that an instance had.
type Loss string

// The losses, as the scripts name them.
const (
	LossEmpty   Loss = "unmarked" // it has no mark: it was emptied, or is another server
	LossForeign Loss = "foreign"  // it has the mark of another blackboard
	LossOlder   Loss = "older"    // its ledger lacks what was seen
)

// LostError is an ErrLost with the blackboard that was met.
type LostError struct {
	Addr, Instance string
	Loss           Loss
	Known, Met     Mark
	Removed        *RemovedError // entries that were seen were removed, and it is no older copy; nil: none, as far as the server tells
}

func (e *LostError) Error() string {
	at := fmt.Sprintf("the blackboard at %s is not the one that %s had: ", e.Addr, e.Instance)
	switch {
	case e.Removed != nil:
		return fmt.Sprintf("the blackboard at %s has not all that %s had: %v", e.Addr, e.Instance, e.Removed)
	case e.Loss == LossForeign:
		return at + "it has another ledger"
	case e.Loss == LossOlder && e.Met.Entries < e.Known.Entries:
		return at + fmt.Sprintf("it is an older copy, with %d entries in its ledger of %d that were seen", e.Met.Entries, e.Known.Entries)
	case e.Loss == LossOlder && e.Met.Epoch < e.Known.Epoch:
		return at + "it is an older copy, which knows nothing of the last leader"
	case e.Loss == LossOlder:
		return at + "it is an older copy that has gone on by itself: its ledger lacks an entry that was seen"
	}
	return at + "the ledger is gone"
}

// Explains says whether entries that the server knows to be removed are all that the blackboard lacks.
func (e *LostError) Explains(r *RemovedError) bool {
	return r != nil && e.Loss == LossOlder && e.Met.Epoch >= e.Known.Epoch && e.Met.Adopted == e.Known.Adopted &&
		e.Met.Entries+r.Entries >= e.Known.Entries && (!IsAfter(e.Known.Last, e.Met.Last) || !IsAfter(e.Known.Last, r.Last))
}

// Unwrap makes errors.Is find ErrLost.
func (e *LostError) Unwrap() error { return ErrLost }

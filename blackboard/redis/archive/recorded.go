package archive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"sett/blackboard"
)

// recorded holds a seal of each artefact until its record and the ledger's entry have been compared: an export has the
// entry's first, an import the record's.
type recorded map[string]*seal

// seal is the size and the digest of a payload, and the facts of the record around it.
type seal struct {
	facts
	sum     [sha256.Size]byte
	size    int    // below 0: the entry has no valid one
	checked bool   // or there is nothing to compare
	outcome uint32 // of the grant whose result it is; 0: not known
	lost    bool   // there is no record that can be read
	listed  bool   // in the index
}

func sealOf(stored map[string]string) seal {
	payload := stored["payload"]
	return seal{facts: factsOf(stored), sum: sha256.Sum256(unsafe.Slice(unsafe.StringData(payload), len(payload))), size: len(payload)}
}

// sealIn is the one in an entry.
func sealIn(at entryTime, entry map[string]string) seal {
	sum, err1 := hex.DecodeString(entry["sha256"])
	size, err2 := strconv.Atoi(entry["size"])
	s := seal{size: size}
	if err1 != nil || err2 != nil || copy(s.sum[:], sum) != len(sum) || entry["sha256"] != hex.EncodeToString(s.sum[:]) || entry["size"] != strconv.Itoa(size) {
		return seal{size: -1}
	}
	s.facts = factsIn(at, entry)
	return s
}

func (r recorded) add(id string, stored map[string]string) {
	s := sealOf(stored)
	r[id] = &s
}

// lose takes note of an artefact of which there is nothing to compare. Its record can be read or not.
func (r recorded) lose(id string, readable bool) {
	s := &seal{checked: true, lost: !readable}
	if was := r[id]; was != nil {
		s.outcome = was.outcome
	}
	r[id] = s
}

// has says whether there is such an artefact, with a record.
func (r recorded) has(id string) bool {
	s := r[id]
	return s != nil && !s.lost
}

// stores returns the artefact that an entry records, which is its result where it
// has one; empty: it records none.
func stores(entry map[string]string) string {
	if entry["sha256"] == "" {
		return ""
	}
	return cmp.Or(entry["result"], entry["artefact"])
}

// hear takes the seal of the artefact that an entry records. The first entry that names it is the one that stored it.
func (r recorded) hear(at entryTime, entry map[string]string) {
	if id := stores(entry); id != "" && r[id] == nil {
		s := sealIn(at, entry)
		s.outcome = outcomeIn(entry)
		r[strings.Clone(id)] = &s // alone, without the entry around it
	}
}

// compare holds an artefact to the entry that was heard.
func (r recorded) compare(id string, stored map[string]string, clockTold bool) error {
	s, is := r[id], sealOf(stored)
	if s == nil {
		r[id] = &seal{checked: true}
		return notInLedger(id)
	}
	s.checked = true
	return s.differs(id, is, clockTold)
}

// differs returns an error when an artefact is not the recorded one.
func (s *seal) differs(id string, is seal, clockTold bool) error {
	switch {
	case s.size < 0:
		return fmt.Errorf("artefact %s cannot be compared: its entry in the ledger has no size or digest: %w", id, blackboard.ErrCorrupt)
	case s.size != is.size || s.sum != is.sum:
		return fmt.Errorf("artefact %s is not what the ledger recorded: its payload has %d bytes and SHA-256 %x, recorded were %d bytes and %x: %w",
			id, is.size, is.sum, s.size, s.sum, blackboard.ErrCorrupt)
	}
	if other := s.facts.differ(is.facts, clockTold); other != "" {
		return fmt.Errorf("artefact %s is not what the ledger recorded: it has another %s: %w", id, other, blackboard.ErrCorrupt)
	}
	return nil
}

// check compares an entry with the artefact that it records, which was added before. The error is late where it holds only
// if the ledger does not say that the clock was set back.
func (r recorded) check(at entryTime, entry map[string]string) (err, late error) {
	id := stores(entry)
	if id == "" {
		return nil, nil
	}
	s, ok := r[id]
	if ok && s.outcome == 0 {
		s.outcome = outcomeIn(entry)
	}
	switch {
	case !ok:
		return onlyInLedger("artefact", id), nil
	case s.checked:
		return nil, nil
	}
	s.checked = true
	want := sealIn(at, entry)
	return want.differs(id, *s, true), want.differs(id, *s, false)
}

// rest returns an error when there is an artefact that no entry recorded.
func (r recorded) rest() error {
	first := ""
	for id, s := range r {
		if !s.checked && (first == "" || id < first) {
			first = id
		}
	}
	if first != "" {
		return notInLedger(first)
	}
	return nil
}

func notInLedger(id string) error {
	return fmt.Errorf("artefact %s is not in the ledger: %w", id, blackboard.ErrCorrupt)
}

func onlyInLedger(kind, id string) error {
	return fmt.Errorf("%s %s is in the ledger and nowhere else: %w", kind, id, blackboard.ErrCorrupt)
}

package archive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"unsafe"

	"sett/blackboard"
)

// recorded holds the seal of each artefact's payload until it has been compared with
// the ledger's entry.
type recorded map[string]*seal

// seal is the size and the digest of a payload.
type seal struct {
	sum     [sha256.Size]byte
	size    int
	checked bool // or there is nothing to compare
}

func (r recorded) add(id, payload string) {
	r[id] = &seal{sum: sha256.Sum256(unsafe.Slice(unsafe.StringData(payload), len(payload))), size: len(payload)}
}

// lose takes note of an artefact of which there is nothing to compare.
func (r recorded) lose(id string) { r[id] = &seal{checked: true} }

// has says whether there is such an artefact, with a record, before its ledger is read.
func (r recorded) has(id string) bool {
	s := r[id]
	return s != nil && !s.checked
}

// stores returns the artefact that an entry records, which is its result where it
// has one; empty: it records none.
func stores(entry map[string]string) string {
	if entry["sha256"] == "" {
		return ""
	}
	return cmp.Or(entry["result"], entry["artefact"])
}

// check compares an entry with the artefact that it records. The first entry that
// names it is the one that stored it.
func (r recorded) check(entry map[string]string) error {
	id := stores(entry)
	if id == "" {
		return nil
	}
	s, ok := r[id]
	if !ok {
		return fmt.Errorf("artefact %s is in the ledger and nowhere else: %w", id, blackboard.ErrCorrupt)
	}
	if s.checked {
		return nil
	}
	if entry["size"] != strconv.Itoa(s.size) || entry["sha256"] != hex.EncodeToString(s.sum[:]) {
		return fmt.Errorf("artefact %s is not what the ledger recorded: its payload has %d bytes and SHA-256 %x, recorded were %s bytes and %s: %w",
			id, s.size, s.sum, entry["size"], entry["sha256"], blackboard.ErrCorrupt)
	}
	s.checked = true
	return nil
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
		return fmt.Errorf("artefact %s is not in the ledger: %w", first, blackboard.ErrCorrupt)
	}
	return nil
}

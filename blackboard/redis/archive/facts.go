package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// facts are those of an artefact, beside its payload, that the ledger has, too: as its record has them, or an entry. There may
// be a million artefacts: a fact is a digest of its value, 0 where an entry does not have it.
type facts struct {
	record  uint64 // see store.RecordOf; entries of an older sett have none
	fields  [len(factNames)]uint32
	created int64 // in microseconds since 1970; 0: not known
	held    bool  // the entry may be later than its artefact: it has the time of the entry before it
}

// factNames are fields of an artefact that entries have one by one.
var factNames = [...]string{"type", "structural_type", "produced_by_agent", "claim_id", "workflow_id", "commit", "version"}

// How far an artefact and its entry, which one script wrote, are apart at most, in microseconds. After the clock was set back an
// entry is later than its artefact, by any time where the ledger says that.
const (
	createdApart = 1_000_000
	heldApart    = 24 * 3600 * createdApart
)

// factsOf are those of a record.
func factsOf(stored map[string]string) (f facts) {
	for i, name := range factNames {
		f.fields[i] = factOf(stored[name])
	}
	f.record = readRecord(store.RecordOf(stored))
	f.created, _ = strconv.ParseInt(stored["created_at"], 10, 64)
	return f
}

// entryTime is the time of an entry.
type entryTime struct {
	ms   int64
	held bool // the entry before it has the same
}

// after returns the time of the next entry.
func (t entryTime) after(id string) entryTime {
	ms, _, _ := blackboard.Position(id)
	return entryTime{int64(ms), int64(ms) == t.ms} //nolint:gosec // a time
}

// factsIn are those in the entry that stored an artefact.
func factsIn(at entryTime, entry map[string]string) (f facts) {
	has := map[string]string{"workflow_id": entry["workflow"]}
	switch {
	case entry["result"] != "":
		has["type"] = entry["result_type"]
	case entry["kind"] == string(blackboard.EventGoal):
		has["type"] = entry["type"]
	case entry["kind"] == string(blackboard.EventResult):
		has["type"], has["structural_type"], has["version"] = entry["type"], entry["structural_type"], entry["version"]
		if has["version"] != "" { // its agent made it, and not the orchestrator after the agent's death
			has["produced_by_agent"], has["claim_id"], has["commit"] = entry["agent"], entry["claim"], entry["commit"]
		}
	}
	for i, name := range factNames {
		if has[name] != "" {
			f.fields[i] = factOf(has[name])
		}
	}
	f.record, f.created, f.held = readRecord(entry["record"]), at.ms*1000, at.held
	return f
}

func factOf(value string) uint32 {
	sum := sha256.Sum256([]byte(value))
	return max(1, binary.BigEndian.Uint32(sum[:]))
}

func readRecord(digits string) uint64 {
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return 0
	}
	return max(1, n)
}

// differ names what a record has that its entry has otherwise; empty: nothing. The ledger may say that the clock was set back.
func (f facts) differ(is facts, clockTold bool) string {
	for i, name := range factNames {
		if f.fields[i] != 0 && f.fields[i] != is.fields[i] {
			return name
		}
	}
	switch apart := is.created - f.created; {
	case f.created == 0:
	case apart > createdApart, apart < -createdApart && !f.held, apart < -heldApart && !clockTold:
		return "created_at"
	}
	if f.record != 0 && f.record != is.record {
		return "summary, metadata, commit, role, thread or list of sources than its entry has the digest of"
	}
	return ""
}

package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// An index can be gone, or a record: evicted, or removed by mistake. The ledger names all claims and goals, and all bids.
// It is read before they are written, and compared with the indexes and with the bids of the claims.

// listed are the claims and goals that are exported. There may be a million of them: the agents that bid on a claim are
// a number, which claims with the same agents share.
type listed struct {
	ids   map[recordID]int32 // where in texts the agents are, from 0; below 0: see unlisted
	texts []string           // names of agents, each between spaces
	known map[string]int32   // the place of a text in texts

	claims, goals unlisted
}

type recordID [blackboard.IDLength]byte

// unlisted are claims or goals that the ledger names and the index lacks. Until its record is read the agents of a
// claim are those in the ledger, and their number is -1 for 0, -2 for 1 and so on.
type unlisted struct {
	ids     []string
	spooled int // the first of them

	found int    // of them, that have a record
	first string // of these
}

func newListed() *listed {
	return &listed{ids: map[recordID]int32{}, texts: []string{" "}, known: map[string]int32{" ": 0}}
}

func keyOf(id string) (key recordID) {
	copy(key[:], id)
	return key
}

func (l *listed) has(id string) bool {
	_, ok := l.ids[keyOf(id)]
	return ok && len(id) == blackboard.IDLength
}

func (l *listed) add(id string) { l.ids[keyOf(id)] = 0 }

func (l *listed) addClaim(c ClaimLine) {
	names := make([]string, 0, len(c.Bids))
	for _, b := range c.Bids {
		names = append(names, b.Agent+"="+string(b.Type))
	}
	l.ids[keyOf(c.ID)] = l.number(names)
}

func (l *listed) number(names []string) int32 {
	slices.Sort(names)
	text := " " + strings.Join(slices.Compact(names), " ") + " "
	n, ok := l.known[text]
	if !ok {
		n = int32(len(l.texts)) //nolint:gosec // no more than claims
		l.texts, l.known[text] = append(l.texts, text), n
	}
	return n
}

// bids returns the bids on a claim, as AGENT=BID, and whether only the ledger has it yet.
func (l *listed) bids(id string) (text string, ledger bool) {
	n := l.ids[keyOf(id)]
	if n < 0 {
		return l.texts[-1-n], true
	}
	return l.texts[n], false
}

// miss takes note of an id in an entry that is not listed.
func (l *listed) miss(in *unlisted, id string) {
	if id == "" || l.has(id) || !blackboard.ValidID(id) {
		return
	}
	l.ids[keyOf(id)] = -1
	in.ids = append(in.ids, strings.Clone(id))
}

func (u *unlisted) find(id string) {
	if u.found++; u.found == 1 {
		u.first = id
	}
}

// hearLedger reads a part of the ledger.
func (e *export) hearLedger(ctx context.Context, after, to string) error {
	return e.eachEntry(ctx, after, to, func(_ string, at entryTime, entry map[string]string) error {
		e.sums.hear(at, entry)
		e.heard.hear(at, entry, e.sums)
		e.listed.miss(&e.listed.claims, entry["claim"])
		e.listed.miss(&e.listed.claims, entry["rework"])
		switch blackboard.EventKind(entry["kind"]) {
		case blackboard.EventGoal:
			e.listed.miss(&e.listed.goals, entry["artefact"])
		case blackboard.EventClock:
			e.clockTold = true
		case blackboard.EventBid:
			return e.hearBid(entry["claim"], bidsIn(entry))
		}
		return nil
	})
}

// hearBid compares the bids of a claim with those of an entry.
func (e *export) hearBid(claim string, said []string) error {
	if !e.listed.has(claim) {
		return nil
	}
	if changed, ok := e.now.changedClaims[claim]; ok { // newer than the spooled one
		e.listed.addClaim(changed)
	}
	bids, ledger := e.listed.bids(claim)
	if ledger {
		e.listed.ids[keyOf(claim)] = -1 - e.listed.number(append(strings.Fields(bids), said...))
		return nil
	}
	return e.broken(claim, compareBids(claim, bids, said))
}

// bidsIn are those in an entry, as AGENT=BID.
func bidsIn(entry map[string]string) []string {
	all := strings.Split(entry["agent"], ",")
	for i := range all {
		all[i] += "=" + entry["to"]
	}
	return all
}

// compareBids holds the bids of a claim's record to those of the ledger.
func compareBids(claim, bids string, said []string) error {
	for _, one := range said {
		if strings.Contains(bids, " "+one+" ") {
			continue
		}
		agent, want, _ := strings.Cut(one, "=")
		_, rest, there := strings.Cut(bids, " "+agent+"=")
		is, _, _ := strings.Cut(rest, " ")
		switch {
		case !there:
			return fmt.Errorf("claim %s: the bid of %s is in the ledger and nowhere else: %w", claim, agent, blackboard.ErrCorrupt)
		case want != "":
			return fmt.Errorf("claim %s is not what the ledger recorded: the bid of %s is %s, recorded is %s: %w", claim, agent, is, want, blackboard.ErrCorrupt)
		}
	}
	return nil
}

// spoolFound keeps the claims and workflows that the ledger alone has, as they are while they are being read.
func (e *export) spoolFound(ctx context.Context) error {
	claims, goals := &e.listed.claims, &e.listed.goals
	for ids := range slices.Chunk(claims.ids, store.Page) {
		lines, err := e.claimLines(ctx, ids)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if err := e.spoolClaim(ctx, e.found, l, claims.faultOf(l.ID, "claim", l.fault())); err != nil {
				return err
			}
			heard, _ := e.listed.bids(l.ID)
			e.listed.addClaim(l)
			bids, _ := e.listed.bids(l.ID)
			if err := e.broken(l.ID, compareBids(l.ID, bids, strings.Fields(heard))); err != nil {
				return err
			}
		}
	}
	for ids := range slices.Chunk(goals.ids, store.Page) {
		lines, err := e.workflowLines(ctx, ids)
		if err != nil {
			return err
		}
		for _, l := range lines {
			e.listed.add(l.ID)
			if err := e.spoolWorkflow(e.found, l, goals.faultOf(l.ID, "workflow", l.fault())); err != nil {
				return err
			}
		}
	}
	claims.spooled, goals.spooled = len(claims.ids), len(goals.ids)
	return nil
}

// faultOf returns the fault of a record that the index lacks.
func (u *unlisted) faultOf(id, kind string, fault error) error {
	if errors.Is(fault, blackboard.ErrNotFound) {
		return onlyInLedger(kind, id)
	}
	u.find(id)
	return fault
}

// listRest lists the claims and goals that were added while the others were spooled.
func (e *export) listRest(ctx context.Context) error {
	_, index := e.indexes()
	for from := e.spooledClaims; from < e.now.claims; from += store.Page {
		ids, err := e.c.List(ctx, index, from, min(from+store.Page, e.now.claims)-1)
		if err != nil {
			return err
		}
		for _, id := range ids {
			e.listed.add(id)
		}
	}
	for from := e.workflows; from < e.now.goals; from += store.Page {
		ids, err := e.goals(ctx, from, min(store.Page, e.now.goals-from))
		if err != nil {
			return err
		}
		for _, id := range ids {
			e.listed.add(id)
		}
	}
	return nil
}

// writeFound writes what only the ledger has, and tells of the index that lacks it.
func (e *export) writeFound(u *unlisted, index string, write func(from *spool, id string, spooled bool) error) error {
	for i, id := range u.ids {
		if i >= u.spooled {
			u.find(id)
		}
		if err := write(e.found, id, i < u.spooled); err != nil {
			return err
		}
	}
	return e.tellLack(index, u)
}

// findArtefacts writes those that the ledger alone names, by their ids and so by time.
func (e *export) findArtefacts(ctx context.Context, index string) error {
	err := e.eachPage(ctx, index, e.now.artefacts, func(_ int, ids []string) error {
		for _, id := range ids {
			if s := e.sums[id]; s != nil {
				s.listed = true
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var rest unlisted
	for id, s := range e.sums {
		if !s.listed {
			rest.ids = append(rest.ids, id)
		}
	}
	slices.Sort(rest.ids)
	for ids := range slices.Chunk(rest.ids, store.Page) {
		err := e.storedArtefacts(ctx, ids, func(id string, stored map[string]string) error {
			if len(stored) == 0 {
				return e.writeLost(ctx, id, stored, onlyInLedger("artefact", id))
			}
			rest.find(id)
			return e.writeArtefact(ctx, id, stored)
		})
		if err != nil {
			return err
		}
	}
	return e.tellLack(index, &rest)
}

// tellLack names an index that lacks records.
func (e *export) tellLack(index string, u *unlisted) error {
	if u.found == 0 {
		return nil
	}
	return e.broken(index, fmt.Errorf("index %s lacks %d of the records that the ledger names, the first is %s; the export has them: %w",
		strings.TrimPrefix(index, e.c.Keys.Prefix), u.found, u.first, blackboard.ErrCorrupt))
}

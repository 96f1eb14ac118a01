package archive

// records are the facts of the claims and goals that are exported or imported, of those that can be read. The ends of
// grants are digests, of their results, too.
type records struct {
	claims map[recordID]claimRecord
	goals  map[recordID]goalFacts
}

type claimRecord struct {
	claimFacts
	ends []outcome
}

func newRecords() records {
	return records{map[recordID]claimRecord{}, map[recordID]goalFacts{}}
}

// addClaim takes the record of a claim, in place of an older one.
func (r records) addClaim(l ClaimLine) {
	if l.fault() != nil {
		delete(r.claims, keyOf(l.ID))
		return
	}
	r.claims[keyOf(l.ID)] = claimRecord{claimFactsOf(l), outcomesOf(l)}
}

func (r records) addGoal(l WorkflowLine) { r.goals[keyOf(l.ID)] = goalFactsOf(l) }

// compareClaim holds the record of a claim to the ledger; nil also where it cannot be read.
func (r records) compareClaim(id string, h heard, seals recorded, clockTold bool) error {
	c, ok := r.claims[keyOf(id)]
	if !ok {
		return nil
	}
	if err := h.claims.compare(id, c.claimFacts, clockTold); err != nil {
		return err
	}
	return seals.ends(id, c.ends)
}

func (r records) compareGoal(id string, h heard, clockTold bool) error {
	return h.goals.compare(id, r.goals[keyOf(id)], clockTold)
}

// heard are the claims and goals in the ledger.
type heard struct {
	claims claimsHeard
	goals  goalsHeard
}

func newHeard() heard { return heard{claimsHeard{}, goalsHeard{}} }

// hear takes the facts that an entry has. The seals have those of the artefacts before it.
func (h heard) hear(at entryTime, entry map[string]string, seals recorded) {
	h.claims.hear(at, entry)
	h.goals.hear(at, entry, seals)
}

// Package blackboard is Sett's vocabulary: artefacts, claims, bids, grants,
// workflows and ledger events, with their identifiers, statuses and the few
// pure rules that everybody must read the same way. Its types are the canonical
// schema of what is stored.
//
// It performs no I/O and reads no clock. It does not know how anything is
// stored (see blackboard/redis) nor who decides what (see
// roles/orchestrator/arbiter).
package blackboard

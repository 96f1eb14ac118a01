// Package blackboard is Sett's vocabulary: artefacts, claims, bids, grants, workflows
// and ledger events, with their identifiers and statuses, and the pure rules that all
// roles share, such as the waits of a claim. Its types are the canonical schema of the
// stored records.
//
// It performs no I/O and reads no clock. It knows neither the storage (see
// blackboard/redis) nor the rules of decisions (see roles/orchestrator/arbiter).
package blackboard

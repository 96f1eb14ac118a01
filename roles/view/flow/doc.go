// Package flow is the plan of a clan before anything runs: the agents that work on each
// type of artefact, the types that they make, where a goal may end and where it may stall. Its
// values come from sett.yml alone, and the count of the ways that work took from the ledger.
package flow

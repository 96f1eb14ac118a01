// Package flow says what a clan will do, before anything runs: which agents work on which
// types of artefacts, what they make, where a goal may end and where it may stall. Its
// values come from sett.yml alone.
package flow

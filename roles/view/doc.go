// Package view describes goals, claims, artefacts, waits, open matters and ledger
// entries as values: with stable JSON for programs and plain text for people. The
// command line draws them on a terminal.
//
// It reads a blackboard through interfaces and knows neither Redis nor a terminal:
// its values have no colour and no width. Tones say how a text stands out.
package view

// Package board shows an instance on a terminal: the present, the goals and one goal, live
// by the ledger, with the keyboard alone.
//
// It decides and derives nothing: each value is the output of a command of sett, and each
// act a command, run in this process (roles/cli/act). The state (model.go), the keys
// (keys.go, prompt.go) and the drawing (draw*.go) are pure, and know no terminal;
// program.go alone has one.
package board

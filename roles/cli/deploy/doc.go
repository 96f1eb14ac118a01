// Package deploy starts, changes and stops instances: sett up, down and restart.
//
// An up looks, plans and does. Looking collects facts about the instance, its units and its
// runtime, and makes nothing (look.go). The plan is a value that follows from the facts
// alone (plan.go). A dry run prints it (print.go), an up carries it out (do.go). A launcher
// does the part of it that depends on the runtime, of which there are two: containers
// (containers.go) and processes (processes.go).
//
// It writes no artefact and no claim, and knows the command line only as options.
package deploy

// Hostile is a tool that tries to get at what it must not have, and prints how each
// attempt went. It does no harm where it succeeds: it opens and does not write, or
// writes what was there, or undoes what it did.
//
// Usage: hostile AGENT GROUP [ARG...]
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// The kinds of entries of a report.
const (
	attempt = "attempt" // has to be refused where it is forbidden
	control = "control" // the same where it is not, or what must work everywhere
	child   = "child"   // the same upon a child of our own, where the engine may forbid it all the same
	fact    = "fact"    // what was found, for the test to judge
)

// entry is a line of the report. Answer is "ok" or what went wrong; of a fact, what
// was found.
type entry struct{ Kind, Name, Answer string }

var report []entry

func note(kind, name string, err error) {
	answer := "ok"
	if err != nil {
		answer = err.Error()
	}
	report = append(report, entry{kind, name, answer})
}

func found(name string, what any) { report = append(report, entry{fact, name, fmt.Sprint(what)}) }

// groups are what it can be asked for.
var groups = map[string]func(args []string){
	"sockets": func([]string) { trySockets() }, "credentials": tryCredentials, "intrusions": func([]string) { tryChild(control) },
	"signals": func([]string) { trySignals() }, "fault": func([]string) { fault() }, "end": end,
	"redis": tryRedis, "neighbour": tryNeighbour, "live": live, "network": tryNetwork,
	"privileges": func([]string) { tryPrivileges() }, "gain": func([]string) { tryGain() },
	"workspace": func([]string) { tryWorkspace() }, "root": func([]string) { tryRoot() }, "elsewhere": tryElsewhere,
	"crowd": func([]string) { crowd() }, "bomb": func([]string) { bomb() }, "memory": func([]string) { eat() },
	"tmp": func([]string) { fill() }, "stdout": func([]string) { flood(os.Stdout) }, "stderr": func([]string) { flood(os.Stderr) },
	"zeroes": func([]string) { zeroes() }, "way": ownWay, "models": tryModels, "well": func([]string) { need() },
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1:
		return helper(args[0])
	case len(args) == 0 || groups[args[1]] == nil:
		return fmt.Errorf("unknown group: %q", args)
	}
	groups[args[1]](args[2:])
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"structural_type": "Terminal", "artefact_type": "Report", "artefact_payload": report, "summary": args[1],
	})
}

// helper is what it starts itself as.
func helper(name string) error {
	switch name {
	case "victim":
		return victim()
	case "idle":
		time.Sleep(time.Hour)
	case "status":
		return json.NewEncoder(os.Stdout).Encode(ownStatus())
	case "setcap": // in the making of the image
		return setCapabilities("/usr/local/bin/hostile-caps")
	}
	return errors.New("unknown helper: " + name)
}

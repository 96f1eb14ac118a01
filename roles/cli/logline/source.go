package logline

import (
	"regexp"
	"sync"

	"sett/runtime"
)

// worker is the name of a worker's unit: agent, claim, attempt. One that was started
// to wait for its claim has a name that is not the claim's: standby, agent, its own.
var (
	worker = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^worker-(.+)-([0-9A-Z]{26})-([0-9]+)$`)
	})
	standby = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^standby-(.+)-[0-9A-Za-z]{26}$`) })
)

// SourceOf returns the source of a unit's log, by the unit's name.
func SourceOf(unit string) Source {
	if m := worker().FindStringSubmatch(unit); m != nil {
		return Source{Unit: unit, Part: m[1], Claim: m[2]}
	}
	if m := standby().FindStringSubmatch(unit); m != nil {
		return Source{Unit: unit, Part: m[1]}
	}
	if agent, ok := runtime.AgentOf(unit); ok {
		return Source{Unit: unit, Part: agent}
	}
	return Source{Unit: unit, Part: unit}
}

// IsWorker says whether a unit runs once and never again.
func IsWorker(unit string) bool { return worker().MatchString(unit) || standby().MatchString(unit) }

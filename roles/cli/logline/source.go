package logline

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// Sources returns the logs of parts (none: of all): the files in a directory, and the units
// of a place.
func Sources(ctx context.Context, p Place, dir string, parts []string) ([]Source, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return nil, fmt.Errorf("list logs: %w", err)
	}
	units, err := p.List(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list what runs: %w", err)
	}
	names := map[string]bool{}
	for _, f := range files {
		names[strings.TrimSuffix(filepath.Base(f), ".log")] = true
	}
	running := map[string]bool{}
	for _, u := range units {
		if u.Labels[runtime.LabelComponent] != runtime.ComponentAnchor { // it has nothing to say
			names[u.Name], running[u.Name] = true, u.Running
		}
	}
	var out []Source
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s := SourceOf(name)
		s.Over = IsWorker(name) && !running[name]
		if len(parts) == 0 || slices.Contains(parts, s.Part) {
			out = append(out, s)
		}
	}
	return out, nil
}

// IsWorker says whether a unit runs once and never again.
func IsWorker(unit string) bool { return worker().MatchString(unit) || standby().MatchString(unit) }

package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// thenField is the field of an entry that has the events behind its first. See together
// in _lib.lua.
const thenField = "then"

// Unfold returns the events of entries that come after a position, each like an entry of
// its own: a script that made several moves has appended one.
func Unfold(entries []rueidis.XRangeEntry, after string) []rueidis.XRangeEntry {
	all := make([]rueidis.XRangeEntry, 0, len(entries))
	for _, e := range entries {
		for _, event := range eventsOf(e) {
			if blackboard.IsAfter(event.ID, after) {
				all = append(all, event)
			}
		}
	}
	return all
}

// eventsOf returns the events of one entry. One that is no list of events stays as it is.
func eventsOf(e rueidis.XRangeEntry) []rueidis.XRangeEntry {
	text, more := e.FieldValues[thenField]
	if !more {
		return []rueidis.XRangeEntry{e}
	}
	var followers [][]string
	ms, number, _ := strings.Cut(e.ID, "-")
	last, err := strconv.ParseUint(number, 10, 64)
	if err != nil || json.Unmarshal([]byte(text), &followers) != nil || last < uint64(len(followers)) {
		return []rueidis.XRangeEntry{e}
	}
	first := last - uint64(len(followers))
	delete(e.FieldValues, thenField)
	all := []rueidis.XRangeEntry{{ID: fmt.Sprintf("%s-%d", ms, first), FieldValues: e.FieldValues}}
	for i, list := range followers {
		before, fields := all[i].FieldValues, map[string]string{}
		for _, name := range []string{"workflow", "claim"} {
			if value := before[name]; value != "" {
				fields[name] = value
			}
		}
		for n, word := range list {
			switch {
			case n == 0:
				fields["kind"] = word
			case n%2 == 0 && word == "" && (list[n-1] == "workflow" || list[n-1] == "claim"):
				delete(fields, list[n-1])
			case n%2 == 0:
				fields[list[n-1]] = word
			}
		}
		all = append(all, rueidis.XRangeEntry{ID: fmt.Sprintf("%s-%d", ms, first+uint64(i)+1), FieldValues: fields})
	}
	return all
}

package store

import (
	"encoding/json"
	"maps"
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
	first := maps.Clone(e.FieldValues)
	delete(first, thenField)
	events := readFollowers(first, text)
	ms, number, _ := strings.Cut(e.ID, "-")
	last, err := strconv.ParseUint(number, 10, 64)
	if err != nil || len(events) == 0 || last < uint64(len(events)-1) {
		return []rueidis.XRangeEntry{e}
	}
	all, begin := make([]rueidis.XRangeEntry, len(events)), last-uint64(len(events)-1)
	for i, event := range events {
		all[i] = rueidis.XRangeEntry{ID: ms + "-" + strconv.FormatUint(begin+uint64(i), 10), FieldValues: event}
	}
	return all
}

// readFollowers returns the first event of an entry and those behind it; nil: there is no list of them.
func readFollowers(first map[string]string, text string) []map[string]string {
	lists, fine := splitFollowers(text)
	if !fine {
		return nil
	}
	all, last := []map[string]string{first}, maps.Clone(first)
	for i, list := range lists {
		event := map[string]string{"kind": list[0]}
		for _, name := range []string{"workflow", "claim"} {
			if value := all[i][name]; value != "" {
				event[name] = value
			}
		}
		for _, part := range list[1:] {
			name, value, valued := strings.Cut(part, "=")
			if value = unescapes.Replace(value); !valued {
				value, valued = last[name]
			}
			fine = fine && valued && isName(name)
			event[name], last[name] = value, value
			if value == "" && (name == "workflow" || name == "claim") {
				delete(event, name)
			}
		}
		all = append(all, event)
	}
	if !fine {
		return nil
	}
	return all
}

// isName says whether a text can be a kind, or a field's name.
func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

var (
	unescapes = strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\\`, `\`)
	escapes   = strings.NewReplacer("\t", `\t`, "\n", `\n`, `\`, `\\`)
)

// splitFollowers returns of each event its kind, and its fields as followers in _lib.lua writes them. An
// older sett wrote a list of lists in JSON, with names and values in turn.
func splitFollowers(text string) (lists [][]string, fine bool) {
	if !strings.HasPrefix(text, "[") {
		for line := range strings.SplitSeq(text, "\n") {
			list := strings.Split(line, "\t")
			if lists = append(lists, list); !isName(list[0]) {
				return nil, false
			}
		}
		return lists, true
	}
	var before [][]string
	fine = json.Unmarshal([]byte(text), &before) == nil
	for _, words := range before {
		if len(words)%2 == 0 || !isName(words[0]) {
			return nil, false
		}
		list := []string{words[0]}
		for i := 1; i < len(words); i += 2 {
			list = append(list, words[i]+"="+escapes.Replace(words[i+1]))
		}
		lists = append(lists, list)
	}
	return lists, fine
}

package store

import (
	"reflect"
	"testing"

	"github.com/redis/rueidis"
)

// An entry of several events is read as such; one that cannot be is left as it is.
func TestUnfold(t *testing.T) {
	entry := func(id string, words ...string) rueidis.XRangeEntry {
		fields := map[string]string{}
		for i := 0; i < len(words); i += 2 {
			fields[words[i]] = words[i+1]
		}
		return rueidis.XRangeEntry{ID: id, FieldValues: fields}
	}
	const then = `[["open","claim","C","to","x"],["bid","reason",""],["land","claim","","workflow",""],["end"]]`
	for name, tc := range map[string]struct {
		of    rueidis.XRangeEntry
		after string
		want  []rueidis.XRangeEntry
	}{
		"one event": {entry("7-0", "kind", "goal"), "0-0", []rueidis.XRangeEntry{entry("7-0", "kind", "goal")}},
		"several": {entry("7-1004", "kind", "goal", "workflow", "W", "then", then), "0-0", []rueidis.XRangeEntry{
			entry("7-1000", "kind", "goal", "workflow", "W"), entry("7-1001", "kind", "open", "workflow", "W", "claim", "C", "to", "x"),
			entry("7-1002", "kind", "bid", "workflow", "W", "claim", "C", "reason", ""), entry("7-1003", "kind", "land"), entry("7-1004", "kind", "end")}},
		"from the middle": {entry("7-1002", "kind", "goal", "then", `[["open"],["bid"]]`), "7-1001", []rueidis.XRangeEntry{entry("7-1002", "kind", "bid")}},
		"as text": {entry("7-1004", "kind", "goal", "workflow", "W", "to", "x", "then", "open\tclaim=C\tto\tattempt=1\nbid\treason=a\\tb\\n\\\\n=\tto=y\nland\tclaim=\tworkflow=\tto\nend\tclaim\tattempt"), "0-0", []rueidis.XRangeEntry{
			entry("7-1000", "kind", "goal", "workflow", "W", "to", "x"), entry("7-1001", "kind", "open", "workflow", "W", "claim", "C", "to", "x", "attempt", "1"),
			entry("7-1002", "kind", "bid", "workflow", "W", "claim", "C", "reason", "a\tb\n\\n=", "to", "y"), entry("7-1003", "kind", "land", "to", "y"),
			entry("7-1004", "kind", "end", "attempt", "1")}},
		"no name":  {entry("7-9", "kind", "x", "then", "y\t=z"), "0-0", []rueidis.XRangeEntry{entry("7-9", "kind", "x", "then", "y\t=z")}},
		"no kind":  {entry("7-9", "kind", "x", "then", "y\n\tto=z"), "0-0", []rueidis.XRangeEntry{entry("7-9", "kind", "x", "then", "y\n\tto=z")}},
		"no value": {entry("7-9", "kind", "x", "then", "y\tto"), "0-0", []rueidis.XRangeEntry{entry("7-9", "kind", "x", "then", "y\tto")}},
		"nothing":  {entry("7-9", "kind", "x", "then", ""), "0-0", []rueidis.XRangeEntry{entry("7-9", "kind", "x", "then", "")}},
		"no list":  {entry("7-9", "kind", "x", "then", "{}"), "0-0", []rueidis.XRangeEntry{entry("7-9", "kind", "x", "then", "{}")}},
		"too many": {entry("7-0", "kind", "x", "then", `[["y"]]`), "0-0", []rueidis.XRangeEntry{entry("7-0", "kind", "x", "then", `[["y"]]`)}},
	} {
		if got := Unfold([]rueidis.XRangeEntry{tc.of}, tc.after); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, tc.want)
		}
	}
}

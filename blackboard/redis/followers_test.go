package redis

import (
	"fmt"
	"reflect"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/lua"
)

// Scripts write events that Go reads, with any values, behind another in one entry.
func TestFollowersOfScripts(t *testing.T) {
	source := lua.Link("return call('XADD', events_key, '7-500', 'kind', 'goal', 'workflow', 'W', 'to', '~', 'then', followers(cjson.decode(ARGV[1])))")
	all := [][]any{
		{"goal", "workflow", "W", "to", "~"},
		{"open", "workflow", "W", "claim", "C", "artefact", "A", "number", 1795895734364499},
		{"bid", "workflow", "W", "claim", "C", "reason", "tab\t, line\n, \\ and \\t \\n = é \x01", "to", "~"},
		{"bid", "workflow", "W", "claim", "D", "to", "=", "artefact", "A"},
		{"land", "claim", "C", "reason", "["},
		{"end", "number", 1795895734364499},
	}
	var want []map[string]string
	for _, event := range all {
		fields := map[string]string{"kind": fmt.Sprint(event[0])}
		for i := 1; i < len(event); i += 2 {
			fields[fmt.Sprint(event[i])] = fmt.Sprint(event[i+1])
		}
		want = append(want, fields)
	}
	onBoth(t, func(t *testing.T, s *server) {
		w := fresh(t, s)
		w.raw("DEL", w.b.c.Keys.Events())
		w.raw("EVAL", source, "1", w.b.c.Keys.Events(), store.Encode(all))
		got, err := w.b.c.Entries(w.ctx, blackboard.Beginning, "+", 100)
		must(t, err)
		if len(got) != len(want) {
			t.Fatalf("%d events %q", len(got), got)
		}
		for i, e := range got {
			if e.ID != fmt.Sprintf("7-%d", 495+i) || !reflect.DeepEqual(e.FieldValues, want[i]) {
				t.Errorf("event %s\n%q, want\n%q", e.ID, e.FieldValues, want[i])
			}
		}
	})
}

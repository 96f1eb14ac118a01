package status

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
)

// Events that cannot be told are a trouble of their instance, with since when and why.
func TestNotifierTrouble(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	untold := blackboard.Untold{Since: now.Add(-5 * time.Minute), Event: "workflow", Workflow: "01M7Z8BYN8GDQ3TC2GXWFT3X58", Position: "1-1", Tries: 9, Error: "run curl: exit code 7\x1b[2J"}
	over := untold
	over.GivenUp = true
	for name, c := range map[string]struct {
		said blackboard.Notifier
		want string
		json string
	}{
		"nothing":  {blackboard.Notifier{Incarnation: "i", Told: "1-1"}, "", "null"},
		"unfit":    {blackboard.Notifier{Unfit: "curl cannot be run: not found"}, "notifier is unfit: curl cannot be run: not found", `{"unfit":"curl cannot be run: not found"}`},
		"untold":   {blackboard.Notifier{Untold: &untold}, "notifier has told no event for 5m: run curl: exit code 7", `"untold_since":"2026-01-02T02:59:05Z","untold_age_seconds":300,"event":"workflow","workflow_id":"01M7Z8BYN8GDQ3TC2GXWFT3X58","position":"1-1","tries":9,"error":"run curl: exit code 7`},
		"given up": {blackboard.Notifier{Untold: &over}, "(end of goal XWFT3X58, 9 tries; it was given up)", `"given_up":true`},
		"both":     {blackboard.Notifier{Unfit: "no curl", Untold: &untold}, "no event for 5m: unfit: no curl (", `"unfit":"no curl","untold_since"`},
	} {
		trouble := notifierTrouble(c.said, now)
		r := Row{State: Degraded, Notifier: trouble, in: &instance.Instance{}}
		got, err := json.Marshal(trouble)
		if text := r.Troubles(); (text == "") != (c.want == "") || !strings.Contains(text, c.want) || strings.Contains(text, "\x1b") ||
			err != nil || !strings.Contains(string(got), c.json) {
			t.Errorf("%s: %q, %s", name, text, got)
		}
	}
}

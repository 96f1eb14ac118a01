package store

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The page about the blackboard names every key and channel, and the usual value of every field.
func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "## Keys\n")
	page, _, _ = strings.Cut(page, "\n## ")
	names := []string{confirmedKey(Keys{})}
	v := reflect.ValueOf(Keys{})
	placeholders := map[string]string{
		"Artifact": "ID", "Children": "ID", "Thread": "LOGICAL", "Claim": "ID", "Bids": "ID", "ArtefactsByType": "T", "ArtefactsByAgent": "A",
		"ArtefactsByWorkflow": "W", "ClaimsByWorkflow": "W", "Endings": "XY", "Workflow": "ID", "Spending": "W", "Staging": "NAME",
		"Alive": "A", "AgentDue": "A", "AgentGrants": "A", "Workers": "A", "AgentEvents": "A", "StandbyEvents": "A",
	}
	for i := range v.NumMethod() {
		var args []reflect.Value
		if v.Method(i).Type().NumIn() == 1 {
			args = []reflect.Value{reflect.ValueOf(placeholders[v.Type().Method(i).Name])}
		}
		names = append(names, v.Method(i).Call(args)[0].String())
	}
	if len(names) < 40 {
		t.Errorf("%d keys", len(names))
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page has no `%s`", name)
		}
	}
	artefact := slices.Collect(maps.Keys(usualOfArtefact("ID", nil)))
	claim := slices.Collect(maps.Keys(usualOfClaim("ID", map[string]string{"artefact_id": "X", "retry_of": "Y"})))
	for heading, fields := range map[string][]string{"| of an artefact |": artefact, "| of a claim |": claim} {
		_, table, _ := strings.Cut(page, heading)
		table, _, _ = strings.Cut(table, "\n\n")
		for _, field := range fields {
			if !strings.Contains(table, "`"+field+"`") {
				t.Errorf("%s has no `%s`", heading, field)
			}
		}
	}
}

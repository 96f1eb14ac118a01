package cli

import (
	"encoding/json"
	"regexp"
	"testing"

	"sett/roles/cli/status"
)

// list does not count in records of another form, and an instance is not degraded for these.
func TestListOfOtherSchema(t *testing.T) {
	for schema, remedy := range map[string]string{"1": "sett up converts them, once", "3": "use the sett that wrote them, or a newer one"} {
		t.Run(schema, func(t *testing.T) {
			s := newStage(t)
			s.staff()
			s.Goal("the goal")
			if r := s.detailed(); r.State != status.Running || r.Ready == nil || *r.Ready != 3 || r.OtherSchema != "" {
				t.Errorf("before: %+v", r)
			}
			s.Send("HSET", "sett:{stage}:instance", "schema", schema)
			stdout, stderr, err := s.run("list")
			s.Must(err)
			if !regexp.MustCompile(`(?m)^stage +running +- +- +- +- +process `).MatchString(stdout) {
				t.Errorf("list:\n%s", stdout)
			}
			has(t, stderr, "sett: stage: the records of instance stage have schema "+schema+", this sett writes 2", "hint: "+remedy)
			stdout, _, err = s.run("list", "-v", "-o", "json")
			s.Must(err)
			var all struct {
				Instances []map[string]any `json:"instances"`
			}
			s.Must(json.Unmarshal([]byte(stdout), &all))
			row := all.Instances[0]
			for _, absent := range []string{"agents_ready", "claims_open", "questions_open", "gates_open"} {
				if v, there := row[absent]; there {
					t.Errorf("%s: %v", absent, v)
				}
			}
			if row["state"] != "running" || row["other_schema"] != schema {
				t.Errorf("row: %v", row)
			}
			stdout, _, _ = s.run("doctor")
			has(t, stdout, "running, and the records of instance stage have schema "+schema, remedy)
		})
	}
}

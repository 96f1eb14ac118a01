package status

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/cli/term/ttytest"
	"sett/roles/role"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestFirstHourList: what sett list says of instances that run as they should, and as they
// should not.
func TestFirstHourList(t *testing.T) {
	born := time.Unix(1000, 0)
	n := func(v int) *int { return &v }
	rows := []Row{
		{Name: "badgers", Workspace: "/", Runtime: config.RuntimeDocker, State: Running, Agents: 5, Ready: n(5), Claims: n(3), Questions: n(1), Gates: n(0), CreatedAt: born, Known: true,
			in: &instance.Instance{}},
		{Name: "website-of-the-badgers", Workspace: "/home/anna/projects/for-a-customer/website-of-the-badgers", Runtime: config.RuntimeProcess, State: Degraded, Agents: 4, Ready: n(2), Claims: n(0), Questions: n(0), Gates: n(0),
			Down: []string{"keeper"}, NotReady: []string{"lint", "test"}, Unhealthy: []string{"test"}, CreatedAt: born, Known: true, in: &instance.Instance{},
			reasons: []string{"unfit: tools/test.sh cannot be run: its interpreter /usr/bin/python3 is not here; every goal that reaches it will fail"}},
		{Name: "old", Workspace: "/home/anna/old", Runtime: config.RuntimeProcess, State: Stopped, Agents: 1, Ready: n(0), CreatedAt: born, Known: true, in: &instance.Instance{}},
	}
	for name, columns := range map[string]int{"80": 80, "120": 120, "pipe": 0} {
		out := &ttytest.Paper{Wide: columns}
		var w io.Writer = out
		if columns == 0 {
			w = &out.Buffer
		}
		on := term.New(role.Env{Stdout: w, Stderr: w, Now: func() time.Time { return born.Add(26 * time.Hour) },
			Lookup: func(v string) (string, bool) { return "/home/anna", v == "HOME" }})
		if err := Table(instance.New(&on, instance.Flags{}), rows); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "list."+name)
		if *update {
			if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || out.String() != string(want) {
			t.Errorf("%s differs, %v; -update rewrites it. Got:\n%s", file, err, out.String())
		}
	}
}

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view/lineage"
)

// graph and its forms, of a history that happened.
func TestGraph(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	run := func(args ...string) string {
		t.Helper()
		stdout, _, err := s.run(append([]string{"graph"}, args...)...)
		s.Must(err)
		return stdout
	}
	tree := run(ids["goal"])
	has(t, tree, "GoalDefined "+words.Short(ids["goal"])+"  user  achieved  write a page\n", "`- Draft "+words.Short(ids["first"])+"  writer  reworked  a draft\n",
		"rejects  ", "^ Draft v2 "+words.Short(ids["second"])+"\n", "approves  reads well\n", "Done "+words.Short(ids["terminal"])+" (final result)  writer  it is done\n")
	has(t, run(), "Question "+words.Short(ids["question"])+"  writer  open  Which one:")
	if got := run(ids["goal"], "-o", "table"); got != tree {
		t.Errorf("as table it is\n%s", got)
	}
	has(t, run(words.Short(ids["failed"])), "ToolExecutionFailure "+words.Short(ids["failure"])+"  writer  tool ended with exit code 3")
	if got := run(ids["terminal"]); strings.Contains(got, "reads well") || !strings.Contains(got, words.Short(ids["first"])) {
		t.Errorf("what the terminal came from:\n%s", got)
	}
	if got := run(ids["rework"]); !strings.Contains(got, words.Short(ids["terminal"])) {
		t.Errorf("what came of a claim's artefact:\n%s", got)
	}
	var g lineage.Graph
	s.Must(json.Unmarshal([]byte(run(ids["second"], "-o", "json")), &g))
	if g.Goal != ids["goal"] || g.About != ids["second"] || len(g.Nodes) != 6 || len(g.Edges) != 6 {
		t.Errorf("got %+v", g)
	}
	s.Must(json.Unmarshal([]byte(run(ids["goal"], "-o", "json", "--depth", "2")), &g))
	if len(g.Nodes) != 2 || len(g.Edges) != 1 {
		t.Errorf("two levels: %+v", g)
	}
	has(t, run(ids["goal"], "-o", "mermaid"), "flowchart TD\n  n1[\"GoalDefined ", "\n  n2 ==> n4\n")
	has(t, run(ids["goal"], "-o", "dot"), "digraph sett {\n", `"`+ids["first"]+`" -> "`+ids["second"]+`" [style=bold];`)
	if _, _, err := s.run("graph", "zzzzzz"); role.CodeOf(err) != role.NotFound {
		t.Errorf("an unknown id: %v", err)
	}
	if _, _, err := s.run("graph", "-o", "svg"); role.CodeOf(err) != role.Usage {
		t.Errorf("an unknown form: %v", err)
	}
}

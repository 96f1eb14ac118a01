package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/role"
)

// hoard and watch select by a pattern of types, by agent and by an end in time.
func TestSelect(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("select")
	claim, code := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "CountCode", Summary: "counts"})
	s.Complete(claim)

	hoard := func(args ...string) (ids []string) {
		t.Helper()
		out, _, err := s.run(append([]string{"hoard", "-o", "json"}, args...)...)
		s.Must(err)
		var got struct {
			Artefacts []blackboard.Artefact `json:"artefacts"`
		}
		s.Must(json.Unmarshal([]byte(out), &got))
		for _, a := range got.Artefacts {
			ids = append(ids, a.ID)
		}
		return ids
	}
	watch := func(args ...string) string {
		t.Helper()
		out, _, err := s.run(append([]string{"watch", "--since", "all", "--until", "0s", "-o", "jsonl"}, args...)...)
		s.Must(err)
		return out
	}
	past := s.start("watch", "--since", "all", "--until", time.Now().Add(time.Second).Format(time.RFC3339Nano), "-o", "jsonl")
	s.Must(past.wait()) // everything there is, now that its end is over

	both, one := strings.Join([]string{goal, code}, " "), code
	for _, c := range []struct{ args, want string }{
		{"--type *", both}, {"--type *ou*Code", one}, {"--type Cou*", one}, {"--type CountCode", one}, {"--type cou*", ""}, {"--type Count", ""},
		{"--type *o* --agent writer", one}, {"--type Goal* --agent writer", ""}, {"--until 0s", both}, {"--until 1h", ""}, {"--type Cou* --limit 1", one},
	} {
		if got := strings.Join(hoard(strings.Fields(c.args)...), " "); got != c.want {
			t.Errorf("hoard %s: got %q, want %q", c.args, got, c.want)
		}
	}
	if all := watch(); all != past.out.String() || strings.Count(all, "\n") < 5 || !strings.Contains(all, goal) {
		t.Errorf("all:\n%s\nfollowed:\n%s", all, past.out.String())
	}
	if got := watch("--type", "Cou*"); !strings.Contains(got, code) || strings.Contains(got, `"kind":"goal"`) || strings.Contains(got, `"kind":"bid"`) {
		t.Errorf("of a type:\n%s", got)
	}
	for line := range strings.Lines(watch("--agent", "writer")) {
		if !strings.Contains(line, `"agent":"writer"`) {
			t.Errorf("of an agent: %s", line)
		}
	}
	if got := watch("--until", "1h"); got != "" {
		t.Errorf("before there was anything:\n%s", got)
	}
	for _, args := range [][]string{{"watch", "--until", "soon"}, {"hoard", "--until", "soon"}, {"watch", "--until", "1h", "--exit-when-done"}} {
		if _, _, err := s.run(args...); role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "--until") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, _, err := s.run("watch", "--agent", "nobody"); role.CodeOf(err) != role.NotFound {
		t.Errorf("an agent that never was: %v", err)
	}
}

// The help of graph shows the arrows that graph prints.
func TestGraphHelpShowsArrows(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("draw")
	claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Code"})
	s.Complete(claim)
	printed, _, err := s.run("graph")
	s.Must(err)
	help, _, err := s.run("graph", "--help")
	s.Must(err)
	for _, arrow := range []string{"├─", "└─", "->", "-->", "◄", "►", "→", "←", "└", "├"} {
		if strings.Contains(printed, arrow) && !strings.Contains(help, arrow) {
			t.Errorf("graph prints %q, its help does not:\n%s\n%s", arrow, printed, help)
		}
	}
}

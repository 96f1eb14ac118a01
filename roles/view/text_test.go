package view

import (
	"testing"

	"sett/blackboard"
)

// TestGistOfMemoryKill: each line about a result says that memory ran out in its run.
func TestGistOfMemoryKill(t *testing.T) {
	const tool, beside = "out of memory: a process of the tool was killed", "out of memory: a process of the tool or beside it was killed"
	for _, c := range []struct{ metadata, summary, want string }{
		{"", "done", "done"}, {"[]", "done", "done"}, {`{"memory_kill":7}`, "done", "done"}, {`{"memory_kill":"other"}`, "done", "done"},
		{`{"memory_kill":"tool"}`, "done", "done; " + tool}, {`{"memory_kill":"beside","n":[1]}`, "", beside},
	} {
		a := blackboard.Artefact{StructuralType: blackboard.Review, Payload: "{}", Summary: c.summary, Metadata: []byte(c.metadata)}
		if got := Gist(&a); got != c.want {
			t.Errorf("%s: %q, want %q", c.metadata, got, c.want)
		}
		if got := GistOf(&blackboard.Outline{Artefact: a}); got != c.want {
			t.Errorf("outline, %s: %q, want %q", c.metadata, got, c.want)
		}
	}
}

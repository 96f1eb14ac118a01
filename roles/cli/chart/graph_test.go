package chart

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/view/lineage"
)

// drawn is a terminal that draws into a buffer, as the environment says.
func drawn(env map[string]string) (*term.Terminal, *bytes.Buffer, *bytes.Buffer) {
	var out, talk bytes.Buffer
	return &term.Terminal{Env: role.Env{Stdout: &out, Stderr: &talk, Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}}, &out, &talk
}

// graphOf is a graph of artefacts that need not be possible. The first is the goal.
func graphOf(all ...blackboard.Artefact) *lineage.Graph {
	outlines := make([]blackboard.Outline, len(all))
	for i, a := range all {
		a.Version = max(a.Version, 1)
		if a.StructuralType == "" {
			a.StructuralType = blackboard.Standard
		}
		outlines[i] = blackboard.Outline{Artefact: a, PayloadSize: len(a.Payload)}
	}
	return lineage.New(blackboard.Workflow{ID: all[0].ID, Status: blackboard.WorkflowActive}, outlines)
}

func piece(id string, sources ...string) blackboard.Artefact {
	return blackboard.Artefact{ID: id, LogicalID: id, Type: "T", SourceArtefacts: sources}
}

// An artefact is drawn once, where it belongs; from its other sources it is
// referred to.
func TestGraphTree(t *testing.T) {
	g := graphOf(piece("GOAL"), piece("DRAFT", "GOAL"), piece("REVIEW", "DRAFT"), piece("OTHER", "GOAL"),
		blackboard.Artefact{ID: "SECOND", LogicalID: "DRAFT", Version: 2, Type: "T", SourceArtefacts: []string{"DRAFT", "REVIEW", "OTHER", "NOWHERE"}})
	for env, want := range map[string]string{
		"en_US.UTF-8": "T GOAL  active\n├─ T DRAFT\n│  ├─ T REVIEW\n│  │  └─ ↑ T v2 SECOND\n│  └─ T v2 SECOND\n└─ T OTHER\n   └─ ↑ T v2 SECOND\n",
		"C":           "T GOAL  active\n|- T DRAFT\n|  |- T REVIEW\n|  |  `- ^ T v2 SECOND\n|  `- T v2 SECOND\n`- T OTHER\n   `- ^ T v2 SECOND\n",
	} {
		a, out, talk := drawn(map[string]string{"LANG": env})
		if err := Tree(a, g, 0); err != nil || out.String() != want || talk.String() != "" {
			t.Errorf("%s: %v\n%s\nwant\n%s", env, err, out, want)
		}
	}
	a, out, talk := drawn(nil)
	if err := Tree(a, g, 2); err != nil || out.String() != "T GOAL  active\n|- T DRAFT\n|  `- ... 2 more\n`- T OTHER\n" {
		t.Errorf("two levels: %v\n%s", err, out)
	}
	if said := talk.String(); !strings.Contains(said, "2 artefacts deeper than 2 levels") || !strings.Contains(said, "--depth 0") {
		t.Errorf("talk: %s", said)
	}
}

// Things that come from themselves are no end of it, and each is drawn once.
func TestGraphCycles(t *testing.T) {
	for name, g := range map[string]*lineage.Graph{
		"itself":      graphOf(piece("GOAL"), piece("A", "A")),
		"each other":  graphOf(piece("GOAL", "B"), piece("A", "B"), piece("B", "A")),
		"three":       graphOf(piece("GOAL", "C"), piece("A", "C"), piece("B", "A"), piece("C", "B"), piece("D", "B", "C")),
		"own version": graphOf(piece("GOAL"), blackboard.Artefact{ID: "A", LogicalID: "A", Type: "T", SourceArtefacts: []string{"GOAL", "A", "A"}}),
	} {
		for _, depth := range []int{0, 1, 3} {
			a, out, _ := drawn(nil)
			if err := Tree(a, g, depth); err != nil {
				t.Fatal(err)
			}
			for _, n := range g.Nodes {
				if times := len(regexp.MustCompile(`(?m)^[|\x60\- ]*T `+n.ID+`\b`).FindAllString(out.String(), -1)); times > 1 || depth == 0 && times == 0 {
					t.Errorf("%s, depth %d: %s is drawn %d times:\n%s", name, depth, n.ID, times, out)
				}
			}
		}
	}
}

// However deep or wide, all is drawn in lines of bounded length, in a time and
// space that grow as the graph does.
func TestGraphLarge(t *testing.T) {
	const many = 10_000
	deep, wide := []blackboard.Artefact{piece("GOAL")}, []blackboard.Artefact{piece("GOAL")}
	for i := range many {
		id, before := fmt.Sprintf("N%07d", i), "GOAL"
		wide = append(wide, piece(id, before))
		if i > 0 {
			before = fmt.Sprintf("N%07d", i-1)
		}
		deep = append(deep, piece(id, before))
	}
	for name, tc := range map[string]struct {
		all          []blackboard.Artefact
		depth, lines int
	}{"deep": {deep, 20, 21}, "deep, all": {deep, 0, many}, "wide": {wide, 20, many}} {
		a, out, _ := drawn(nil)
		began := time.Now()
		if err := Tree(a, graphOf(tc.all...), tc.depth); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) < tc.lines || len(lines) > tc.lines+many/8 {
			t.Errorf("%s: %d lines", name, len(lines))
		}
		for _, line := range lines {
			if len(line) > treeWidth {
				t.Fatalf("%s: a line of %d characters", name, len(line))
			}
		}
	}
}

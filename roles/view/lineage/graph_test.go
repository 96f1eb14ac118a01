package lineage

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sett/blackboard"
)

// odd are texts that mean something to Mermaid, to Graphviz, to HTML or to a
// terminal.
var odd = []string{
	`"]; end`, `a"b`, `\`, `a\`, `\"`, `\N\G\l\r\n`, `#quot;`, `&lt;b&gt;`, `<script>alert(1)</script>`, `<br/>`, "`**md**`", `%%{init: {"theme":"x"}}%%`,
	`%% comment`, `A --> B`, `]])}}/\`, "two\nlines", "a\x1b[2J\x07", "\u202eabc", "\xff\xfe", "", "end", "graph TD; x", "click n1 call x()", "日本語 é", `$x$`, `{{x}}`, `;`, `|x|`, ":::c",
}

// lineageOf is a lineage of artefacts that need not be possible. The first is the
// goal.
func lineageOf(all ...blackboard.Artefact) *lineage {
	l := &lineage{workflow: blackboard.Workflow{ID: all[0].ID, Status: blackboard.WorkflowActive}, artefacts: map[string]*blackboard.Outline{},
		claims: map[string]blackboard.Claim{}, on: map[string][]string{}, held: map[string]bool{}, broken: map[string]error{}}
	for _, a := range all {
		a.Version = max(a.Version, 1)
		if a.StructuralType == "" {
			a.StructuralType = blackboard.Standard
		}
		l.ids = append(l.ids, a.ID)
		l.artefacts[a.ID] = &blackboard.Outline{Artefact: a, PayloadSize: len(a.Payload)}
	}
	return l
}

func piece(id string, sources ...string) blackboard.Artefact {
	return blackboard.Artefact{ID: id, LogicalID: id, Type: "T", SourceArtefacts: sources}
}

// An artefact is tied to each of its sources; pruned and focused graphs keep their edges.
func TestGraph(t *testing.T) {
	l := lineageOf(piece("GOAL"), piece("DRAFT", "GOAL"), piece("REVIEW", "DRAFT"), piece("OTHER", "GOAL"),
		blackboard.Artefact{ID: "SECOND", LogicalID: "DRAFT", Version: 2, Type: "T", SourceArtefacts: []string{"DRAFT", "REVIEW", "OTHER", "NOWHERE"}})
	g := newGraph(l, nil)
	var kinds []string
	for _, e := range g.Edges {
		kinds = append(kinds, e.From+" "+e.Kind+" "+e.To)
	}
	if got, want := strings.Join(kinds, ", "), "GOAL source DRAFT, DRAFT source REVIEW, GOAL source OTHER, DRAFT version SECOND, REVIEW source SECOND, OTHER source SECOND"; got != want {
		t.Errorf("edges %s\nwant %s", got, want)
	}
	if left := g.Prune(2); left != 2 || len(g.Nodes) != 3 || len(g.Edges) != 2 {
		t.Errorf("pruned: %d left out, %d nodes, %d edges", left, len(g.Nodes), len(g.Edges))
	}
	g = newGraph(l, nil)
	g.focus("REVIEW")
	if len(g.Nodes) != 4 || g.at["OTHER"] != 0 || len(g.Edges) != 4 || g.About != "REVIEW" {
		t.Errorf("of the review: %d nodes, %v", len(g.Nodes), g.Edges)
	}
}

// Things that come from themselves are no end of it, and each is drawn once.
func TestGraphCycles(t *testing.T) {
	for name, l := range map[string]*lineage{
		"itself":      lineageOf(piece("GOAL"), piece("A", "A")),
		"each other":  lineageOf(piece("GOAL", "B"), piece("A", "B"), piece("B", "A")),
		"three":       lineageOf(piece("GOAL", "C"), piece("A", "C"), piece("B", "A"), piece("C", "B"), piece("D", "B", "C")),
		"own version": lineageOf(piece("GOAL"), blackboard.Artefact{ID: "A", LogicalID: "A", Type: "T", SourceArtefacts: []string{"GOAL", "A", "A"}}),
	} {
		for _, depth := range []int{0, 1, 3} {
			newGraph(l, nil).focus("A")
			newGraph(l, nil).Prune(depth)
		}
		for _, id := range l.ids {
			if way := l.chain("", id); len(way) == 0 || len(way) > len(l.ids) {
				t.Errorf("%s: the way to %s has %d steps", name, id, len(way))
			}
		}
	}
	l := lineageOf(piece("GOAL"), piece("A", "GOAL"))
	for _, c := range []blackboard.Claim{
		{ID: "c1", ArtefactID: "A", RetryOf: "c2", Origin: blackboard.OriginRetry}, {ID: "c2", ArtefactID: "A", RetryOf: "c1", Origin: blackboard.OriginRetry},
		{ID: "c3", ArtefactID: "A", Origin: blackboard.OriginRework, AdditionalContextIDs: []string{"A"}}, {ID: "c4", ArtefactID: "nowhere"},
	} {
		l.claims[c.ID] = c
		l.artefacts["A"].ClaimID = c.ID
		if way := l.chain(c.ID, ""); len(way) == 0 || len(way) > 4 {
			t.Errorf("the way to claim %s: %v", c.ID, way)
		}
		if way := l.chain("", "A"); len(way) == 0 || len(way) > 4 {
			t.Errorf("the way to the artefact of claim %s: %v", c.ID, way)
		}
	}
}

// The way to an artefact is as long as its chain, however deep.
func TestChainLarge(t *testing.T) {
	const many = 10_000
	deep := []blackboard.Artefact{piece("GOAL")}
	for i := range many {
		deep = append(deep, piece(fmt.Sprintf("N%07d", i), deep[i].ID))
	}
	if way := lineageOf(deep...).chain("", deep[many].ID); len(way) != many+1 {
		t.Errorf("the way has %d steps", len(way))
	}
}

func oddGraph() *Graph {
	all := []blackboard.Artefact{piece("GOAL")}
	types := blackboard.StructuralTypes
	for i, s := range odd {
		a := piece(fmt.Sprintf("ID%d%s", i, s), all[len(all)-1].ID)
		a.Type, a.Summary, a.ProducedByRole, a.ProducedByAgent, a.StructuralType = s, s, s, s, types[i%len(types)]
		all = append(all, a)
	}
	return newGraph(lineageOf(all...), map[string]blackboard.Verdict{all[2].ID: blackboard.Feedback})
}

// What is written for other tools is read by them whatever types, roles and texts
// are: each line is one of few forms, in which texts cannot end.
func TestGraphExports(t *testing.T) {
	text := `(?:[\p{L}\p{Nd} .,:_\-+/()=!?'@]|#[0-9]+;|<br/>)+`
	node := `"` + text + `"`
	mermaid := regexp.MustCompile(`^  n[0-9]+(?:\[` + node + `\]|\{\{` + node + `\}\}|\[/` + node + `/\]|\[\\` + node + `\\\]|\[\[` + node + `\]\]|\(\[` + node + `\]\))$|^  n[0-9]+ (?:-->|==>) n[0-9]+$`)
	quoted := `"(?:[^"\\&\x00-\x1f]|&amp;|\\["\\n])*"`
	id := `"(?:[^"\\\x00-\x1f]|\\["\\])*"`
	dot := regexp.MustCompile(`^  ` + id + ` \[shape=[a-z]+, label=` + quoted + `\];$|^  ` + id + ` -> ` + id + `(?: \[style=bold\])?;$`)
	for _, form := range []struct {
		name        string
		write       func(*Graph) string
		first, last []string
		line        *regexp.Regexp
	}{
		{"mermaid", (*Graph).Mermaid, []string{"flowchart TD"}, nil, mermaid},
		{"dot", (*Graph).Dot, []string{"digraph sett {", `  node [fontname="sans-serif"];`}, []string{"}"}, dot},
	} {
		g := oddGraph()
		text := form.write(g)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if want := len(form.first) + len(g.Nodes) + len(g.Edges) + len(form.last); len(lines) != want || len(g.Edges) != len(odd) {
			t.Fatalf("%s has %d lines, want %d", form.name, len(lines), want)
		}
		for i, line := range lines {
			switch last := i - (len(lines) - len(form.last)); {
			case i < len(form.first):
				if line != form.first[i] {
					t.Errorf("%s: line %d is %q", form.name, i, line)
				}
			case last >= 0:
				if line != form.last[last] {
					t.Errorf("%s: line %d is %q", form.name, i, line)
				}
			case !form.line.MatchString(line):
				t.Errorf("%s: line %d is %q", form.name, i, line)
			}
		}
		if strings.Contains(text, "%%") && form.name == "mermaid" {
			t.Errorf("mermaid: a comment or directive in\n%s", text)
		}
	}
}

package diagram

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// noOverlap checks by geometry that boxes lie apart, and each label in a box or apart
// from all boxes and labels.
func noOverlap(t *testing.T, what string, p *Picture) {
	t.Helper()
	all := Rect{0, 0, p.Width, p.Height}
	for i, b := range p.Boxes {
		if !b.within(all) {
			t.Fatalf("%s: box %v lies outside of %v", what, b, all)
		}
		for _, other := range p.Boxes[:i] {
			if b.Overlaps(other) {
				t.Fatalf("%s: boxes %v and %v overlap", what, b, other)
			}
		}
	}
	for i, l := range p.Labels {
		if !l.within(all) {
			t.Fatalf("%s: label %v lies outside of %v", what, l, all)
		}
		for _, b := range p.Boxes {
			if l.Overlaps(b) && !l.within(b) {
				t.Fatalf("%s: label %v crosses the border of %v", what, l, b)
			}
		}
		for _, other := range p.Labels[:i] {
			if l.Overlaps(other) {
				t.Fatalf("%s: labels %v and %v overlap", what, l, other)
			}
		}
	}
}

// wellFormed checks that a picture is XML, with nothing in it that runs.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			if strings.EqualFold(e.Name.Local, "script") || strings.EqualFold(e.Name.Local, "foreignObject") {
				t.Fatalf("an element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || strings.Contains(a.Name.Local, "href") {
					t.Fatalf("an attribute %s", a.Name.Local)
				}
			}
		}
	}
}

// golden compares a picture with its file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/" + name)
	if err != nil || got != string(want) {
		t.Errorf("%s differs (-update rewrites it): %v\n%s", name, err, got)
	}
}

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// A goal with a rework, as a report shows it.
func example() (Timeline, Graph) {
	t := Timeline{From: noon, To: at(8.2), Lanes: []string{"orchestrator", "writer", "lint", "Jörg"}, Bars: []Bar{
		{0, at(0), at(0.1), Wait, "bids", "waits for bids", ""}, {1, at(0.1), at(3), Work, "writes bin/words", "CodeCommit", ""},
		{2, at(3), at(3.5), Bad, "rejects", "Review: <b>no</b> tests", ""}, {1, at(3.5), at(5), Work, "mends bin/words", "CodeCommit v2", ""},
		{2, at(5), at(5.5), Good, "approves", "", ""}, {2, at(5.2), at(5.4), Good, "approves", "", ""}, {3, at(5.5), at(8.2), Person, "waits for approval", "", ""},
	}, Loops: []Loop{{2, 3}}}
	g := Graph{
		Nodes: []Node{
			{Name: "GoalDefined 7XK2ABCD", Text: "Count words & lines"}, {Name: "CodeCommit 9XK2ABCD", Text: "by writer", Badges: []Badge{{"✗ lint: no tests", Bad}}, Class: Warn},
			{Name: "CodeCommit v2 1XK2ABCD", Text: "by writer", Badges: []Badge{{"✓ lint", Good}, {"✓ Jörg", Good}}, Class: Plain},
			{Name: "Notes 2XK2ABCD", Text: "by documenter, with a text that is far too long for its box"}, {Name: "Release 3XK2ABCD", Text: "by packer", Class: Good},
		},
		Edges: []Edge{{0, 1, false}, {1, 2, true}, {0, 3, false}, {2, 4, false}, {3, 4, false}, {0, 4, false}},
	}
	return t, g
}

func TestExample(t *testing.T) {
	tl, g := example()
	for name, p := range map[string]*Picture{"timeline.svg": tl.Draw(), "graph.svg": g.Draw()} {
		noOverlap(t, name, p)
		svg := p.SVG("an example")
		wellFormed(t, svg)
		golden(t, name, svg+"\n")
	}
}

// However nodes and edges lie, no box or label overlaps another.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := Graph{Wide: float64(seed%2) * 330}
		for i := range 1 + r.IntN(70) {
			n := Node{Name: fmt.Sprintf("Type%d %08d", r.IntN(9), i), Text: strings.Repeat("wörd 語 ", r.IntN(9))}
			for range r.IntN(9) {
				n.Badges = append(n.Badges, Badge{"✓ reviewer with a long name and a verdict", Good})
			}
			for range r.IntN(4) {
				if i > 0 {
					g.Edges = append(g.Edges, Edge{r.IntN(i), i, r.IntN(3) == 0})
				}
			}
			g.Nodes = append(g.Nodes, n)
		}
		if r.IntN(4) == 0 {
			g.Edges = append(g.Edges, Edge{len(g.Nodes) - 1, 0, false}) // corrupt: back in time
		}
		p := g.Draw()
		noOverlap(t, fmt.Sprint("seed ", seed), p)
		if seed%20 == 0 {
			wellFormed(t, p.SVG("random"))
		}
	}
}

func TestRandomTimelines(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 9))
		tl := Timeline{From: noon, To: noon.Add(time.Duration(r.Int64N(int64(100 * time.Hour)))), Open: seed%2 == 0}
		for i := range 1 + r.IntN(9) {
			tl.Lanes = append(tl.Lanes, strings.Repeat(fmt.Sprint("agent", i), 1+r.IntN(5)))
		}
		for range r.IntN(120) {
			from := noon.Add(time.Duration(r.Int64N(int64(tl.To.Sub(noon)) + 1)))
			tl.Bars = append(tl.Bars, Bar{r.IntN(len(tl.Lanes)), from, from.Add(time.Duration(r.Int64N(int64(time.Hour)))), Work, "a label of its own", "", ""})
		}
		p := tl.Draw()
		noOverlap(t, fmt.Sprint("seed ", seed), p)
	}
}

// Thousands of bars are folded: a lane stays low, its failures stay seen, and every loop has its ends.
func TestFoldedTimeline(t *testing.T) {
	for _, longest := range []float64{0.01, 5} {
		r := rand.New(rand.NewPCG(1, 11))
		tl := Timeline{From: noon, To: at(10), Lanes: []string{"busy", "idle"}}
		for i := range 3000 {
			from, class := r.Float64()*10, []string{Work, Good, Wait}[i%3]
			if i == 1000 {
				class = Bad
			}
			tl.Bars = append(tl.Bars, Bar{0, at(from), at(min(from+r.Float64()*longest, 10)), class, "a label", "a title", fmt.Sprint(i)})
		}
		tl.Bars = append(tl.Bars, Bar{1, at(1), at(2), Work, "alone", "a title", "alone"})
		for i := range 500 {
			tl.Loops = append(tl.Loops, Loop{3 * i, 3*i + 1}) // no waits: one too short to be seen has no place
		}
		p := tl.Draw()
		noOverlap(t, fmt.Sprint("folded ", longest), p)
		svg := p.SVG("many")
		wellFormed(t, svg)
		if len(p.Boxes) > 800 || p.Height > 400 || strings.Count(svg, `class="bad"`) != 1 || !strings.Contains(svg, " together, the first: a title") || !strings.Contains(svg, `data-ref="alone"`) {
			t.Errorf("up to %v s long: %d boxes, %v high, %d bytes", longest, len(p.Boxes), p.Height, len(svg))
		}
		if strings.Contains(svg, `class="loop" d="M0 `) {
			t.Error("a loop begins at a bar that is not drawn")
		}
	}
}

// Thousands of nodes are folded; those that are to be kept stay.
func TestFold(t *testing.T) {
	var wide, deep Graph
	for i := range 3000 {
		wide.Nodes, deep.Nodes = append(wide.Nodes, Node{Name: "Note"}), append(deep.Nodes, Node{Name: "Note"})
		if i > 0 {
			wide.Edges, deep.Edges = append(wide.Edges, Edge{0, i, false}), append(deep.Edges, Edge{i - 1, i, false})
		}
	}
	wide.Nodes[1500].Name = "Kept"
	if g := wide.Fold(150, map[int]bool{1500: true}); len(g.Nodes) != 3 || g.Nodes[1].Name != "2998 artefacts" || g.Nodes[2].Name != "Kept" || len(g.Edges) != 2 {
		t.Errorf("wide: %+v", g)
	}
	g := deep.Fold(150, nil)
	total := 0
	for _, n := range g.Nodes {
		total += max(n.Folds, 1)
	}
	if len(g.Nodes) != 150 || total != 3000 || len(g.Edges) != 149 {
		t.Errorf("deep: %d nodes for %d, %d edges", len(g.Nodes), total, len(g.Edges))
	}
	noOverlap(t, "deep", g.Draw())
}

// Whatever texts are, they stay texts.
func TestHostileTexts(t *testing.T) {
	for _, s := range []string{`<script>alert(1)</script>`, `"><g onload=alert(1)>`, `]]>`, "a\x1b[2J", "\u202eabc", `&lt;b&gt;`, "\xff\xfe", strings.Repeat("W", 5000)} {
		g := Graph{Nodes: []Node{{Name: s, Text: s, Title: s, Ref: s, Badges: []Badge{{s, Good}}}}}
		tl := Timeline{From: noon, To: at(1), Lanes: []string{s}, Bars: []Bar{{0, noon, at(1), Work, s, s, s}}}
		for _, p := range []*Picture{g.Draw(), tl.Draw()} {
			noOverlap(t, s[:1], p)
			svg := p.SVG(s)
			wellFormed(t, svg)
			if strings.Contains(svg, "<script") || strings.Contains(svg, "\x1b") || strings.Contains(svg, "\u202e") {
				t.Errorf("%q is in the picture", s)
			}
		}
	}
}

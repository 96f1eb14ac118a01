package diagram

import (
	"cmp"
	"fmt"
	"slices"
)

// Graph is boxes and arrows between them. Its nodes stand in order of time.
type Graph struct {
	Nodes []Node
	Edges []Edge
	Wide  float64 // the width of each box; 0: the usual
}

// Node is a box: two lines of text and badges below them.
type Node struct {
	Name   string
	Text   string
	Class  string // its tone
	Title  string // the tooltip
	Ref    string // the id of the record that it stands for; may be empty
	Badges []Badge
	Folds  int // how many nodes it stands for; 0: one
}

// Badge is a line in a box, such as a reviewer's verdict.
type Badge struct {
	Text  string
	Class string
}

// Edge is an arrow, by the indexes of its nodes. A strong one leads to the next version.
type Edge struct {
	From, To int
	Strong   bool
}

// The measures of a graph.
const (
	nodeWidth  = 200.0
	nodeLine   = 15.0
	nodeInset  = 6.0
	nodeGap    = 18.0
	layerGap   = 38.0
	mostBadges = 6
)

// spot is a node's place in the layers, or a point of an edge that crosses a layer.
type spot struct {
	node  int // -1: a point of an edge
	layer int
	x, w  float64
	up    []int // spots of the layer before that it is tied to
	down  []int
}

// height is that of a node's box.
func (n Node) height() float64 {
	return 2*nodeInset + nodeLine*float64(2+min(len(n.Badges), mostBadges))
}

// Draw draws the graph in layers from top to bottom: each node below all that it came
// from. An edge never crosses a box: it passes between them.
func (g Graph) Draw() *Picture {
	l := g.layers()
	l.order()
	l.place()
	p := &Picture{}
	tops, bottoms := make([]float64, len(l.rows)), make([]float64, len(l.rows))
	y := 4.0
	for i, row := range l.rows {
		tall := 0.0
		for _, s := range row {
			if n := l.spots[s].node; n >= 0 {
				tall = max(tall, g.Nodes[n].height())
			}
			p.Width = max(p.Width, l.spots[s].x+l.spots[s].w+4)
		}
		tops[i], bottoms[i] = y, y+tall
		y += tall + layerGap
	}
	p.Height = max(y-layerGap+4, 8)
	g.arrows(p, l, tops, bottoms)
	for _, s := range l.spots {
		if s.node >= 0 {
			g.Nodes[s.node].draw(p, Rect{s.x, tops[s.layer], s.w, g.Nodes[s.node].height()})
		}
	}
	return p
}

// draw draws a node's box.
func (n Node) draw(p *Picture, r Rect) {
	p.box(r, cmp.Or(n.Class, Plain), n.Title, n.Ref)
	room, y := r.W-2*nodeInset, r.Y+nodeInset+11
	p.text(r.X+nodeInset, y, "", Fit(n.Name, room))
	if n.Text != "" {
		p.text(r.X+nodeInset, y+nodeLine, "dim", Fit(n.Text, room))
	}
	for i, b := range n.Badges[:min(len(n.Badges), mostBadges)] {
		if i == mostBadges-1 && len(n.Badges) > mostBadges {
			b = Badge{Text: fmt.Sprintf("and %d more", len(n.Badges)-i), Class: "dim"}
		}
		p.text(r.X+nodeInset, y+nodeLine*float64(2+i), b.Class, Fit(b.Text, room))
	}
}

// arrows draws the edges, from the bottom of a box to the top of one below it. Between
// its layers an edge bends; across a layer it runs straight down, beside the boxes.
func (g Graph) arrows(p *Picture, l *layout, tops, bottoms []float64) {
	for _, way := range l.ways {
		from := l.spots[way.spots[0]]
		x, y := from.x+from.w/2, tops[from.layer]+g.Nodes[from.node].height()
		d := fmt.Sprintf("M%s %s", num(x), num(y))
		if low := bottoms[from.layer]; low > y {
			d += fmt.Sprintf("V%s", num(low))
			y = low
		}
		for _, s := range way.spots[1:] {
			to := l.spots[s]
			tx, ty := to.x+to.w/2, tops[to.layer]
			bend := (ty - y) / 2
			d += fmt.Sprintf("C%s %s %s %s %s %s", num(x), num(y+bend), num(tx), num(ty-bend), num(tx), num(ty))
			x, y = tx, ty
			if to.node < 0 {
				d += fmt.Sprintf("V%s", num(bottoms[to.layer]))
				y = bottoms[to.layer]
			}
		}
		class := "edge"
		if way.strong {
			class = "edge strong"
		}
		p.tie(class, d, g.Nodes[from.node].Ref, g.Nodes[l.spots[way.spots[len(way.spots)-1]].node].Ref)
	}
}

// Fold returns the graph with at most so many nodes. Nodes in keep stay. First all nodes
// of one name that nothing was made from, and that came from the same node, become one;
// then the middle of the rest.
func (g Graph) Fold(most int, keep map[int]bool) Graph {
	if len(g.Nodes) <= most {
		return g
	}
	into := make([]int, len(g.Nodes)) // the node that stands for each
	parent, used := make([]int, len(g.Nodes)), make([]bool, len(g.Nodes))
	for i := range into {
		into[i], parent[i] = i, -1
	}
	for _, e := range g.Edges {
		used[e.From], parent[e.To] = true, e.From
	}
	groups := map[string]int{}
	for i, n := range g.Nodes {
		if used[i] || keep[i] || parent[i] < 0 {
			continue
		}
		key := fmt.Sprintf("%d %s", parent[i], n.Name)
		if first, ok := groups[key]; ok {
			into[i] = first
		} else {
			groups[key] = i
		}
	}
	g = g.merge(into)
	if len(g.Nodes) <= most {
		return g
	}
	into = make([]int, len(g.Nodes))
	first := most / 2
	last := len(g.Nodes) - (most - first - 1)
	for i := range into {
		into[i] = i
		if i > first && i < last {
			into[i] = first
		}
	}
	return g.merge(into)
}

// merge makes one node of those that stand for the same. An edge within it goes.
func (g Graph) merge(into []int) Graph {
	out := Graph{Wide: g.Wide}
	at, count := map[int]int{}, map[int]int{}
	for i, to := range into {
		count[to] += max(g.Nodes[i].Folds, 1)
	}
	for i, n := range g.Nodes {
		if into[i] != i {
			continue
		}
		at[i] = len(out.Nodes)
		if c := count[i]; c > max(n.Folds, 1) {
			n.Name, n.Text, n.Badges, n.Folds, n.Class, n.Title, n.Ref = fmt.Sprintf("%d artefacts", c), "folded", nil, c, Plain, "", ""
		}
		out.Nodes = append(out.Nodes, n)
	}
	for _, e := range g.Edges {
		e.From, e.To = at[into[e.From]], at[into[e.To]]
		if e.From != e.To && !slices.Contains(out.Edges, e) {
			out.Edges = append(out.Edges, e)
		}
	}
	return out
}

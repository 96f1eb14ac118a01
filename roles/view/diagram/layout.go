package diagram

import (
	"cmp"
	"slices"
)

// layout is a graph in layers. An edge that crosses layers has a spot in each.
type layout struct {
	spots []spot
	rows  [][]int // the spots of each layer, from left to right
	ways  []way
}

// way is an edge as the spots that it passes.
type way struct {
	spots  []int
	strong bool
}

// layers puts each node one layer below the lowest that it came from. Edges of corrupt
// data that lead back in time are not drawn.
func (g Graph) layers() *layout {
	l := &layout{}
	layer := make([]int, len(g.Nodes))
	edges := slices.Clone(g.Edges)
	slices.SortStableFunc(edges, func(a, b Edge) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From)) })
	edges = slices.DeleteFunc(edges, func(e Edge) bool { return e.From >= e.To })
	for _, e := range edges {
		layer[e.To] = max(layer[e.To], layer[e.From]+1)
	}
	for i := range g.Nodes {
		l.add(spot{node: i, layer: layer[i], w: cmp.Or(g.Wide, nodeWidth)})
	}
	for _, e := range edges {
		w := way{spots: []int{e.From}, strong: e.Strong}
		for at := layer[e.From] + 1; at < layer[e.To]; at++ {
			w.spots = append(w.spots, l.add(spot{node: -1, layer: at, w: 8}))
		}
		w.spots = append(w.spots, e.To)
		for i, s := range w.spots[1:] {
			l.spots[w.spots[i]].down = append(l.spots[w.spots[i]].down, s)
			l.spots[s].up = append(l.spots[s].up, w.spots[i])
		}
		l.ways = append(l.ways, w)
	}
	return l
}

// add adds a spot at the right of its layer.
func (l *layout) add(s spot) int {
	for len(l.rows) <= s.layer {
		l.rows = append(l.rows, nil)
	}
	l.spots = append(l.spots, s)
	l.rows[s.layer] = append(l.rows[s.layer], len(l.spots)-1)
	return len(l.spots) - 1
}

// order sorts each layer by the middle of its neighbours, down and up a few times, so that
// few edges cross.
func (l *layout) order() {
	const sweeps = 6
	rank := make([]float64, len(l.spots))
	note := func(row []int) {
		for i, s := range row {
			rank[s] = float64(i)
		}
	}
	for _, row := range l.rows {
		note(row)
	}
	for sweep := range sweeps {
		for i := range l.rows {
			row, ties := l.rows[i], func(s int) []int { return l.spots[s].up }
			if sweep%2 == 1 {
				row, ties = l.rows[len(l.rows)-1-i], func(s int) []int { return l.spots[s].down }
			}
			slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(middle(ties(a), rank, rank[a]), middle(ties(b), rank, rank[b])) })
			note(row)
		}
	}
}

// middle is the mean rank of some spots; without any, otherwise.
func middle(of []int, rank []float64, otherwise float64) float64 {
	if len(of) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, s := range of {
		sum += rank[s]
	}
	return sum / float64(len(of))
}

// place gives each spot its left edge: near the middle of its neighbours, without two of
// them overlapping.
func (l *layout) place() {
	const sweeps = 4
	for _, row := range l.rows {
		x := 4.0
		for _, s := range row {
			l.spots[s].x = x
			x += l.spots[s].w + nodeGap
		}
	}
	for sweep := range sweeps {
		for i := range l.rows {
			row, ties := l.rows[i], func(s spot) []int { return s.up }
			if sweep%2 == 1 {
				row, ties = l.rows[len(l.rows)-1-i], func(s spot) []int { return s.down }
			}
			l.settle(row, ties)
		}
	}
	left := 4.0
	for _, s := range l.spots {
		left = min(left, s.x)
	}
	for i := range l.spots {
		l.spots[i].x += 4 - left
	}
}

// settle moves the spots of a layer towards where they want to be, from left to right,
// and then the whole layer by the mean of the distances that remain.
func (l *layout) settle(row []int, ties func(spot) []int) {
	want := make([]float64, len(row))
	for i, s := range row {
		at, n := 0.0, 0
		for _, t := range ties(l.spots[s]) {
			at += l.spots[t].x + l.spots[t].w/2
			n++
		}
		want[i] = l.spots[s].x
		if n > 0 {
			want[i] = at/float64(n) - l.spots[s].w/2
		}
	}
	missing := 0.0
	for i, s := range row {
		x := want[i]
		if i > 0 {
			before := l.spots[row[i-1]]
			x = max(x, before.x+before.w+nodeGap)
		}
		l.spots[s].x = x
		missing += want[i] - x
	}
	if len(row) == 0 {
		return
	}
	missing /= float64(len(row))
	for _, s := range row {
		l.spots[s].x += missing
	}
}

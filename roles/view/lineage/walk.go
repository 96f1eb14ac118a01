package lineage

// Line is one line of a tree.
type Line struct {
	Node      int    // the node's index
	Depth     int    // 1 for roots
	Rails     string // one character per drawn level above: '|' where a line goes on, else ' '
	Root      bool   // at the left edge
	Last      bool   // the last child of its parent
	Reference bool   // a reference to a node that is shown elsewhere
	Continued bool   // its children follow here, because they had no room elsewhere
	Hidden    int    // not 0: the line stands for so many nodes left out below this one
}

// WalkOn says whether and where the walk visits the children of a node.
type WalkOn int

// The ways of a walk.
const (
	Into  WalkOn = iota // here
	Past                // leave them out
	Later               // show them after all else, at the left edge
)

// walker visits a graph as a tree: each node once, and a reference to it below its other
// sources. It keeps its own stack, because the tree may be as deep as it has nodes. It
// ends also if the edges form a circle.
type walker struct {
	*Graph
	visit func(Line) WalkOn
	seen  []bool
	stack []Line
	later []Line
}

// Walk visits the tree from top to bottom. A node without a parent is a root. In corrupt
// data parents may form a circle; then its oldest node is a root.
func (g *Graph) Walk(visit func(Line) WalkOn) {
	w := &walker{Graph: g, visit: visit, seen: make([]bool, len(g.Nodes))}
	for i, under := range g.under {
		if under < 0 {
			w.from(i)
		}
	}
	for i := range g.Nodes {
		w.from(i)
	}
}

func (w *walker) from(i int) {
	if w.seen[i] {
		return
	}
	w.stack = append(w.stack, Line{Node: i, Depth: 1, Root: true, Last: true})
	for len(w.stack) > 0 || len(w.later) > 0 {
		if len(w.stack) == 0 {
			s := w.later[0]
			w.later = w.later[1:]
			w.visit(s)
			w.push(s)
			continue
		}
		s := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		w.take(s)
	}
}

func (w *walker) take(s Line) {
	if s.Reference || w.seen[s.Node] {
		s.Reference = true
		w.visit(s)
		return
	}
	w.seen[s.Node] = true
	switch w.visit(s) {
	case Into:
		w.push(s)
	case Later:
		if len(w.tied[s.Node]) > 0 {
			w.later = append(w.later, Line{Node: s.Node, Depth: s.Depth, Root: true, Last: true, Continued: true})
		}
	case Past:
		if n := w.hide(s.Node); n > 0 {
			w.visit(Line{Node: s.Node, Depth: s.Depth + 1, Rails: s.below(), Last: true, Hidden: n})
		}
	}
}

// below returns the rails of the children of a step.
func (s Line) below() string {
	switch {
	case s.Root:
		return ""
	case s.Last:
		return s.Rails + " "
	}
	return s.Rails + "|"
}

// push puts the children of a step on the stack.
func (w *walker) push(s Line) {
	all := w.tied[s.Node]
	rails := s.below()
	for i := len(all) - 1; i >= 0; i-- {
		w.stack = append(w.stack, Line{Node: all[i], Depth: s.Depth + 1, Rails: rails, Last: i == len(all)-1, Reference: w.under[all[i]] != s.Node})
	}
}

// hide marks all nodes below a node in the tree as seen, and counts them.
func (w *walker) hide(node int) int {
	n := 0
	for next := []int{node}; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		for _, i := range w.tied[at] {
			if w.under[i] == at && !w.seen[i] {
				w.seen[i] = true
				next = append(next, i)
				n++
			}
		}
	}
	return n
}

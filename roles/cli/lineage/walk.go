package lineage

// step is one line of a tree.
type step struct {
	node      int    // the node's index
	depth     int    // 1 for roots
	rails     string // one character per drawn level above: '|' where a line goes on, else ' '
	root      bool   // at the left edge
	last      bool   // the last child of its parent
	reference bool   // a reference to a node that is shown elsewhere
	continued bool   // its children follow here, because they had no room elsewhere
	hidden    int    // not 0: the line stands for so many nodes left out below this one
}

// walkOn says whether and where the walk visits the children of a node.
type walkOn int

const (
	walkInto  walkOn = iota
	walkPast         // leave them out
	walkLater        // show them after all else, at the left edge
)

// walker visits a graph as a tree: each node once, and a reference to it below its other
// sources. It keeps its own stack, because the tree may be as deep as it has nodes. It
// ends also if the edges form a circle.
type walker struct {
	*Graph
	visit func(step) walkOn
	seen  []bool
	stack []step
	later []step
}

// walk visits the tree from top to bottom. A node without a parent is a root. In corrupt
// data parents may form a circle; then its oldest node is a root.
func (g *Graph) walk(visit func(step) walkOn) {
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
	w.stack = append(w.stack, step{node: i, depth: 1, root: true, last: true})
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

func (w *walker) take(s step) {
	if s.reference || w.seen[s.node] {
		s.reference = true
		w.visit(s)
		return
	}
	w.seen[s.node] = true
	switch w.visit(s) {
	case walkInto:
		w.push(s)
	case walkLater:
		if len(w.tied[s.node]) > 0 {
			w.later = append(w.later, step{node: s.node, depth: s.depth, root: true, last: true, continued: true})
		}
	case walkPast:
		if n := w.hide(s.node); n > 0 {
			w.visit(step{node: s.node, depth: s.depth + 1, rails: s.below(), last: true, hidden: n})
		}
	}
}

// below returns the rails of the children of a step.
func (s step) below() string {
	switch {
	case s.root:
		return ""
	case s.last:
		return s.rails + " "
	}
	return s.rails + "|"
}

// push puts the children of a step on the stack.
func (w *walker) push(s step) {
	all := w.tied[s.node]
	rails := s.below()
	for i := len(all) - 1; i >= 0; i-- {
		w.stack = append(w.stack, step{node: all[i], depth: s.depth + 1, rails: rails, last: i == len(all)-1, reference: w.under[all[i]] != s.node})
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

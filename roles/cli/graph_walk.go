package cli

// step is one line of a tree.
type step struct {
	node      int    // its place
	depth     int    // 1 for roots
	rails     string // one character per level above that is drawn: '|' where something follows, else ' '
	root      bool   // at the left edge
	last      bool   // nothing follows beside it
	reference bool   // it is shown elsewhere
	continued bool   // what stands under it follows, which had no room elsewhere
	hidden    int    // no node at all but so many that are left out under this one
}

// walkOn says what to do about what stands under a node.
type walkOn int

const (
	walkInto  walkOn = iota
	walkPast         // leave it out
	walkLater        // show it after all else, at the left edge
)

// walker goes through a graph as a tree: each node once, with references to it
// where it is also made from others. It keeps its own stack, for the tree may be
// as deep as there are nodes, and ends whatever the edges are.
type walker struct {
	*graph
	visit func(step) walkOn
	seen  []bool
	stack []step
	later []step
}

// walk visits the tree from top to bottom. What stands under nothing is a root; in
// corrupt data, where things may come from themselves, the oldest of them is.
func (g *graph) walk(visit func(step) walkOn) {
	w := &walker{graph: g, visit: visit, seen: make([]bool, len(g.Nodes))}
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

// below returns the rails of what stands under a step.
func (s step) below() string {
	switch {
	case s.root:
		return ""
	case s.last:
		return s.rails + " "
	}
	return s.rails + "|"
}

// push puts what stands under a step on the stack.
func (w *walker) push(s step) {
	all := w.tied[s.node]
	rails := s.below()
	for i := len(all) - 1; i >= 0; i-- {
		w.stack = append(w.stack, step{node: all[i], depth: s.depth + 1, rails: rails, last: i == len(all)-1, reference: w.under[all[i]] != s.node})
	}
}

// hide marks everything that stands under a node as seen, and counts it.
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

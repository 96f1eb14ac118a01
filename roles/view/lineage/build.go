package lineage

import (
	"slices"

	"sett/blackboard"
	"sett/roles/view"
)

// Graph is the artefacts of a goal, and the edges from each artefact to those made from
// it.
type Graph struct {
	Goal  string       `json:"workflow_id"`
	About string       `json:"about_id"` // the goal or the artefact that the graph was read for
	Nodes []*GraphNode `json:"nodes"`    // oldest first
	Edges []GraphEdge  `json:"edges"`

	at    map[string]int // from a node's id to its index
	under []int          // the index of each node's parent in the tree; -1: none
	tied  [][]int        // the indexes of the nodes made from each node, and of its children in the tree
}

// GraphNode is an artefact.
type GraphNode struct {
	view.Brief
	ClaimID         string             `json:"claim_id"` // the claim that it was made under
	SourceArtefacts []string           `json:"source_artefacts"`
	Verdict         blackboard.Verdict `json:"verdict,omitempty"`    // of a Review
	Status          string             `json:"status,omitempty"`     // of the goal or of the newest claim on it; or held, reworked, retried, open, answered, closed
	Unreadable      string             `json:"unreadable,omitempty"` // the reason that only its id is known
}

// GraphEdge leads from an artefact to an artefact that was made from it.
type GraphEdge struct {
	From string `json:"from_id"`
	To   string `json:"to_id"`
	Kind string `json:"kind"` // source; version: to the next version of the same thread
}

// New makes the graph of artefacts that were read, without their claims. The goal is
// among them.
func New(goal blackboard.Workflow, all []blackboard.Outline) *Graph {
	l := &lineage{workflow: goal, artefacts: map[string]*blackboard.Outline{}}
	for i := range all {
		l.ids = append(l.ids, all[i].ID)
		l.artefacts[all[i].ID] = &all[i]
	}
	return newGraph(l, nil)
}

func newGraph(l *lineage, verdicts map[string]blackboard.Verdict) *Graph {
	g := &Graph{Goal: l.workflow.ID, About: l.workflow.ID, Nodes: []*GraphNode{}}
	answered := map[string]bool{}
	for _, a := range l.artefacts {
		if a.StructuralType == blackboard.Answer {
			for _, id := range a.SourceArtefacts {
				answered[id] = true
			}
		}
	}
	for _, id := range l.ids {
		a := l.artefacts[id]
		if a == nil {
			g.Nodes = append(g.Nodes, &GraphNode{Brief: view.Brief{ID: id, Title: "unreadable"}, SourceArtefacts: []string{}, Unreadable: l.broken[id].Error()})
			continue
		}
		g.Nodes = append(g.Nodes, &GraphNode{
			Brief: view.BriefOf(a), ClaimID: a.ClaimID, SourceArtefacts: append([]string{}, a.SourceArtefacts...),
			Verdict: verdicts[id], Status: l.status(a, answered),
		})
	}
	g.connect()
	for i, n := range g.Nodes {
		if a := l.artefacts[n.ID]; a != nil {
			g.under[i] = g.parent(i, l.target(a))
		}
	}
	g.tie()
	return g
}

// connect makes the edges between the nodes, in the nodes' order.
func (g *Graph) connect() {
	g.at, g.under, g.Edges = map[string]int{}, make([]int, len(g.Nodes)), []GraphEdge{}
	for i, n := range g.Nodes {
		g.at[n.ID], g.under[i] = i, -1
	}
	for _, n := range g.Nodes {
		seen := map[string]bool{}
		for _, source := range n.SourceArtefacts {
			from, ok := g.at[source]
			if !ok || seen[source] {
				continue
			}
			seen[source] = true
			kind := "source"
			if n.LogicalID != "" && g.Nodes[from].LogicalID == n.LogicalID {
				kind = "version"
			}
			g.Edges = append(g.Edges, GraphEdge{source, n.ID, kind})
		}
	}
}

// parent returns the index of a node's parent in the tree: for an Answer its Question,
// else the artefact of the claim that it was made under, else its first source, else the
// goal.
func (g *Graph) parent(i int, target string) int {
	n := g.Nodes[i]
	candidates := slices.Concat([]string{target}, n.SourceArtefacts, []string{g.Goal})
	if n.StructuralType == blackboard.Answer {
		candidates = slices.Concat(n.SourceArtefacts, []string{target, g.Goal})
	}
	for _, id := range candidates {
		if at, ok := g.at[id]; ok && at != i && n.ID != g.Goal {
			return at
		}
	}
	return -1
}

// tie collects the nodes that the tree shows below each node.
func (g *Graph) tie() {
	g.tied = make([][]int, len(g.Nodes))
	for i, n := range g.Nodes {
		seen := map[int]bool{i: true}
		for _, source := range n.SourceArtefacts {
			if at, ok := g.at[source]; ok && !seen[at] {
				seen[at] = true
				g.tied[at] = append(g.tied[at], i)
			}
		}
		if at := g.under[i]; at >= 0 && !seen[at] {
			g.tied[at] = append(g.tied[at], i)
		}
	}
}

// focus keeps only an artefact, its ancestors and its descendants.
func (g *Graph) focus(id string) {
	at, ok := g.at[id]
	if !ok {
		return
	}
	g.About = id
	back := make([][]int, len(g.Nodes))
	for from, all := range g.tied {
		for _, to := range all {
			back[to] = append(back[to], from)
		}
	}
	keep := map[int]bool{}
	for _, ways := range [][][]int{g.tied, back} {
		for next, seen := []int{at}, map[int]bool{at: true}; len(next) > 0; next = next[1:] {
			keep[next[0]] = true
			for _, to := range ways[next[0]] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
	}
	g.keep(keep)
}

// keep keeps only these nodes, and the edges between them.
func (g *Graph) keep(keep map[int]bool) {
	place := map[int]int{-1: -1}
	var nodes []*GraphNode
	var under []int
	for i, n := range g.Nodes {
		if keep[i] {
			place[i] = len(nodes)
			nodes, under = append(nodes, n), append(under, g.under[i])
		}
	}
	g.Nodes = nodes
	g.connect()
	for i, old := range under {
		if at, ok := place[old]; ok {
			g.under[i] = at
		}
	}
	g.tie()
}

// Prune keeps depth levels of the tree; 0 or less: all. It returns the number of nodes
// that it removed.
func (g *Graph) Prune(depth int) int {
	if depth <= 0 {
		return 0
	}
	keep, before := map[int]bool{}, len(g.Nodes)
	g.Walk(func(s Line) WalkOn {
		if !s.Reference && s.Hidden == 0 {
			keep[s.Node] = true
		}
		if s.Depth >= depth {
			return Past
		}
		return Into
	})
	g.keep(keep)
	return before - len(g.Nodes)
}

package cli

import (
	"slices"

	"sett/blackboard"
)

// graph is what was made from what.
type graph struct {
	Goal  string       `json:"workflow_id"`
	About string       `json:"about_id"` // whose graph it is: the goal, or one artefact of it
	Nodes []*graphNode `json:"nodes"`    // oldest first
	Edges []graphEdge  `json:"edges"`

	at    map[string]int // a node's place
	under []int          // the place of the node that each stands under in a tree; -1: under none
	tied  [][]int        // the places of the nodes made from each, with those that stand under it
}

// graphNode is an artefact.
type graphNode struct {
	artefactBrief
	ClaimID         string             `json:"claim_id"` // that it was made under
	SourceArtefacts []string           `json:"source_artefacts"`
	Verdict         blackboard.Verdict `json:"verdict,omitempty"`    // of a Review
	Status          string             `json:"status,omitempty"`     // a goal's, that of the newest claim on it, or held, reworked, retried, open, answered, closed
	Unreadable      string             `json:"unreadable,omitempty"` // why there is no more to it than its id
}

// graphEdge leads from an artefact to what was made from it.
type graphEdge struct {
	From string `json:"from_id"`
	To   string `json:"to_id"`
	Kind string `json:"kind"` // source; version: to the next version of the same thread
}

func newGraph(l *lineage, verdicts map[string]blackboard.Verdict) *graph {
	g := &graph{Goal: l.workflow.ID, About: l.workflow.ID, Nodes: []*graphNode{}}
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
			g.Nodes = append(g.Nodes, &graphNode{artefactBrief: artefactBrief{ID: id, title: "unreadable"}, SourceArtefacts: []string{}, Unreadable: l.broken[id].Error()})
			continue
		}
		g.Nodes = append(g.Nodes, &graphNode{
			artefactBrief: briefOf(a), ClaimID: a.ClaimID, SourceArtefacts: append([]string{}, a.SourceArtefacts...),
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
func (g *graph) connect() {
	g.at, g.under, g.Edges = map[string]int{}, make([]int, len(g.Nodes)), []graphEdge{}
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
			g.Edges = append(g.Edges, graphEdge{source, n.ID, kind})
		}
	}
}

// parent returns the place of the node that a node stands under in a tree: for an
// Answer its Question, else the artefact of the claim that it was made under, else
// its first source, else the goal.
func (g *graph) parent(i int, target string) int {
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

// tie gathers what a tree shows under each node.
func (g *graph) tie() {
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

// focus leaves what an artefact came from, what came of it, and itself.
func (g *graph) focus(id string) {
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

// keep leaves only these nodes, and the edges between them.
func (g *graph) keep(keep map[int]bool) {
	place := map[int]int{-1: -1}
	var nodes []*graphNode
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

// prune leaves so many levels of the tree, 0 or less: all. It returns how many
// nodes it took away.
func (g *graph) prune(depth int) int {
	if depth <= 0 {
		return 0
	}
	keep, before := map[int]bool{}, len(g.Nodes)
	g.walk(func(s step) walkOn {
		if !s.reference && s.hidden == 0 {
			keep[s.node] = true
		}
		if s.depth >= depth {
			return walkPast
		}
		return walkInto
	})
	g.keep(keep)
	return before - len(g.Nodes)
}

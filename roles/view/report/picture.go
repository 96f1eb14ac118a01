package report

import (
	"cmp"
	"slices"

	"sett/blackboard"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/roles/view/diagram"
)

// mostNodes is how many boxes a graph has; further ones are folded.
const mostNodes = 150

// DrawTimeline draws the stretches of the goal's time: a lane for each agent, and one for people.
func (r *Report) DrawTimeline() *diagram.Picture {
	t := diagram.Timeline{From: r.Goal.Began, To: r.Goal.Ended, Open: !r.Goal.AsOf.IsZero()}
	if t.Open {
		t.To = r.Goal.AsOf
	}
	for i, s := range r.Timeline {
		lane := slices.Index(t.Lanes, s.Lane)
		if lane < 0 {
			lane = len(t.Lanes)
			t.Lanes = append(t.Lanes, s.Lane)
		}
		if s.To.After(t.To) {
			t.To = s.To
		}
		t.Bars = append(t.Bars, diagram.Bar{Lane: lane, From: s.From, To: s.To, Class: s.class(), Label: cmp.Or(s.Gist, s.Says), Title: s.Says + " (" + words.Span(s.To.Sub(s.From)) + ")", Ref: cmp.Or(s.ID, s.ClaimID)})
		if s.Answers > 0 {
			t.Loops = append(t.Loops, diagram.Loop{From: s.Answers - 1, To: i})
		}
	}
	return t.Draw()
}

// class is the tone of a stretch's bar.
func (s Stretch) class() string {
	switch {
	case s.Kind == WaitsForBids || s.Kind == Queued:
		return diagram.Wait
	case s.Lane == lanePeople:
		return diagram.Person
	}
	return classOf(s.Tone, diagram.Work)
}

// classOf is the class of a tone.
func classOf(t view.Tone, plain string) string {
	switch t {
	case view.Good:
		return diagram.Good
	case view.Warn:
		return diagram.Warn
	case view.Bad:
		return diagram.Bad
	}
	return plain
}

// DrawGraph draws the artefacts and their sources. A Review is a line in the box of the artefact
// that it is about, and so is the decision of a gate.
func (r *Report) DrawGraph() *diagram.Picture {
	about := map[string]string{} // from a claim to its artefact
	for _, s := range r.Steps {
		if s.Claim != nil {
			about[s.Claim.ID] = s.Claim.ArtefactID
		}
	}
	var g diagram.Graph
	at, keep := map[string]int{}, map[int]bool{}
	gates, gateOf := map[string]bool{}, map[string]*view.Gate{} // their reviews, and by artefact
	for _, a := range r.Artefacts {
		if a.Gate != nil {
			gates[a.Gate.ReviewID], gateOf[a.ID] = true, a.Gate
		}
	}
	for i, n := range r.Graph.Nodes {
		if n.StructuralType == blackboard.Review {
			target := about[n.ClaimID]
			if len(n.SourceArtefacts) > 0 && target == "" {
				target = n.SourceArtefacts[0]
			}
			if to, ok := at[target]; ok && !gates[n.ID] {
				g.Nodes[to].Badges = append(g.Nodes[to].Badges, badge(n.Verdict == blackboard.Approve, n.Maker, n.Says))
			}
			continue
		}
		at[n.ID] = len(g.Nodes)
		keep[len(g.Nodes)] = i == 0 || r.Outcome != nil && r.Outcome.ID == n.ID
		tone := view.StructuralTone(n.StructuralType)
		node := diagram.Node{Name: n.Name(), Text: n.Says, Class: classOf(tone, diagram.Plain), Title: n.Name() + words.Because(n.Says), Ref: n.ID}
		if n.Maker != "" {
			node.Text = "by " + n.Maker + words.Because(n.Says)
		}
		if gate := gateOf[n.ID]; gate != nil {
			node.Badges = append(node.Badges, diagram.Badge{Text: gate.Decision(), Class: classOf(gate.Tone(), "dim")})
		}
		g.Nodes = append(g.Nodes, node)
	}
	for _, e := range r.Graph.Edges {
		from, ok := at[e.From]
		to, ok2 := at[e.To]
		if ok && ok2 {
			g.Edges = append(g.Edges, diagram.Edge{From: from, To: to, Strong: e.Kind == "version"})
		}
	}
	return g.Fold(mostNodes, keep).Draw()
}

// badge is a reviewer's verdict.
func badge(approves bool, by, says string) diagram.Badge {
	if approves {
		return diagram.Badge{Text: "✓ " + by, Class: diagram.Good}
	}
	return diagram.Badge{Text: "✗ " + by + words.Because(says), Class: diagram.Warn}
}

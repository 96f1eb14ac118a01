package cli

import (
	"cmp"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"

	"sett/blackboard"
	"sett/roles/cli/chart"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role/words"
	"sett/roles/view/lineage"
)

type graphCmd struct {
	ID     string `arg:"" optional:"" help:"A goal, or an artefact or claim of one: any part of its id's beginning or end that is unique (default: @last, the newest goal)."`
	Depth  int    `default:"-1" placeholder:"N" help:"Levels to show; 0 for all (default: 20 as text, else all)."`
	Output string `short:"o" enum:"text,table,mermaid,dot,json,jsonl,yaml" default:"text" placeholder:"FORMAT" help:"How to print: text (a tree; table is the same), mermaid, dot, json, jsonl (one node per line) or yaml."`
}

// Help is shown by `sett graph --help`.
func (graphCmd) Help() string {
	return `Shows what was made from what: everything that grew from a goal or, for an artefact, what
it came from and what came of it; for a claim, that of its artefact. In the tree each stands
under what it was made about; where it is also made from others, "↑" refers to it from there
("^" where the locale is not UTF-8).

json and yaml have "nodes" (oldest first) and "edges" (from a source to what was made of it).
mermaid is for Markdown, dot for Graphviz.

Examples:
  sett graph
  sett graph 7XK2ABCD --depth 3
  sett graph @last -o mermaid
  sett graph @last -o dot | dot -Tsvg > goal.svg`
}

// treeDepth is how many levels a tree has when nobody says.
const treeDepth = 20

// Run shows the graph.
func (c *graphCmd) Run(a *app) error {
	b, _, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	g, compared, err := readGraph(a, b, cmp.Or(c.ID, grammar.LastGoal))
	if err != nil {
		return err
	}
	return cmp.Or(c.print(a, g), compared.Failure(a.Sayf))
}

// print writes the graph in the form that is wanted.
func (c *graphCmd) print(a *app, g *lineage.Graph) error {
	text := c.Output == "text" || c.Output == "table"
	depth := c.Depth
	if depth < 0 && text {
		depth = treeDepth
	}
	if text {
		return chart.Tree(&a.Terminal, g, depth)
	}
	if left := g.Prune(depth); left > 0 {
		a.Sayf("sett: %s left out (--depth 0 shows all)\n", words.Count(left, "artefact"))
	}
	switch c.Output {
	case "mermaid":
		return term.WriteAll(a.Stdout, g.Mermaid())
	case "dot":
		return term.WriteAll(a.Stdout, g.Dot())
	}
	return a.Emit(term.Form{Output: c.Output}, term.Shown{Whole: g, Lines: g.Nodes})
}

// readGraph reads the graph of the goal, artefact or claim that is meant.
func readGraph(a *app, b *instance.Board, part string) (*lineage.Graph, *ledger.Comparison, error) {
	id, kind, err := a.resolve(a.ctx, b, part, blackboard.KindArtefact, blackboard.KindClaim)
	if err != nil {
		return nil, nil, err
	}
	if kind == blackboard.KindClaim {
		claims, err := b.Records.Claims(a.ctx, []string{id})
		if err != nil {
			return nil, nil, err
		}
		id = claims[0].ArtefactID
	}
	on, compared := ledger.Compare(b, status.BoardOf(b))
	g, err := lineage.Of(a.ctx, on, id)
	return g, compared, err
}

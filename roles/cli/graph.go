package cli

import (
	"context"
	"fmt"

	"sett/blackboard"
	"sett/blackboard/redis"
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
under what it was made about; where it is also made from others, "^" refers to it from there.

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
	b, _, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	g, err := a.readGraph(b, orElse(c.ID, lastGoal))
	if err != nil {
		return err
	}
	text := c.Output == "text" || c.Output == "table"
	depth := c.Depth
	if depth < 0 && text {
		depth = treeDepth
	}
	if text {
		return g.tree(a, depth)
	}
	if left := g.prune(depth); left > 0 {
		a.sayf("sett: %s left out (--depth 0 shows all)\n", count(left, "artefact"))
	}
	switch c.Output {
	case "mermaid":
		return g.mermaid(a.Stdout)
	case "dot":
		return g.dot(a.Stdout)
	}
	return a.emit(outputs{Output: c.Output}, shown{whole: g, lines: g.Nodes})
}

// mostGist is the longest payload that is read for what it says in a graph, in
// bytes: a graph may have thousands.
const mostGist = 4 << 10

// readGraph reads the graph of the goal, artefact or claim that is meant.
func (a *app) readGraph(b *redis.Board, part string) (*graph, error) {
	id, kind, err := a.resolve(a.ctx, b, part, redis.KindArtefact, redis.KindClaim)
	if err != nil {
		return nil, err
	}
	if kind == redis.KindClaim {
		claims, err := b.Claims(a.ctx, []string{id})
		if err != nil {
			return nil, err
		}
		id = claims[0].ArtefactID
	}
	goal, err := goalOf(a.ctx, b, id)
	if err != nil {
		return nil, err
	}
	l, err := readLineage(a.ctx, b, goal)
	if err != nil {
		return nil, err
	}
	if err := l.readTexts(a.ctx, b, []string{goal}, maxShown); err != nil {
		return nil, err
	}
	if err := l.readTexts(a.ctx, b, l.ids, mostGist); err != nil {
		return nil, err
	}
	verdicts, err := l.readVerdicts(a.ctx, b, l.ids)
	if err != nil {
		return nil, err
	}
	g := newGraph(l, verdicts)
	if id != goal {
		g.focus(id)
	}
	return g, nil
}

// goalOf returns the goal of an artefact, without reading its payload.
func goalOf(ctx context.Context, b *redis.Board, id string) (string, error) {
	all, each, err := b.Outlines(ctx, []string{id})
	if err != nil {
		return "", err
	}
	if each[0] != nil {
		return "", each[0]
	}
	if all[0].WorkflowID == "" {
		return "", fmt.Errorf("artefact %s names no goal: %w", id, blackboard.ErrCorrupt)
	}
	return all[0].WorkflowID, nil
}

package lineage

import (
	"context"
	"fmt"

	"sett/blackboard"
	"sett/roles/view"
)

// mostGist is the longest payload that is read for its gist in a graph, in bytes: a
// graph may have thousands of payloads.
const mostGist = 4 << 10

// Of reads the graph of an artefact's goal. Unless the artefact is the goal, the graph is
// cut to its ancestors and descendants.
func Of(ctx context.Context, b view.Board, id string) (*Graph, error) {
	goal, err := goalOf(ctx, b, id)
	if err != nil {
		return nil, err
	}
	l, err := readLineage(ctx, b, goal)
	if err != nil {
		return nil, err
	}
	if err := l.readTexts(ctx, b, []string{goal}, view.MaxShown); err != nil {
		return nil, err
	}
	if err := l.readTexts(ctx, b, l.ids, mostGist); err != nil {
		return nil, err
	}
	verdicts, err := l.readVerdicts(ctx, b, l.ids)
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
func goalOf(ctx context.Context, b view.Board, id string) (string, error) {
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

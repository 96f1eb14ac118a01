package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/role/words"
)

// LandingQueue reads the goals that are about to land, in the order of their turns, and no more
// of them than MostOpen. Goals with a corrupt record, which list names, are not in it.
func LandingQueue(ctx context.Context, b Board) ([]blackboard.Workflow, error) {
	ids, err := b.Landing.OpenLandings(ctx)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return workflows(ctx, b, ids)
}

// workflows reads the first goals of a queue.
func workflows(ctx context.Context, b Board, ids []string) (queue []blackboard.Workflow, err error) {
	all, each, err := b.TryWorkflows(ctx, ids[:min(len(ids), MostOpen)])
	for i, w := range all {
		if each[i] == nil && w.Landing != nil {
			queue = append(queue, w)
		}
	}
	return queue, err
}

// needsOf returns the commands that answer a goal's questions, approve its artefacts at gates and let its bids come.
func needsOf(ctx context.Context, b Board, goal string) ([]string, error) {
	questions, gates, err := OpenMatters(ctx, b)
	if err != nil {
		return nil, err
	}
	own, err := b.WorkflowArtefacts(ctx, goal)
	commands := []string{}
	for _, id := range questions {
		if slices.Contains(own, id) {
			commands = append(commands, fmt.Sprintf(`answer %s "…"`, words.Short(id)))
		}
	}
	for _, id := range gates {
		if slices.Contains(own, id) {
			commands = append(commands, "approve "+words.Short(id))
		}
	}
	if err != nil {
		return nil, err
	}
	plain := Reader{Board: b, Command: func(args string) string { return args }}
	withheld, err := Withheld(ctx, MatterReader{Reader: plain, Workflow: goal})
	for _, m := range withheld {
		commands = append(commands, m.Commands[0])
	}
	return commands, err
}

// forYou names the commands that let the goal ahead go on.
func (t turn) forYou() string {
	if len(t.needs) == 0 {
		return ""
	}
	const most = 3
	text := "sett " + strings.Join(t.needs[:min(len(t.needs), most)], ", sett ")
	if more := len(t.needs) - most; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return ", which waits for you: " + text
}

// MattersAhead reads the matters of the goal that has to land before the reader's, where only
// people take that one on. The other goal is empty where there is none.
func MattersAhead(ctx context.Context, r MatterReader) (ahead string, all []Matter, err error) {
	if r.Workflow == "" {
		return "", nil, nil
	}
	queue, err := LandingQueue(ctx, r.Board)
	if err != nil {
		return "", nil, err
	}
	w, err := r.Board.Workflow(ctx, r.Workflow)
	if err != nil {
		return "", nil, err
	}
	other, ok := w.Ahead(queue)
	if !ok {
		return "", nil, nil
	}
	r.Workflow = other.ID
	all, err = Holding(ctx, r)
	return other.ID, all, err
}

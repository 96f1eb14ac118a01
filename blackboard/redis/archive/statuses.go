package archive

import (
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
)

// statuses are those of goals, by the ledger or by their records.
type statuses map[recordID]blackboard.WorkflowStatus

// hear takes what an entry says of its goal.
func (s statuses) hear(entry map[string]string) {
	goal := entry["workflow"]
	if !blackboard.ValidID(goal) {
		return
	}
	switch kind := blackboard.EventKind(entry["kind"]); {
	case entry["workflow_status"] != "":
		s[keyOf(goal)] = blackboard.WorkflowStatus(strings.Clone(entry["workflow_status"]))
	case kind == blackboard.EventGoal, kind == blackboard.EventRetry,
		kind == blackboard.EventRecount && slices.Contains(strings.Split(entry["to"], ", "), string(blackboard.WorkflowActive)):
		s[keyOf(goal)] = blackboard.WorkflowActive
	}
}

// compare holds a goal's record to the ledger, if that has the goal.
func (s statuses) compare(goal string, is blackboard.WorkflowStatus) error {
	if want, known := s[keyOf(goal)]; known && want != is {
		return fmt.Errorf("workflow %s is not what the ledger recorded: it is %s, recorded is %s: %w", goal, is, want, blackboard.ErrCorrupt)
	}
	return nil
}

package view

import (
	"context"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// Goal is a goal as `goals -o json` prints it.
type Goal struct {
	blackboard.Workflow
	Text       string `json:"text"`
	AgeSeconds int64  `json:"age_seconds"`
}

// GoalTexts reads the texts of goals, with an error for each that cannot be read. For
// people it reads no more than a line shows.
func (r Reader) GoalTexts(ctx context.Context, ids []string, forPeople bool) ([]string, []error, error) {
	texts := make([]string, len(ids))
	if !forPeople {
		goals, each, err := r.TryArtefacts(ctx, ids)
		for i, g := range goals {
			texts[i] = g.Payload
		}
		return texts, each, err
	}
	goals, each, err := r.OutlinesWithTexts(ctx, ids, MaxShown)
	for i, g := range goals {
		if texts[i] = g.Payload; g.Payload == "" {
			texts[i] = GistOf(&goals[i])
		}
	}
	return texts, each, err
}

// GoalStatus is a workflow's status, with the number of open questions and gates.
func GoalStatus(w blackboard.Workflow) string {
	return strings.Join(append([]string{string(w.Status)}, peoples(w)...), ", ")
}

// peoples counts the open questions and gates of a workflow.
func peoples(w blackboard.Workflow) (counts []string) {
	if w.Questions > 0 {
		counts = append(counts, words.Count(w.Questions, "question"))
	}
	if w.Gates > 0 {
		counts = append(counts, words.Count(w.Gates, "approval"))
	}
	if w.Landing != nil && w.Landing.People && !w.Status.Ended() {
		counts = append(counts, "cannot land")
	}
	return counts
}

// ToLand says where the result of a goal goes, and the command that takes it there; without a command, it is there.
func ToLand(w blackboard.Workflow) (text, command string) {
	branch, id := "your branch", words.Short(w.ID)
	if w.Landing != nil {
		branch = "branch " + role.Clean(w.Landing.Branch)
	}
	switch {
	case w.Landing != nil && w.Landing.State == blackboard.LandingLanded:
		return branch + " has its commit", ""
	case w.Landing != nil && w.Landing.People && !w.Status.Ended():
		return "to bring its commit to " + branch + ": ", "sett " + words.Land(id, w.Landing.Branch)
	}
	return "to bring its commit to your branch: ", "sett land " + id
}

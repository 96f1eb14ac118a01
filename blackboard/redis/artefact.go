package redis

import (
	"context"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// PostGoal stores a person's goal, which starts a workflow. The artefact is a Standard one
// of type GoalDefined with its own ID as WorkflowID. Posting it again changes
// nothing. ErrStopping when the instance takes no new work.
func (b People) PostGoal(ctx context.Context, a blackboard.Artefact, by string) error {
	_, err := b.person(ctx, "post goal "+a.ID, a.ID, "goal", append(store.Arguments(a), by)...)
	return err
}

// PostAnswer stores a person's Answer to a Question and resumes the grant that
// asked. It returns the agent that goes on. ErrRefused says why the question no
// longer waits for one.
func (b People) PostAnswer(ctx context.Context, questionID string, a blackboard.Artefact, by string) (agent string, err error) {
	r, err := b.person(ctx, "answer question "+questionID, questionID, "answer", append(append([]string{questionID}, store.Arguments(a)...), by)...)
	if err != nil {
		return "", err
	}
	return r.Text(0), nil
}

package trial

import (
	"cmp"
	"context"

	"sett/blackboard"
	"sett/contract/tool"
	"sett/roles/role"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// Asked is a question of the tool, and the answer that it got.
type Asked struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// runAll runs the tool, and again with an answer for as long as it asks and there is one.
func (t *Trial) runAll(ctx context.Context, phase blackboard.Phase) error {
	answers := t.Answers
	for t.attempt = 1; ; t.attempt++ {
		if err := t.run(ctx, phase); err != nil {
			return err
		}
		a := t.report.Artefact
		if a == nil || a.StructuralType != blackboard.Question || len(answers) == 0 {
			break
		}
		t.say("asks", words.FirstLine(stringError(a.Payload)))
		t.say("answer", answers[0])
		if err := t.answer(ctx, *a, answers[0]); err != nil {
			return err
		}
		answers = answers[1:]
	}
	if len(answers) > 0 {
		t.say("note", words.Count(len(answers), "answer")+" of --answer not used: the tool asked no further question")
	}
	return nil
}

// stringError is a text as an error, for a line of the report.
type stringError string

func (s stringError) Error() string { return string(s) }

// answer adds a question and its answer to the context, and has the tree start from all that
// the tool left in it.
func (t *Trial) answer(ctx context.Context, a Artefact, text string) error {
	question := made(t, blackboard.Artefact{StructuralType: blackboard.Question, Type: a.Type, Payload: a.Payload, Summary: a.Summary, ClaimID: t.Claim,
		WorkflowID: t.Target.WorkflowID, SourceArtefacts: []string{t.Target.ID}, ProducedByAgent: t.Agent.Name, ProducedByRole: t.Agent.Role})
	answer := made(t, blackboard.Artefact{StructuralType: blackboard.Answer, Type: string(blackboard.Answer), Payload: text, ClaimID: t.Claim,
		WorkflowID: t.Target.WorkflowID, SourceArtefacts: []string{question.ID}, ProducedByRole: blackboard.RoleHuman})
	t.Chain = append(t.Chain, question, answer)
	t.Extra = append(t.Extra, answer.ID)
	t.report.Asked = append(t.report.Asked, Asked{a.Payload, text})
	t.report.Artefact, t.report.Problem, t.report.Commits, t.report.LeftDirty = nil, nil, nil, nil
	if t.place.tree == nil {
		return nil
	}
	start := *t.place.start
	if t.Agent.Workspace.Mode == blackboard.ReadWrite {
		kept, err := t.place.tree.Keep(ctx, store.Changes{Start: start.Commit, Before: start.Before, Message: tool.CommitMessage(t.Agent.Role, "work before a question", t.Claim), Author: t.author(), Size: t.Agent.Workspace.MaxSize},
			store.Leftover("try", t.Agent.Name, t.attempt))
		if err != nil {
			return role.Fail(role.Environment, err, "")
		}
		if kept.Commit != "" {
			t.place.known, t.place.refs = append(t.place.known, kept.Files), kept.Beside
			resumed := tool.Workspace{Commit: kept.Files, Base: start.Base, Branch: start.Branch}
			if before := cmp.Or(start.Before, start.Commit); before != kept.Files {
				resumed.Before = before
			}
			start = resumed
		}
	}
	t.place.start = &start
	if err := t.place.tree.Prepare(ctx, treePlan(t)); err != nil {
		return role.Fail(role.Environment, err, "")
	}
	return nil
}

// treePlan is the state in which the tool finds its tree.
func treePlan(t *Trial) store.Plan {
	return store.Plan{Commit: t.place.start.Commit, Branch: t.place.start.Branch, ReadOnly: t.Agent.Workspace.Mode == blackboard.ReadOnly, User: t.author(), Refs: t.place.refs}
}

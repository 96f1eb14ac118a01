package cub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/cub/door"
	"sett/roles/cub/toolrun"
	"sett/roles/role/gateway"
)

// openDoor opens the way to the agent's model for a run of its tool, and returns the
// tool's environment. A refusal for want of a budget ends the run, when its other
// calls have ended. Without a model nothing is opened, and the door is nil.
func (x *executor) openDoor(w *work, environ []string, stop context.CancelCauseFunc) (d *door.Door, vars []string, shut func(), err error) {
	asks := x.settings.Asks
	switch {
	case asks.Gateway == "":
		return nil, environ, func() {}, nil
	case asks.NoDoor:
		return nil, withoutModel(environ), func() {}, nil
	}
	release := func() {}
	if p, ok := x.runner.(interface{ Hold() func() string }); ok { // the end of another run must not take the door's socket away
		let := p.Hold()
		release = func() {
			if why := let(); why != "" {
				w.log.Info("emptied /tmp: " + why)
			}
		}
	}
	dir := ""
	if x.settings.Walls != nil {
		dir = x.settings.Walls.Tmp // the tool may go there
	}
	d, err = door.Open(door.Options{
		Dir:     dir,
		Gateway: asks.Gateway, Token: asks.Token, NewID: x.env.NewID, Loopback: !x.noNetwork(), Log: w.log,
		Call:       blackboard.Call{Claim: w.ref.Claim, Agent: w.ref.Agent, Attempt: w.ref.Attempt, Holder: w.ref.Holder},
		OverBudget: func(over *gateway.OverBudget) { stop(over) },
	})
	if err != nil {
		release()
		return nil, nil, nil, err
	}
	return d, d.Environ(environ), func() {
		d.Close()
		release()
	}, nil
}

// withoutModel returns an environment that does not name the model. The cub's own has it.
func withoutModel(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		return strings.HasPrefix(v, env.ModelName+"=") || strings.HasPrefix(v, env.ModelAPI+"=")
	})
}

// overBudget ends a grant that has used up a budget: with a Failure, or with a Question
// for more. A person who was asked and gave none is not asked again.
func (x *executor) overBudget(ctx context.Context, w *work, res toolrun.Result, cause *gateway.OverBudget) outcome {
	b := cause.Refusal.Budget
	if x.settings.Asks.OnBudget != model.OnBudgetAsk || b == nil || w.denied {
		return x.failed(ctx, w, res, cause)
	}
	x.keep(ctx, w, suspended(x, w, "a question for more of its budget"))
	return askForMore(x, w, res, blackboard.Wanted{Of: b.Of, Unit: b.Unit}, fmt.Sprintf("%s. Answer %q to go on with so much more, or in other words to end it here.",
		upperFirst(cause.Error()), "more: "+b.Unit+"="+exampleOf(b.Unit)))
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// exampleOf is an amount of a unit of budgets, as a person writes it.
func exampleOf(unit string) string {
	return map[string]string{"cost": "5", "tokens": "1M", "calls": "100", "time": "1h"}[unit]
}

// askForMore ends a grant with a Question for more of a budget: the goal's or the grant's,
// as its metadata says.
func askForMore(x *executor, w *work, res toolrun.Result, of blackboard.Wanted, text string) outcome {
	return outcome{toolTime: res.Reaped.Sub(res.Started), artefact: blackboard.Artefact{
		ID: x.env.NewID(), StructuralType: blackboard.Question, Type: blackboard.TypeBudgetExceeded, Payload: text,
		SourceArtefacts: []string{w.Claim.ArtefactID}, ProducedByRole: x.settings.Role, ProducedByAgent: x.settings.Agent,
		ClaimID: w.Claim.ID, WorkflowID: w.Claim.WorkflowID, Summary: text, Metadata: of.Metadata(),
	}}
}

// unreadable is an answer to a Question for more of a budget that cannot be read.
type unreadable struct {
	of  blackboard.Wanted
	why error
}

// heedMore reads a person's answers to Questions for more of a budget. The newest raises
// it, once, however often it is read. None of these is in the tool's context: they are no
// part of its work. again, if not nil, is the reason to ask once more.
func heedMore(ctx context.Context, x *executor, w *work) (again *unreadable, err error) {
	if x.settings.Asks.Gateway == "" {
		return nil, nil
	}
	asked := w.Grant.Asked
	for i := 0; i+1 < len(asked); i += 2 { // questions and answers alternate
		question, err := x.board.records.Artefact(ctx, asked[i])
		if err != nil {
			return nil, err
		}
		if question.Type != blackboard.TypeBudgetExceeded {
			continue
		}
		w.unseen = append(w.unseen, asked[i], asked[i+1])
		if i+2 < len(asked) {
			continue
		}
		answer, err := x.board.records.Artefact(ctx, asked[i+1])
		if err != nil {
			return nil, err
		}
		of := blackboard.WantedBy(question)
		word, text, err := firstSaid(ctx, x, w, of, answer)
		if err != nil {
			return nil, err
		}
		more, wanted, why := model.ParseMore(text)
		switch {
		case !wanted:
			w.denied = true
		case why != nil:
			return &unreadable{of, why}, nil
		default:
			raise := blackboard.Raise{Word: word, Workflow: w.Claim.WorkflowID, More: more}
			if of.Of == blackboard.BudgetOfGrant {
				raise.Claim, raise.Agent = w.Claim.ID, w.ref.Agent
			}
			if err := x.board.raiseBudget(ctx, raise); err != nil {
				return nil, err
			}
			w.log.Info("budget raised", "of", of.Of, "answer", word)
		}
	}
	return nil, nil
}

// firstSaid returns the words that raise a budget, and the id under which they count once: those of the answer, or of the
// answer to another agent's Question about the goal's budget that it names.
func firstSaid(ctx context.Context, x *executor, w *work, of blackboard.Wanted, answer blackboard.Artefact) (id, text string, err error) {
	first := model.AnsweredBy(answer.Payload)
	if first == "" || of.Of != blackboard.BudgetOfGoal {
		return answer.ID, answer.Payload, nil
	}
	said, err := x.board.records.Artefact(ctx, first)
	switch {
	case errors.Is(err, blackboard.ErrNotFound) || err == nil && (said.StructuralType != blackboard.Answer || said.WorkflowID != w.Claim.WorkflowID):
		return answer.ID, answer.Payload, nil
	case err != nil:
		return "", "", err
	}
	return said.ID, said.Payload, nil
}

// asBudget returns the refusal that ended a run; nil: another reason did.
func asBudget(cause error) *gateway.OverBudget {
	var e *gateway.OverBudget
	if errors.As(cause, &e) {
		return e
	}
	return nil
}

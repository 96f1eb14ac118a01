package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// asker asks the person at the terminal what a followed goal waits for. A nil one asks
// nothing.
type asker struct {
	a      *app
	b      *instance.Board
	in     *instance.Instance
	goal   string
	typist *term.Typist
	left   []string // matters that the person left open
	now    string   // the command that settles the matter that is being asked; empty: none is
}

// askerFor returns the asker of a followed goal; nil when nobody can be asked.
func askerFor(a *app, b *instance.Board, in *instance.Instance, goal string) *asker {
	if _, inTool := role.InTool(a.Env); inTool || goal == "" || !term.CanAsk(a.Env) {
		return nil
	}
	own := *a
	own.Stdout = io.Discard // it belongs to the command's own data
	return &asker{a: &own, b: b, in: in, goal: goal, typist: term.NewTypist(&own.Terminal)}
}

// ask asks about every matter of the goal that is open, but for those that were left so.
// It returns an error only if the goal cannot be followed further.
func (k *asker) ask(ctx context.Context) error {
	if k == nil {
		return nil
	}
	for {
		all, err := view.MatterReader{Reader: status.Reader(k.a.at, k.b, k.in), Workflow: k.goal}.Open(ctx)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(m view.Matter) bool {
			return m.WorkflowID == "" || len(m.Commands) == 0 || slices.Contains(k.left, m.ID)
		})
		if len(all) == 0 {
			return nil
		}
		if err := k.settle(ctx, all[0]); err != nil {
			return err
		}
	}
}

// settle asks about one matter, and does as the person says.
func (k *asker) settle(ctx context.Context, m view.Matter) error {
	artefact, err := k.b.Records.Artefact(ctx, m.ID)
	if err != nil {
		return err
	}
	k.now = m.Commands[0]
	asking, over := context.WithCancelCause(ctx)
	defer over(nil)
	go func() { over(k.closed(asking, m)) }()
	do, err := k.decide(asking, m, artefact)
	dropped := k.typist.Dropped()
	switch {
	case do == nil && errors.Is(context.Cause(asking), errOver):
		k.a.Sayf("sett: %s\n", k.settled(ctx, artefact))
		k.sayDropped(dropped)
	case ctx.Err() != nil:
		k.sayDropped(dropped)
		return ctx.Err() // the command that settles it is named by the caller
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case do == nil:
		k.left = append(k.left, m.ID)
		k.a.Sayf("sett: left open; later: %s\n", strings.Join(m.Commands, ", or "))
	default:
		if err := do(); err != nil {
			k.left = append(k.left, m.ID)
			k.a.Sayf("sett: %s\n", role.CleanText(err.Error()))
		}
	}
	k.now = ""
	return nil
}

// sayDropped says that no part of an answer to a question that was given up is an answer.
func (k *asker) sayDropped(dropped bool) {
	if dropped {
		k.a.Sayf("sett: what you typed was dropped\n")
	}
}

// end ends the asking, with the command.
func (k *asker) end() {
	if k != nil {
		k.typist.End()
		k.sayDropped(k.typist.Dropped())
	}
}

// settled says how somebody else settled a matter.
func (k *asker) settled(ctx context.Context, about blackboard.Artefact) string {
	const elsewhere = "it was settled elsewhere"
	if about.StructuralType == blackboard.Question {
		how, _, err := howClosed(ctx, k.a, k.b, k.in, about)
		if err != nil || how == "" {
			return elsewhere
		}
		return how
	}
	gate, err := view.ReadGate(ctx, status.BoardOf(k.b), about)
	if err != nil || gate == nil || gate.IsHeld() {
		return elsewhere
	}
	return "it was " + decided(k.a, gate)
}

// closed returns errOver when a matter is open no longer.
func (k *asker) closed(ctx context.Context, m view.Matter) error {
	return role.Every(ctx, time.Second, func(ctx context.Context) error {
		questions, gates, err := view.OpenMatters(ctx, k.b.Index)
		if err == nil && !slices.Contains(questions, m.ID) && !slices.Contains(gates, m.ID) {
			return errOver
		}
		return nil
	})
}

// decide shows a matter and reads what the person wants. nil: to leave it open.
func (k *asker) decide(ctx context.Context, m view.Matter, about blackboard.Artefact) (do func() error, err error) {
	who := view.Maker(about)
	text := words.Indent(strings.TrimSpace(view.Excerpt(blackboard.Artefact{Payload: m.Text})), "    ")
	if m.Kind == view.MatterQuestion {
		if m.Look != "" {
			text += "\n  " + m.Look + " shows all of it"
		}
		answer, err := k.typist.AskText(ctx, who+" asks:\n"+text+"\nYour answer (empty: later): ")
		if err != nil || answer == "" {
			return nil, err
		}
		return func() error {
			if err := checkText(k.a, "answer", answer, ""); err != nil {
				return err
			}
			return postAnswer(k.a, k.b, k.in, about, answer)
		}, nil
	}
	prompt := view.Title(about) + " of " + who + " waits for approval:\n" + text + "\n  " + m.Look + " shows it\n"
	for {
		said, err := k.typist.Ask(ctx, prompt+"Approve it? y, n, or empty: later: ")
		if err != nil || said == "" {
			return nil, err
		}
		switch strings.ToLower(said) {
		case "y", "yes":
			return func() error { return approveGate(k.a, k.b, k.in, about) }, nil
		case "n", "no":
			why, err := k.typist.AskText(ctx, "What is wrong with it (empty: later): ")
			if err != nil || why == "" {
				return nil, err
			}
			return func() error {
				if err := checkFeedback(k.a, "reason", why, "", ""); err != nil {
					return err
				}
				return rejectGate(k.a, k.b, k.in, about, why)
			}, nil
		}
		prompt = ""
	}
}

// later says how the matter that was being asked is settled later; empty: there is none.
func (k *asker) later() string {
	if k == nil || k.now == "" {
		return ""
	}
	return "; later: " + k.now
}

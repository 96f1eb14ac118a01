package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"sett/blackboard"
	"sett/contract/env"
	contract "sett/contract/tool"
	"sett/roles/role/modelclient"
)

// schema writes the schema of a call's arguments.
func schema(properties map[string]any, required ...string) json.RawMessage {
	b, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		return json.RawMessage(`{"type":"object"}`) // cannot happen: it has texts alone
	}
	return b
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

// toolset are the tools that sett.yml names, ask and finish.
func (l *loop) toolset() []tool {
	var all []tool
	if l.tree != nil && l.Has(env.ToolEdit) {
		all = append(all, l.editTool())
	}
	if l.Has(env.ToolRun) && (l.Shell || len(l.Run) > 0) {
		all = append(all, l.runTool())
	}
	if l.tree != nil && l.Has(env.ToolSearch) {
		all = append(all, l.searchTool())
	}
	finish := l.finishWork()
	if l.input.ClaimType == blackboard.BidReview {
		finish = l.finishReview()
	}
	return append(all, l.askTool(), finish)
}

func (l *loop) askTool() tool {
	return tool{
		Tool: modelclient.Tool{
			Name: "ask", Description: "Ask a person. Your work is suspended until the answer is there; then you begin anew, with question and answer in your context.",
			Schema: schema(map[string]any{"question": text("Whole and understandable by itself.")}, "question"),
		},
		line: func(json.RawMessage) string { return "" },
		call: func(_ context.Context, arguments json.RawMessage) (string, *result, error) {
			var q struct {
				Question string `json:"question"`
			}
			if err := decode(arguments, &q); err != nil {
				return "", nil, err
			}
			if strings.TrimSpace(q.Question) == "" {
				return "", nil, errUnread{errors.New("the question is empty")}
			}
			return "", &result{StructuralType: blackboard.Question, Payload: q.Question}, nil
		},
	}
}

const (
	verdictApprove  = "approve"
	verdictFeedback = "feedback"
)

func (l *loop) finishReview() tool {
	return tool{
		Tool: modelclient.Tool{
			Name: "finish", Description: "Hand in your Review. It ends your work.",
			Schema: schema(map[string]any{
				"verdict":  map[string]any{"type": "string", "enum": []string{verdictApprove, verdictFeedback}, "description": "approve: the artefact is right as it is. feedback: it must change."},
				"feedback": text("With the verdict feedback: each change that is needed, so that the author can make it. Else empty."),
				"summary":  text("One line."),
			}, "verdict", "feedback"),
		},
		line: func(arguments json.RawMessage) string {
			var f struct{ Verdict string }
			_ = json.Unmarshal(arguments, &f) // a broken one is reported by the call
			return f.Verdict
		},
		call: func(_ context.Context, arguments json.RawMessage) (string, *result, error) { return review(arguments) },
	}
}

// review makes a Review. The verdict alone approves; feedback that reads like an approval
// to the blackboard is none.
func review(arguments json.RawMessage) (string, *result, error) {
	var f struct {
		Verdict  string `json:"verdict"`
		Feedback string `json:"feedback"`
		Summary  string `json:"summary"`
	}
	if err := decode(arguments, &f); err != nil {
		return "", nil, err
	}
	out := &result{StructuralType: blackboard.Review, Type: string(blackboard.Review), Summary: oneLine(f.Summary)}
	switch f.Verdict {
	case verdictApprove:
		if strings.TrimSpace(f.Feedback) != "" {
			return "", nil, errUnread{errors.New("the verdict is approve, and there is feedback: an approval has none. Give the verdict feedback, or leave the feedback empty")}
		}
		out.Payload = "{}"
	case verdictFeedback:
		if strings.TrimSpace(f.Feedback) == "" || blackboard.VerdictOf(f.Feedback) == blackboard.Approve {
			return "", nil, errUnread{errors.New("the verdict is feedback, and the feedback says nothing: say each change that is needed")}
		}
		out.Payload = f.Feedback
	default:
		return "", nil, errUnread{fmt.Errorf("the verdict is %q, want approve or feedback", oneLine(f.Verdict))}
	}
	return "", out, nil
}

func (l *loop) finishWork() tool {
	properties := map[string]any{
		"summary": text("The result in one line."),
		"failure": text("Only when the work cannot be done, also not with a person's help: why. It fails the whole goal."),
	}
	var required []string
	if len(l.Makes) != 1 {
		kind := text("The type of the result.")
		if len(l.Makes) > 1 {
			kind["enum"] = l.Makes
		}
		properties["type"] = kind
		required = append(required, "type")
	}
	description := "Hand in your result. It ends your work."
	if payload := l.payload(); payload != "" {
		properties["payload"] = text(payload)
	}
	if l.canChange() {
		description += " All changes in the working directory are committed."
	}
	return tool{
		Tool: modelclient.Tool{Name: "finish", Description: description, Schema: schema(properties, append(required, "summary")...)},
		line: func(json.RawMessage) string { return "" },
		call: func(_ context.Context, arguments json.RawMessage) (string, *result, error) {
			return l.finish(arguments)
		},
	}
}

// payload describes the payload; empty: every result is a commit.
func (l *loop) payload() string {
	isCommit := func(kind string) bool { return slices.Contains(l.commits, kind) }
	if len(l.Makes) > 0 && !slices.ContainsFunc(l.Makes, func(kind string) bool { return !isCommit(kind) }) {
		return ""
	}
	if l.canChange() && (len(l.Makes) == 0 || slices.ContainsFunc(l.Makes, isCommit)) {
		return "The whole result. Leave it out with a type that is a commit, such as CodeCommit."
	}
	return "The whole result, as others are to read it."
}

// canChange says whether the model's changes to files count.
func (l *loop) canChange() bool {
	return l.mode == blackboard.ReadWrite && (l.Has(env.ToolEdit) || l.Has(env.ToolRun))
}

// began says whether the tree had changes of an earlier attempt when the work began: they count, too.
func (l *loop) began() bool { return l.input.Workspace != nil && l.input.Workspace.Before != "" }

func (l *loop) finish(arguments json.RawMessage) (string, *result, error) {
	var f struct {
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
		Summary string          `json:"summary"`
		Failure string          `json:"failure"`
	}
	if err := decode(arguments, &f); err != nil {
		return "", nil, err
	}
	if why := strings.TrimSpace(f.Failure); why != "" {
		return "", &result{StructuralType: blackboard.Failure, Payload: why, Summary: oneLine(why)}, nil
	}
	kind := l.kindOf(strings.TrimSpace(f.Type))
	if err := l.checkKind(kind); err != nil {
		return "", nil, errUnread{err}
	}
	out := &result{StructuralType: blackboard.Standard, Type: kind, Summary: oneLine(f.Summary)}
	if l.canChange() {
		out.Commit = contract.Changes
	}
	if slices.Contains(l.commits, kind) {
		switch {
		case !l.canChange():
			return "", nil, errUnread{fmt.Errorf("%s is a commit, and you cannot change files", kind)}
		case !l.Has(env.ToolRun) && !l.tree.changed && !l.began():
			return "", nil, errUnread{fmt.Errorf("you have changed no file, and %s is a commit of your changes", kind)}
		}
		return "", out, nil
	}
	payload, err := payloadText(f.Payload)
	if err != nil {
		return "", nil, errUnread{err}
	}
	out.Payload = payload
	return "", out, nil
}

// payloadText is the payload as text: models give JSON as JSON, too.
func payloadText(v json.RawMessage) (string, error) {
	var s string
	if len(v) > 0 && v[0] != '"' && string(v) != "null" {
		s = string(v)
	} else if len(v) > 0 && json.Unmarshal(v, &s) != nil {
		return "", errors.New("the payload is no text")
	}
	if strings.TrimSpace(s) == "" {
		return "", errors.New("the payload is empty: it is the result")
	}
	return s, nil
}

// checkKind checks the type of a result as the contract does, so that the model can mend it.
func (l *loop) checkKind(kind string) error {
	switch {
	case kind == "":
		return errors.New("the type is missing")
	case len(l.Makes) > 0 && !slices.Contains(l.Makes, kind):
		return fmt.Errorf("the type is %q, want one of %s", oneLine(kind), strings.Join(l.Makes, ", "))
	case kind == blackboard.TypeGoalDefined:
		return errors.New("an agent cannot make a GoalDefined")
	case len(kind) > contract.MaxTypeLength || strings.ContainsFunc(kind, unicode.IsControl):
		return fmt.Errorf("the type has more than %d bytes, or a control character", contract.MaxTypeLength)
	}
	return nil
}

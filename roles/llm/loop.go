package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sett/contract/model"
	"sett/contract/prompt"
	"sett/roles/role/modelclient"
)

const (
	mostBroken  = 2        // answers in a row that call no tool, or none that can be read; the next fails
	sameCalls   = 3        // identical calls in a row, then the model is told so
	stepsLeft   = 3        // then it is told so
	leastOutput = 1024     // tokens; with less room for an answer the context is full
	mostReply   = 64 << 10 // of a tool, in bytes
	nearlyFull  = 80       // percent of the context, then the model is told so
)

// loop is the conversation with the model. It only grows.
type loop struct {
	*session
	tree    *tree // nil: there is none
	tools   []tool
	request modelclient.Request
	left    []string

	step      int
	calls     int // all of them
	usage     model.Usage
	size      int // of the conversation, in tokens, as far as it is known
	broken    int // in a row
	same      int // in a row
	lastCall  string
	toldFull  bool
	toldSame  bool
	toldSteps bool
}

// tool is a tool of the model.
type tool struct {
	modelclient.Tool
	// call returns the reply, or the result that ends the work. An error is told to the model.
	call func(ctx context.Context, arguments json.RawMessage) (string, *result, error)
	line func(arguments json.RawMessage) string // for the log
}

// errUnread says that a call could not be read.
type errUnread struct{ error }

// done sums up the work for people.
func (l *loop) done() string {
	return fmt.Sprintf("%s, %s, %d + %d tokens", count(l.step, "answer"), count(l.calls, "tool call"), l.usage.Input+l.usage.Cached+l.usage.CacheWrite, l.usage.Output)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// run asks the model until it finishes.
func (l *loop) run(ctx context.Context) (*result, error) {
	l.size = prompt.Tokens(len(l.request.System)+len(l.request.Messages[0].Text)) + prompt.Reserve
	for l.step < l.Steps {
		a, err := l.ask(ctx)
		if err != nil {
			return nil, err
		}
		l.step++
		l.count(a)
		if err := a.Refused(); err != nil {
			return nil, err
		}
		if a.Stop == modelclient.StopPause {
			l.request.Messages = append(l.request.Messages, a.Message)
			l.broken = 0
			continue
		}
		out, err := l.answer(ctx, a)
		if out != nil || err != nil {
			return out, err
		}
		if a.Stop == modelclient.StopContext {
			return nil, modelclient.ErrContext
		}
	}
	return nil, fmt.Errorf("the model has not finished within %s", count(l.Steps, "step"))
}

// ask sends the conversation.
func (l *loop) ask(ctx context.Context) (modelclient.Answer, error) {
	q := l.request
	if l.Context > 0 {
		room := l.Context - l.size
		if room < min(leastOutput, l.MaxOutput) {
			return modelclient.Answer{}, fmt.Errorf("the model's context of %d tokens is full", l.Context)
		}
		q.MaxOutput = min(q.MaxOutput, room)
	}
	a, err := l.client.Ask(ctx, q)
	if errors.Is(err, modelclient.ErrOverflow) {
		return a, fmt.Errorf("the model's context is full: %w", err)
	}
	return a, err
}

// count takes an answer into the account of the conversation.
func (l *loop) count(a modelclient.Answer) {
	size := len(a.Text)
	for _, c := range a.Calls {
		size += len(c.Name) + len(c.Arguments)
	}
	if a.Usage == nil {
		l.usage = l.usage.Add(model.Usage{Input: int64(l.size), Output: int64(prompt.Tokens(size))})
		l.size += prompt.Tokens(size)
		return
	}
	l.usage = l.usage.Add(*a.Usage)
	l.size = int(a.Usage.Tokens())
}

// answer makes the calls of an answer, and adds both to the conversation.
func (l *loop) answer(ctx context.Context, a modelclient.Answer) (*result, error) {
	unique(l.step, a.Calls)
	turn := modelclient.Message{}
	unread := true // no call could be read
	if len(a.Calls) == 0 {
		l.say("step %d: no call (%s)", l.step, l.tokens(a))
		turn.Text = l.noCall(a)
	}
	for i, c := range a.Calls {
		reply, out, err := l.call(ctx, c, a)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if out != nil {
			return l.sign(out), nil
		}
		var broken errUnread
		switch {
		case !errors.As(err, &broken):
			unread = false
		case a.Stop == modelclient.StopLength && i == len(a.Calls)-1:
			err = fmt.Errorf("%w. Your answer was cut off at its limit of %d tokens: do the work in smaller parts", err, l.MaxOutput)
		}
		r := modelclient.Result{Call: c.ID, Text: reply, Failed: err != nil}
		if err != nil {
			r.Text = "Error: " + err.Error()
		}
		r.Text = prompt.Middle(strings.ToValidUTF8(r.Text, "\ufffd"), mostReply) + l.repeated(c)
		turn.Results = append(turn.Results, r)
		l.size += prompt.Tokens(len(r.Text))
	}
	if l.broken++; !unread {
		l.broken = 0
	}
	if l.broken > mostBroken {
		return nil, fmt.Errorf("the model gave %s in a row that call no tool or cannot be read", count(l.broken, "answer"))
	}
	turn.Text = strings.TrimSpace(strings.Join([]string{turn.Text, l.notice()}, "\n"))
	l.request.Messages = append(l.request.Messages, a.Message, turn)
	l.size += prompt.Tokens(len(turn.Text))
	return nil, nil
}

// sign adds to a result how it came about.
func (l *loop) sign(out *result) *result {
	out.Metadata = &metadata{Steps: l.step, LeftOut: l.left}
	return out
}

func (l *loop) noCall(a modelclient.Answer) string {
	if a.Stop == modelclient.StopLength {
		return fmt.Sprintf("Your answer was cut off at its limit of %d tokens. Be brief, and call a tool.", l.MaxOutput)
	}
	return "Nobody reads this text. Call a tool: finish when the work is done, ask when only a person can decide."
}

func (l *loop) tokens(a modelclient.Answer) string {
	if a.Usage == nil {
		return "tokens unknown"
	}
	return fmt.Sprintf("%d + %d tokens", a.Usage.Input+a.Usage.Cached+a.Usage.CacheWrite, a.Usage.Output)
}

// call runs one tool.
func (l *loop) call(ctx context.Context, c modelclient.Call, a modelclient.Answer) (string, *result, error) {
	l.calls++
	t := l.tool(c.Name)
	switch {
	case t == nil:
		l.say("step %d: unknown tool %q (%s)", l.step, c.Name, l.tokens(a))
		return "", nil, errUnread{fmt.Errorf("there is no tool %q. You have: %s", oneLine(c.Name), strings.Join(l.toolNames(), ", "))}
	case !isObject(c.Arguments):
		l.say("step %d: %s: its arguments are no JSON object (%s)", l.step, c.Name, l.tokens(a))
		return "", nil, errUnread{errors.New("the arguments are no JSON object, so nothing was done" + fault(c.Arguments))}
	}
	arguments := json.RawMessage(c.Arguments)
	l.say("step %d: %s (%s)", l.step, strings.TrimSpace(c.Name+" "+t.line(arguments)), l.tokens(a))
	reply, out, err := t.call(ctx, arguments)
	if err != nil && ctx.Err() == nil {
		l.say("step %d: %s: %v", l.step, c.Name, err)
	}
	return reply, out, err
}

func (l *loop) tool(name string) *tool {
	for i := range l.tools {
		if l.tools[i].Name == name {
			return &l.tools[i]
		}
	}
	return nil
}

func (l *loop) toolNames() (names []string) {
	for _, t := range l.tools {
		names = append(names, t.Name)
	}
	return names
}

// repeated returns a remark at the third identical call in a row, once.
func (l *loop) repeated(c modelclient.Call) string {
	this := c.Name + "\x00" + c.Arguments
	if l.same++; this != l.lastCall {
		l.same, l.lastCall = 1, this
	}
	if l.same != sameCalls || l.toldSame {
		return ""
	}
	l.toldSame = true
	return fmt.Sprintf("\n\nYou have made this same call %d times in a row. Its result will not change: try another way.", sameCalls)
}

// notice returns remarks about limits that are near, each once.
func (l *loop) notice() string {
	var all []string
	if left := l.Steps - l.step; left <= stepsLeft && !l.toldSteps && l.Steps > stepsLeft {
		l.toldSteps = true
		all = append(all, fmt.Sprintf("You have %s left. Then your work is lost: call finish before.", count(left, "answer")))
	}
	if l.Context > 0 && !l.toldFull && l.size*100 > l.Context*nearlyFull {
		l.toldFull = true
		all = append(all, "Your context is nearly full. Call finish soon: when it is full, your work is lost.")
	}
	return strings.Join(all, "\n")
}

// unique gives each call an id of its own: a provider refuses a conversation with equal
// or empty ones.
func unique(step int, calls []modelclient.Call) {
	seen := map[string]bool{}
	for i := range calls {
		id := calls[i].ID
		if id == "" || seen[id] {
			id = fmt.Sprintf("call_%d_%d", step, i+1)
		}
		calls[i].ID, seen[id] = id, true
	}
}

// isObject says whether a text is one JSON object.
func isObject(text string) bool {
	b := bytes.TrimSpace([]byte(text))
	return len(b) > 0 && b[0] == '{' && json.Valid(b)
}

// fault says where a text stops being JSON.
func fault(text string) string {
	var v any
	err := json.Unmarshal([]byte(cmp.Or(text, " ")), &v)
	var at *json.SyntaxError
	if errors.As(err, &at) {
		return fmt.Sprintf(": %v at byte %d of %d", at, at.Offset, len(text))
	}
	return ""
}

// oneLine makes a short line of a text.
func oneLine(s string) string { return short(strings.Join(strings.Fields(s), " ")) }

// decode reads a call's arguments. Unknown fields are ignored: models add some.
func decode(arguments json.RawMessage, into any) error {
	if err := json.Unmarshal(arguments, into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return errUnread{fmt.Errorf("%s is a JSON %s, want %s; nothing was done", kind.Field, kind.Value, kind.Type)}
		}
		return errUnread{err}
	}
	return nil
}

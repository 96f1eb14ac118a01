// Package judge holds the models of tests, the door and the gateway against the official Go
// SDKs: these decode every answer, and see the usage that is in the account. Their types
// of requests decode those of sett llm. It is a module of its own, since the SDKs are
// larger than Sett.
package judge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/cub/door"
	"sett/roles/gateway"
	"sett/roles/role"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
)

const (
	secret = "the instance's secret"
	key    = "sk-judge-0123456789abcdef"
	holder = "holder"
)

// court is a door in front of a gateway, in front of the models of tests.
type court struct {
	*testing.T
	board *boardtest.Board
	mock  *modeltest.Server
	claim string
	goal  string
}

func open(t *testing.T, steps ...modeltest.Step) *court {
	c := &court{T: t, board: boardtest.Start(t, "i").Lead(), mock: modeltest.Start(t, steps...)}
	c.mock.Key = key
	c.claim = c.board.Granted("goal", "coder")
	c.goal = c.board.Snapshot(c.claim).Claim.WorkflowID
	c.board.Begin(c.claim, "coder", holder)
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(`{"smart":"`+key+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := freePort(t)
	settings := env.Gateway{
		Instance: "i", Addr: addr, Key: secret, Keys: keys, HealthAddr: "off", Redis: env.Redis{URL: c.board.Server.URL, Retries: 5},
		Models: []env.Model{{Name: "smart", API: model.Chat, BaseURL: c.mock.URL + "/v1", Model: "test-model", MaxOutput: 1000}},
		Agents: map[string]env.GatewayAgent{"coder": {Model: "smart"}},
	}
	vars := map[string]string{}
	for _, v := range settings.Environ() {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	e := role.Env{Stdout: io.Discard, Stderr: io.Discard, Now: time.Now, Entropy: rand.Reader, Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
	go func() { ended <- gateway.Run(ctx, e) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c.board.Until("the gateway", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	d, err := door.Open(door.Options{
		Gateway: "http://" + addr, Token: line.Token(secret, "coder"), NewID: boardtest.NewID, Loopback: true, Log: slog.New(slog.DiscardHandler),
		Call: blackboard.Call{Claim: c.claim, Agent: "coder", Attempt: 1, Holder: holder},
	})
	must(t, err)
	t.Cleanup(d.Close)
	for _, v := range d.Environ(nil) { // as a tool of the agent has it
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return c
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The SDKs find the door by themselves.
func (c *court) openai() openai.Client       { return openai.NewClient() }
func (c *court) anthropic() anthropic.Client { return anthropic.NewClient() }

var usage = model.Usage{Input: 100, Cached: 20, CacheWrite: 3, Output: 40, Reasoning: 5}

// full is a step with all that an answer may have.
func full() modeltest.Step {
	u := usage
	return modeltest.Step{Text: "Hello from the model.", Usage: &u, Calls: []modeltest.Call{modeltest.Tool("edit", map[string]string{"path": "a.go"}), modeltest.Tool("run", map[string]string{"name": "go"})}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// account checks the account against the usage that the SDK saw.
func (c *court) account(calls int64, want model.Usage) {
	c.Helper()
	s, err := c.board.Moves.Calls.Spending(c.Context(), c.goal)
	must(c.T, err)
	total := s.Total()
	if len(total) != 1 || total[0].Calls != calls || total[0].Usage != want || total[0].Estimated != 0 {
		c.Errorf("account %+v, want %d calls and %+v", total, calls, want)
	}
}

func chatParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be brief"), openai.UserMessage("hi")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "edit", Parameters: openai.FunctionParameters{"type": "object"}})},
	}
}

func checkChat(t *testing.T, got openai.ChatCompletion, withUsage bool) {
	t.Helper()
	if len(got.Choices) != 1 || got.Choices[0].Message.Content != "Hello from the model." || got.Choices[0].FinishReason != "tool_calls" || got.Model != "test-model" {
		t.Fatalf("got %s", got.RawJSON())
	}
	calls := got.Choices[0].Message.ToolCalls
	if len(calls) != 2 || calls[0].ID != "call_1" || calls[0].Function.Name != "edit" || calls[0].Function.Arguments != `{"path":"a.go"}` || calls[1].Function.Name != "run" {
		t.Errorf("calls %+v", calls)
	}
	u := got.Usage
	if withUsage && (u.PromptTokens != 123 || u.CompletionTokens != 40 || u.PromptTokensDetails.CachedTokens != 20 || u.CompletionTokensDetails.ReasoningTokens != 5) {
		t.Errorf("usage %s", u.RawJSON())
	}
	if !withUsage && u.PromptTokens != 0 {
		t.Errorf("usage %s, which nobody asked for", u.RawJSON())
	}
}

func TestChat(t *testing.T) {
	c := open(t, full(), full(), full())
	client := c.openai()
	got, err := client.Chat.Completions.New(t.Context(), chatParams())
	must(t, err)
	checkChat(t, *got, true)
	for _, asks := range []bool{true, false} {
		params := chatParams()
		if asks {
			params.StreamOptions.IncludeUsage = openai.Bool(true)
		}
		stream, acc := client.Chat.Completions.NewStreaming(t.Context(), params), openai.ChatCompletionAccumulator{}
		for stream.Next() {
			if !acc.AddChunk(stream.Current()) {
				t.Fatalf("chunk %s does not fit", stream.Current().RawJSON())
			}
		}
		must(t, stream.Err())
		checkChat(t, acc.ChatCompletion, asks)
	}
	c.account(3, usage.Add(usage).Add(usage))
}

func TestResponses(t *testing.T) {
	c := open(t, full(), full())
	client := c.openai()
	params := responses.ResponseNewParams{Model: "any", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hi")}}
	check := func(got responses.Response) {
		t.Helper()
		u := got.Usage
		if got.OutputText() != "Hello from the model." || got.Status != "completed" || u.InputTokens != 123 || u.InputTokensDetails.CachedTokens != 20 || u.OutputTokens != 40 ||
			u.OutputTokensDetails.ReasoningTokens != 5 || len(got.Output) != 3 {
			t.Fatalf("got %s", got.RawJSON())
		}
		if call := got.Output[1].AsFunctionCall(); call.Name != "edit" || call.CallID != "call_1" || call.Arguments != `{"path":"a.go"}` {
			t.Errorf("call %+v", call)
		}
	}
	got, err := client.Responses.New(t.Context(), params)
	must(t, err)
	check(*got)
	stream := client.Responses.NewStreaming(t.Context(), params)
	var text, arguments string
	var last responses.Response
	for stream.Next() {
		switch event := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += event.Delta
		case responses.ResponseFunctionCallArgumentsDeltaEvent:
			arguments += event.Delta
		case responses.ResponseCompletedEvent:
			last = event.Response
		case nil:
			t.Errorf("unknown event %s", stream.Current().RawJSON())
		}
	}
	must(t, stream.Err())
	if text != "Hello from the model." || arguments != `{"path":"a.go"}{"name":"go"}` {
		t.Errorf("streamed %q %q", text, arguments)
	}
	check(last)
	c.account(2, usage.Add(usage))
}

func TestMessages(t *testing.T) {
	c := open(t, full(), full())
	client := c.anthropic()
	params := anthropic.MessageNewParams{Model: "any", MaxTokens: 500, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))}}
	check := func(got anthropic.Message) {
		t.Helper()
		u := got.Usage
		if len(got.Content) != 3 || got.Content[0].Text != "Hello from the model." || got.StopReason != "tool_use" || u.InputTokens != 100 || u.CacheReadInputTokens != 20 ||
			u.CacheCreationInputTokens != 3 || u.OutputTokens != 40 {
			t.Fatalf("got %s", got.RawJSON())
		}
		var input struct{ Path string }
		if call := got.Content[1].AsToolUse(); call.Name != "edit" || call.ID != "call_1" || json.Unmarshal(call.Input, &input) != nil || input.Path != "a.go" {
			t.Errorf("call %+v", call)
		}
	}
	got, err := client.Messages.New(t.Context(), params)
	must(t, err)
	check(*got)
	stream, acc := client.Messages.NewStreaming(t.Context(), params), anthropic.Message{}
	for stream.Next() {
		must(t, acc.Accumulate(stream.Current()))
	}
	must(t, stream.Err())
	check(acc)
	counted, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: "any", Messages: params.Messages})
	must(t, err)
	if counted.InputTokens == 0 {
		t.Error("nothing was counted")
	}
	want := usage
	want.Reasoning = 0
	c.account(2, want.Add(want))
}

func TestModels(t *testing.T) {
	c := open(t)
	o, a := c.openai(), c.anthropic()
	page, err := o.Models.List(t.Context())
	must(t, err)
	other, err := a.Models.List(t.Context(), anthropic.ModelListParams{})
	must(t, err)
	if len(page.Data) != 1 || page.Data[0].ID != "test-model" || len(other.Data) != 1 || other.Data[0].ID != "test-model" {
		t.Errorf("%s %s", page.RawJSON(), other.RawJSON())
	}
}

// TestEnds: refusals, cut answers and errors are what the SDKs take them for, and they
// repeat nothing that the gateway has repeated.
func TestEnds(t *testing.T) {
	c := open(t, modeltest.Step{Text: "half", Length: true}, modeltest.Step{Refusal: "I will not."}, modeltest.Step{Refusal: "I will not."}, modeltest.Broken(modeltest.OutOfMoney),
		modeltest.Broken(modeltest.BadRequest), modeltest.Broken(modeltest.StreamError), modeltest.Broken(modeltest.StreamError), modeltest.Broken(modeltest.CutBody))
	o, a := c.openai(), c.anthropic()
	chat := func() (*openai.ChatCompletion, error) { return o.Chat.Completions.New(t.Context(), chatParams()) }
	got, err := chat()
	must(t, err)
	if got.Choices[0].FinishReason != "length" {
		t.Errorf("length: %s", got.RawJSON())
	}
	got, err = chat()
	must(t, err)
	if got.Choices[0].Message.Refusal != "I will not." {
		t.Errorf("refusal: %s", got.RawJSON())
	}
	params := anthropic.MessageNewParams{Model: "any", MaxTokens: 500, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))}}
	declined, err := a.Messages.New(t.Context(), params)
	must(t, err)
	if declined.StopReason != anthropic.StopReasonRefusal {
		t.Errorf("refusal: %s", declined.RawJSON())
	}
	var oerr *openai.Error
	if _, err := chat(); !errors.As(err, &oerr) || oerr.StatusCode != 429 || oerr.Code != "insufficient_quota" {
		t.Errorf("money: %v", err)
	}
	var aerr *anthropic.Error
	if _, err := a.Messages.New(t.Context(), params); !errors.As(err, &aerr) || aerr.StatusCode != 400 {
		t.Errorf("bad request: %v", err)
	}
	stream := o.Chat.Completions.NewStreaming(t.Context(), chatParams())
	for stream.Next() {
	}
	if stream.Err() == nil {
		t.Error("an error event ended well")
	}
	other := a.Messages.NewStreaming(t.Context(), params)
	for other.Next() {
	}
	if other.Err() == nil {
		t.Error("an error event ended well")
	}
	cut := a.Messages.NewStreaming(t.Context(), params)
	for cut.Next() {
	}
	if cut.Err() == nil {
		t.Error("a cut stream ended well")
	}
	if n := len(c.mock.Requests()); n != 8 {
		t.Errorf("%d requests, want 8", n)
	}
}

package judge

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"sett/blackboard"
	"sett/contract/env"
	"sett/contract/model"
	"sett/contract/tool"
	"sett/roles/llm"
	"sett/roles/role"
	"sett/roles/role/modelclient"
	"sett/roles/role/modeltest"
)

// understood decodes a request by the SDK's type, and encodes it again. A field that the type does not
// know, or a value of another kind, is lost on the way.
func understood(t *testing.T, api model.API, body []byte) (before, after map[string]any) {
	t.Helper()
	must(t, json.Unmarshal(body, &before))
	delete(before, "stream") // the SDKs say it by the method
	choice, forced := before["tool_choice"]
	into := map[model.API]any{model.Chat: &openai.ChatCompletionNamedToolChoiceParam{}, model.Responses: &responses.ToolChoiceFunctionParam{}}[api]
	if forced = forced && into != nil; forced {
		delete(before, "tool_choice") // these SDKs' union does not choose among its types when it decodes
	}
	if api == model.Messages {
		asList(before)
	}
	after = again(t, before, map[model.API]any{
		model.Chat: &openai.ChatCompletionNewParams{}, model.Responses: &responses.ResponseNewParams{}, model.Messages: &anthropic.MessageNewParams{},
	}[api])
	if forced {
		before["tool_choice"], after["tool_choice"] = choice, again(t, choice, into)
	}
	return before, after
}

// asList makes a list of each text that may stand for one, as the SDK writes it.
func asList(v any) {
	list := func(v any) any {
		if text, ok := v.(string); ok {
			return []any{map[string]any{"type": "text", "text": text}}
		}
		return v
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			asList(e)
		}
	case map[string]any:
		if _, ok := v["system"]; ok {
			v["system"] = list(v["system"])
		}
		if v["type"] == "tool_result" {
			v["content"] = list(v["content"])
		}
		for _, e := range v {
			asList(e)
		}
	}
}

// again decodes a value into a type, and encodes it.
func again(t *testing.T, v, into any) (after map[string]any) {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	must(t, json.Unmarshal(text, into))
	text, err = json.Marshal(into)
	must(t, err)
	must(t, json.Unmarshal(text, &after))
	return after
}

func (c *court) judge(api model.API) {
	c.Helper()
	all := c.mock.Requests()
	if len(all) == 0 {
		c.Fatal("no request")
	}
	for i, q := range all {
		if before, after := understood(c.T, api, q.Body); q.API != api || !reflect.DeepEqual(before, after) {
			was, _ := json.Marshal(before)
			is, _ := json.Marshal(after)
			c.Errorf("request %d: the SDK understands\n%s\nof\n%s", i+1, is, was)
		}
	}
}

// worked runs sett llm for a task, with every tool.
func (c *court) worked(api model.API, bid blackboard.BidType) {
	c.Helper()
	dir := c.TempDir()
	must(c.T, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o600))
	goal := blackboard.Artefact{ID: c.goal, LogicalID: c.goal, Version: 1, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined, Payload: "Say hello", WorkflowID: c.goal}
	stdin, err := tool.Input{ClaimType: bid, Target: goal}.Encode()
	must(c.T, err)
	cold := 0.5
	settings := env.LLM{Context: 100_000, MaxOutput: 1000, Temperature: &cold, Tools: env.LLMTools(), Run: []string{"true"}, Makes: []string{"Notes", "Plan"}}
	vars := map[string]string{
		env.ModelAPI: string(api), env.ModelName: "test-model", env.LLMSettings: settings.Encode(), env.Workspace: dir, env.WorkspaceMode: "rw", env.Role: "Coder",
	}
	lookup := func(name string) (string, bool) {
		if v, ok := vars[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}
	must(c.T, llm.Run(c.Context(), role.Env{Stdin: bytes.NewReader(stdin), Stdout: io.Discard, Stderr: io.Discard, Lookup: lookup, Environ: os.Environ}))
	c.judge(api)
}

// TestRequests: the SDKs' types understand every request of sett llm, and lose nothing of it.
func TestRequests(t *testing.T) {
	call := func(name string, arguments any) modeltest.Call { return modeltest.Tool(name, arguments) }
	type m = map[string]any
	for _, api := range model.APIs() {
		t.Run(string(api), func(t *testing.T) {
			open(t,
				modeltest.Step{Text: "I look.", Calls: []modeltest.Call{call("edit", m{"command": "view", "path": "a.go"}), call("run", m{"argv": []string{"true"}}), call("search", m{"pattern": "a"})}},
				modeltest.Calls(modeltest.Call{Name: "edit", Arguments: `{"command`}), modeltest.Text("No call."), modeltest.Calls(call("unknown", m{}), call("edit", m{"command": "view", "path": "gone"})),
				modeltest.Calls(call("finish", m{"type": "Plan", "payload": "p", "summary": "s"})),
			).worked(api, blackboard.BidExclusive)
			open(t, modeltest.Text("I approve."), modeltest.Calls(call("finish", m{"verdict": "approve", "feedback": ""}))).worked(api, blackboard.BidReview)
		})
	}
}

// TestStructuredRequests: so do they those for a bid, in each of its three ways.
func TestStructuredRequests(t *testing.T) {
	schema := &modelclient.Schema{Name: "bid", JSON: json.RawMessage(`{"type":"object","properties":{"bid":{"type":"string"}},"required":["bid"],"additionalProperties":false}`)}
	for _, api := range model.APIs() {
		t.Run(string(api), func(t *testing.T) {
			c := open(t, modeltest.Broken(modeltest.BadRequest), modeltest.Broken(modeltest.BadRequest), modeltest.Text("no JSON"), modeltest.Text(`{"bid": "review"}`))
			t.Setenv(env.ModelAPI, string(api))
			t.Setenv(env.ModelName, "test-model")
			client, err := modelclient.FromEnv(os.LookupEnv)
			must(t, err)
			q := modelclient.Request{System: "Bid.", Messages: []modelclient.Message{{Text: "Now."}}, Schema: schema, MaxOutput: 100}
			_, err = client.Structured(t.Context(), q, func(json.RawMessage) error { return nil })
			must(t, err)
			if n := len(c.mock.Requests()); n != 4 {
				t.Errorf("%d requests", n)
			}
			c.judge(api)
		})
	}
}

// TestJudgeSees: a field that no SDK knows is seen, at every depth.
func TestJudgeSees(t *testing.T) {
	for api, bodies := range map[model.API][]string{
		model.Chat:      {`{"model":"m","messages":[{"role":"user","content":"x"}],"nonsense":1}`, `{"model":"m","messages":[{"role":"user","content":"x","nonsense":1}]}`},
		model.Responses: {`{"model":"m","input":[{"role":"user","content":"x"}],"nonsense":1}`, `{"model":"m","input":[{"role":"user","content":"x","nonsense":1}]}`},
		model.Messages:  {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"nonsense":1}`, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"x","nonsense":1}]}]}`},
	} {
		for _, body := range bodies {
			if before, after := understood(t, api, []byte(body)); reflect.DeepEqual(before, after) {
				t.Errorf("%s: nothing is lost of %s", api, body)
			}
		}
	}
}

package modelclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/role/modelclient"
	"sett/roles/role/modeltest"
)

// each runs a test with a mock and a client for each API.
func each(t *testing.T, steps func() []modeltest.Step, test func(t *testing.T, c *modelclient.Client, s *modeltest.Server)) {
	for _, api := range model.APIs() {
		t.Run(string(api), func(t *testing.T) {
			s := modeltest.Start(t, steps()...)
			test(t, client(t, s, api), s)
		})
	}
}

func client(t *testing.T, s *modeltest.Server, api model.API) *modelclient.Client {
	vars := map[string]string{
		env.ModelAPI: string(api), env.ModelName: "m", env.OpenAIBase: s.URL + "/v1", env.OpenAIKey: "k", env.AnthropicBase: s.URL, env.AnthropicKey: "k",
	}
	c, err := modelclient.FromEnv(func(n string) (string, bool) { v, ok := vars[n]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func steps(all ...modeltest.Step) func() []modeltest.Step {
	return func() []modeltest.Step { return all }
}

// conversation has every kind of turn.
func conversation() modelclient.Request {
	cold := 0.0
	return modelclient.Request{
		System: "Be <brief>.", MaxOutput: 100, Temperature: &cold,
		Messages: []modelclient.Message{
			{Text: "Say hello"},
			{Assistant: true, Text: "I look.", Calls: []modelclient.Call{{ID: "c1", Name: "run", Arguments: `{"argv":["ls"]}`}, {ID: "c2", Name: "run", Arguments: `{"argv`}}},
			{Results: []modelclient.Result{{Call: "c1", Text: "main.go"}, {Call: "c2", Text: "no JSON", Failed: true}}, Text: "Go on."},
		},
		Tools: []modelclient.Tool{{Name: "run", Description: "Runs.", Schema: json.RawMessage(`{"type":"object"}`)}},
	}
}

func TestAsk(t *testing.T) {
	usage := model.Usage{Input: 7, Cached: 5, CacheWrite: 3, Output: 11}
	each(t, steps(modeltest.Step{
		Text: "Hellö, \"you\"", Calls: []modeltest.Call{{ID: "a", Name: "run", Arguments: `{"argv":["go","test"]}`}, {ID: "b", Name: "finish", Arguments: "{}"}}, Usage: &usage,
	}), func(t *testing.T, c *modelclient.Client, s *modeltest.Server) {
		a, err := c.Ask(t.Context(), conversation())
		want := modelclient.Answer{
			Message: modelclient.Message{Assistant: true, Text: "Hellö, \"you\"", Calls: []modelclient.Call{{ID: "a", Name: "run", Arguments: `{"argv":["go","test"]}`}, {ID: "b", Name: "finish", Arguments: "{}"}}},
			Stop:    modelclient.StopCalls, Usage: &usage,
		}
		if err != nil || !reflect.DeepEqual(a, want) {
			t.Errorf("got  %+v %v\nwant %+v", a, err, want)
		}
		q := s.Last()
		if q.Model != "m" || !q.Stream || q.Header.Get("Authorization") == "" && q.Header.Get("X-Api-Key") != "k" {
			t.Errorf("the request has %+v", q.Header)
		}
		golden(t, "request-"+string(c.API)+".json", q.Body)
	})
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(got, &v); err != nil {
		t.Fatal(err)
	}
	text, _ := json.MarshalIndent(v, "", " ")
	text = append(text, '\n')
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != string(text) {
		t.Errorf("%s: %v; UPDATE=1 rewrites it\n%s", name, err, text)
	}
}

func TestStops(t *testing.T) {
	each(t, steps(modeltest.Text("all"), modeltest.Step{Text: "half", Length: true}, modeltest.Step{Refusal: "I will not"}, modeltest.Broken(modeltest.Empty),
		modeltest.Step{Text: "x", NoUsage: true}), func(t *testing.T, c *modelclient.Client, s *modeltest.Server) {
		for i, want := range []modelclient.Stop{modelclient.StopEnd, modelclient.StopLength, modelclient.StopRefusal, modelclient.StopEnd} {
			a, err := c.Ask(t.Context(), conversation())
			if want == modelclient.StopRefusal && c.API == model.Messages {
				want = modelclient.StopFilter
			}
			if err != nil || a.Stop != want || a.Usage == nil || want == modelclient.StopRefusal && a.Text != "I will not" && c.API != model.Messages {
				t.Errorf("answer %d: %+v %v, want %s", i, a, err, want)
			}
		}
		if a, err := c.Ask(t.Context(), conversation()); err != nil || a.Text != "x" || c.API == model.Chat && a.Usage != nil {
			t.Errorf("without usage: %+v %v", a, err)
		}
	})
}

// TestFaults: each ends with its reason.
func TestFaults(t *testing.T) {
	for fault, want := range map[modeltest.Fault]string{
		modeltest.BadRequest: "answers 400", modeltest.Unauthorized: "answers 401", modeltest.PaymentRequired: "answers 402", modeltest.NoModel: "answers 404",
		modeltest.TooLarge: "answers 413", modeltest.ContextOverflow: "prompt is too long", modeltest.TooFast: "answers 429", modeltest.OutOfMoney: "answers 429",
		modeltest.ServerError: "answers 500", modeltest.Unavailable: "answers 503", modeltest.Overloaded: "answers 529", modeltest.HTML: "no stream of events",
		modeltest.ErrorHTML: "answers 502", modeltest.Redirect: "answers 307", modeltest.CutHeaders: "the connection ended before the answer began", modeltest.Reset: "reset",
		modeltest.StreamError: "ended the answer (", modeltest.CutBody: "in the middle of the answer", modeltest.CutChunk: "in the middle of the answer", modeltest.CutStream: "in the middle of the answer",
		modeltest.TruncatedJSON: "in the middle of the answer", modeltest.NoBody: "", modeltest.HugeHeaders: "",
	} {
		t.Run(string(fault), func(t *testing.T) {
			each(t, steps(modeltest.Step{Fault: fault, Header: map[string]string{"Location": "http://127.0.0.1:1/", "Retry-After": "7"}}), func(t *testing.T, c *modelclient.Client, s *modeltest.Server) {
				c.Repeats = 0
				_, err := c.Ask(t.Context(), conversation())
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
				if got := errors.Is(err, modelclient.ErrOverflow); got != (fault == modeltest.ContextOverflow) {
					t.Errorf("%v is an overflow of the context: %v", err, got)
				}
				var status *modelclient.StatusError
				if fault == modeltest.TooFast && (!errors.As(err, &status) || status.After != 7*time.Second) {
					t.Errorf("%v has lost Retry-After", err)
				}
			})
		})
	}
}

// TestBrokenOff: an answer that breaks off is asked for again, others are not.
func TestBrokenOff(t *testing.T) {
	each(t, steps(modeltest.Broken(modeltest.CutStream), modeltest.Broken(modeltest.StreamError), modeltest.Text("whole"), modeltest.Broken(modeltest.ServerError)),
		func(t *testing.T, c *modelclient.Client, s *modeltest.Server) {
			c.Pause = time.Millisecond
			if a, err := c.Ask(t.Context(), conversation()); err != nil || a.Text != "whole" {
				t.Errorf("got %+v %v", a, err)
			}
			if _, err := c.Ask(t.Context(), conversation()); err == nil || len(s.Requests()) != 4 {
				t.Errorf("%v after %d requests", err, len(s.Requests()))
			}
		})
}

func TestEndlessAnswer(t *testing.T) {
	each(t, steps(modeltest.Broken(modeltest.Endless)), func(t *testing.T, c *modelclient.Client, s *modeltest.Server) {
		if _, err := c.Ask(t.Context(), conversation()); !errors.Is(err, modelclient.ErrTooLarge) {
			t.Errorf("got %v", err)
		}
	})
}

// TestGone: the end of the context ends the provider's call.
func TestGone(t *testing.T) {
	each(t, steps(modeltest.Broken(modeltest.SilentStream)), func(t *testing.T, c *modelclient.Client, s *modeltest.Server) {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			s.Await("the request", func(all []modeltest.Request) bool { return len(all) == 1 })
			cancel(enough)
		}()
		if _, err := c.Ask(ctx, conversation()); !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
		s.Await("the end", func(all []modeltest.Request) bool { return all[0].Gone })
	})
}

var schema = &modelclient.Schema{Name: "bid", JSON: json.RawMessage(`{"type":"object","properties":{"bid":{"type":"string"}},"required":["bid"],"additionalProperties":false}`)}

func hasBid(v json.RawMessage) error {
	var o struct{ Bid string }
	if err := json.Unmarshal(v, &o); err != nil || o.Bid == "" {
		return errors.New(`the field "bid" is missing`)
	}
	return nil
}

func TestStructured(t *testing.T) {
	const refused = "the model refuses: no"
	good := modeltest.Structured(map[string]string{"bid": "review"})
	q := modelclient.Request{System: "Bid.", MaxOutput: 50, Schema: schema, Messages: []modelclient.Message{{Text: "Now."}}}
	for name, c := range map[string]struct {
		steps []modeltest.Step
		calls int
		fault string
	}{
		"at once":              {[]modeltest.Step{good}, 1, ""},
		"fenced":               {[]modeltest.Step{modeltest.Text("```json\n{\"bid\":\"review\"}\n```")}, 1, ""},
		"wrong once":           {[]modeltest.Step{modeltest.Broken(modeltest.WrongSchema), good}, 2, ""},
		"wrong twice":          {[]modeltest.Step{modeltest.Broken(modeltest.WrongSchema), modeltest.Broken(modeltest.WrongSchema), good}, 2, "is missing"},
		"prose twice":          {[]modeltest.Step{modeltest.Text("I bid review"), modeltest.Text("{} and more")}, 2, "text follows"},
		"empty":                {[]modeltest.Step{modeltest.Broken(modeltest.Empty), good}, 2, ""},
		"too long":             {[]modeltest.Step{{Text: `{"bid":"review"}`, Length: true}, {Text: `{"bid":"review"}`, Length: true}}, 2, "longer"},
		"refusal":              {[]modeltest.Step{{Refusal: "no"}, good}, 1, refused},
		"by a tool":            {[]modeltest.Step{modeltest.Broken(modeltest.BadRequest), good}, 2, ""},
		"by a tool, corrected": {[]modeltest.Step{modeltest.Broken(modeltest.BadRequest), modeltest.Structured(map[string]int{"x": 1}), good}, 3, ""},
		"by text":              {[]modeltest.Step{modeltest.Broken(modeltest.BadRequest), modeltest.Broken(modeltest.BadRequest), modeltest.Text(`{"bid":"review"}`)}, 3, ""},
		"never":                {[]modeltest.Step{modeltest.Broken(modeltest.BadRequest), modeltest.Broken(modeltest.BadRequest), modeltest.Broken(modeltest.BadRequest)}, 3, "answers 400"},
		"overflow":             {[]modeltest.Step{modeltest.Broken(modeltest.ContextOverflow)}, 1, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, steps(c.steps...), func(t *testing.T, client *modelclient.Client, s *modeltest.Server) {
				want := c.fault
				if want == refused && client.API == model.Messages {
					want = "content filter"
				}
				v, err := client.Structured(t.Context(), q, hasBid)
				if c.fault == "" && (err != nil || !strings.Contains(string(v), "review")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("got %s %v, want %q", v, err, want)
				}
				if n := len(s.Requests()); n != c.calls {
					t.Errorf("%d calls, want %d", n, c.calls)
				}
				if len(q.Messages) != 1 {
					t.Error("the caller's request has changed")
				}
			})
		})
	}
}

// TestSocket: the door's socket goes before its address.
func TestSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\n\n", r.Header.Get("Authorization")+r.URL.Path)
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	vars := map[string]string{env.ModelSocket: socket, env.ModelName: "m", env.OpenAIBase: "http://127.0.0.1:1/v1", env.OpenAIKey: "k"}
	c, err := modelclient.FromEnv(func(n string) (string, bool) { v, ok := vars[n]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if a, err := c.Ask(t.Context(), conversation()); err != nil || a.Text != "Bearer k/v1/chat/completions" {
		t.Errorf("got %+v %v", a, err)
	}
}

func TestNoDoor(t *testing.T) {
	if _, err := modelclient.FromEnv(func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL is not set; want the door") {
		t.Errorf("got %v", err)
	}
}

package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
	contract "sett/contract/tool"
	"sett/roles/role"
	"sett/roles/role/modeltest"
)

func TestWork(t *testing.T) {
	r := newTrial(t, coder,
		edit("view", ".", nil), edit("view", "main.go", args{"view_range": []int{3, -1}}),
		edit("str_replace", "main.go", args{"old_str": "hello", "new_str": "hello, you"}), run("cat", "main.go"),
		finish(args{"summary": "says hello to you"}))
	out := r.output()
	if out.Type != "CodeCommit" || out.StructuralType != blackboard.Standard || out.Commit != contract.Changes || out.Summary != "says hello to you" ||
		string(out.Metadata) != `{"steps":5}` {
		t.Errorf("got %+v %s", out, out.Metadata)
	}
	if got := r.file("main.go"); !strings.Contains(got, `println("hello, you")`) {
		t.Errorf("the file is %s", got)
	}
	replies := r.replies()
	contains(t, replies[0], "docs/\ndocs/a.txt\nempty\nmain.go\n")
	contains(t, replies[1], "     3\tfunc main() {\n")
	contains(t, replies[2], "Replaced. The lines are now:\n     1\tpackage main\n", "     4\t\tprintln(\"hello, you\")\n")
	contains(t, replies[3], "Exit code 0.\nstdout:\npackage main\n")
	contains(t, r.stderr.String(), "step 3: edit str_replace main.go (", "step 4: run cat main.go (", "step 5: finish (")
	if strings.Contains(replies[0], ".git") {
		t.Error("the list shows .git")
	}
}

// TestAllAPIs: the same work in each wire format, and the conversation only grows.
func TestAllAPIs(t *testing.T) {
	for _, api := range []string{"chat", "messages", "responses"} {
		t.Run(api, func(t *testing.T) {
			r := newTrial(t, writer, edit("view", "main.go", nil), modeltest.Step{Text: "Hm.", Calls: []modeltest.Call{{ID: "x", Name: "edit", Arguments: "{"}, {ID: "x", Name: "run", Arguments: `{"argv":["cat","empty"]}`}}}, done)
			r.with(map[string]string{env.ModelAPI: api, env.AnthropicBase: r.server.URL})
			if out := r.output(); out.Payload != "p" || out.Type != "Notes" || out.Commit != contract.Changes {
				t.Errorf("got %+v", out)
			}
			all := r.server.Requests()
			for i := 1; i < len(all); i++ {
				before, after := turns(t, all[i-1].Body), turns(t, all[i].Body)
				if len(after) <= len(before) || !slices.EqualFunc(before, after[:len(before)], func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
					t.Errorf("request %d does not go on where %d ended:\n%s\n%s", i+1, i, all[i-1].Body, all[i].Body)
				}
			}
		})
	}
}

// turns are the turns of a request, without marks for a provider's cache.
func turns(t *testing.T, body []byte) (all []json.RawMessage) {
	var q struct{ Messages, Input []json.RawMessage }
	if err := json.Unmarshal(bytes.ReplaceAll(body, []byte(`"cache_control":{"type":"ephemeral"},`), nil), &q); err != nil {
		t.Fatal(err)
	}
	return append(q.Messages, q.Input...)
}

// TestSameAnswersSameRequests: with equal answers, another run asks the same, byte for byte.
func TestSameAnswersSameRequests(t *testing.T) {
	var before []modeltest.Request
	for i := range 2 {
		r := newTrial(t, writer, edit("view", "main.go", nil), run("false"), run("cat", "nothing"), modeltest.Calls(modeltest.Tool("search", args{"pattern": "e"})), done)
		r.input.Target.ID = []string{"01M7YNZ5D8DWX9T3X1JYQS698S", "01M7YNZ5D8DWX9T3X1JYQS69AB"}[i]
		r.output()
		all := r.server.Requests()
		for j := range before {
			if !bytes.Equal(before[j].Body, all[j].Body) {
				t.Errorf("request %d differs:\n%s\n%s", j+1, before[j].Body, all[j].Body)
			}
		}
		before = all
	}
}

func TestResults(t *testing.T) {
	notes := env.LLM{Makes: []string{"Notes", "Plan"}}
	free := env.LLM{Tools: []string{"edit"}}
	for name, c := range map[string]struct {
		settings env.LLM
		review   bool
		steps    []modeltest.Step
		want     contract.Output
		told     string // in the last reply before
	}{
		"artefact": {notes, false, []modeltest.Step{finish(args{"type": "Plan", "payload": "1. go", "summary": "a\nplan"})},
			contract.Output{StructuralType: "Standard", Type: "Plan", Payload: "1. go", Summary: "a plan"}, ""},
		"json payload": {notes, false, []modeltest.Step{finish(args{"type": "Plan", "payload": args{"steps": 3}, "summary": ""})},
			contract.Output{StructuralType: "Standard", Type: "Plan", Payload: `{"steps":3}`}, ""},
		"another type first": {notes, false, []modeltest.Step{finish(args{"type": "GoalDefined", "payload": "x"}), finish(args{"type": "Notes", "payload": "x"})},
			contract.Output{StructuralType: "Standard", Type: "Notes", Payload: "x"}, "want one of Notes, Plan"},
		"no payload first": {notes, false, []modeltest.Step{finish(args{"type": "Notes"}), finish(args{"type": "Notes", "payload": "x"})},
			contract.Output{StructuralType: "Standard", Type: "Notes", Payload: "x"}, "the payload is empty"},
		"goal refused": {free, false, []modeltest.Step{finish(args{"type": "GoalDefined", "payload": "x"}), finish(args{"type": "X", "payload": "x"})},
			contract.Output{StructuralType: "Standard", Type: "X", Payload: "x", Commit: contract.Changes}, "cannot make a GoalDefined"},
		"nothing changed": {free, false, []modeltest.Step{finish(args{"type": "CodeCommit"}), edit("create", "new/x", args{"file_text": "x"}), finish(args{"type": "CodeCommit"})},
			contract.Output{StructuralType: "Standard", Type: "CodeCommit", Commit: contract.Changes}, "The file is there now"},
		"question": {free, false, []modeltest.Step{modeltest.Calls(modeltest.Tool("ask", args{"question": "Which?"}))},
			contract.Output{StructuralType: "Question", Type: "Question", Payload: "Which?"}, ""},
		"failure": {free, false, []modeltest.Step{finish(args{"failure": "no such language"})},
			contract.Output{StructuralType: "Failure", Type: "ToolExecutionFailure", Payload: "no such language", Summary: "no such language"}, ""},
		"approval": {free, true, []modeltest.Step{finish(args{"verdict": "approve", "feedback": ""})},
			contract.Output{StructuralType: "Review", Type: "Review", Payload: "{}"}, ""},
		"feedback": {free, true, []modeltest.Step{finish(args{"verdict": "feedback", "feedback": "use tabs", "summary": "tabs"})},
			contract.Output{StructuralType: "Review", Type: "Review", Payload: "use tabs", Summary: "tabs"}, ""},
		"prose does not approve": {free, true, []modeltest.Step{modeltest.Text("I approve. LGTM. {}"), finish(args{"verdict": "feedback", "feedback": "x"})},
			contract.Output{StructuralType: "Review", Type: "Review", Payload: "x"}, "Nobody reads this text"},
		"feedback cannot be an approval": {free, true, []modeltest.Step{finish(args{"verdict": "feedback", "feedback": " {} "}), finish(args{"verdict": "feedback", "feedback": "x"})},
			contract.Output{StructuralType: "Review", Type: "Review", Payload: "x"}, "the feedback says nothing"},
		"approval with feedback": {free, true, []modeltest.Step{finish(args{"verdict": "approve", "feedback": "but use tabs"}), finish(args{"verdict": "feedback", "feedback": "use tabs"})},
			contract.Output{StructuralType: "Review", Type: "Review", Payload: "use tabs"}, "an approval has none"},
		"another verdict": {free, true, []modeltest.Step{finish(args{"verdict": "Approved!"}), finish(args{"verdict": "approve"})},
			contract.Output{StructuralType: "Review", Type: "Review", Payload: "{}"}, "want approve or feedback"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrial(t, c.settings, c.steps...)
			if c.review {
				r.reviewing()
			}
			out := r.output()
			out.Metadata = nil
			if got, want := string(encode(t, out)), string(encode(t, c.want)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if replies := r.replies(); c.told != "" && (len(replies) == 0 || !strings.Contains(replies[len(replies)-1], c.told)) {
				t.Errorf("the model was told %q, want %q", replies, c.told)
			}
			phase := blackboard.PhaseExclusive
			if c.review {
				phase = blackboard.PhaseReview
			}
			if _, err := contract.Interpret(phase, out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestChangesOfAnEarlierAttempt: changes from before a question count, the model is told of them, and it may finish without
// any other.
func TestChangesOfAnEarlierAttempt(t *testing.T) {
	for _, l := range []env.LLM{{Tools: []string{"edit"}, Makes: []string{"CodeCommit"}}, {Tools: []string{"edit"}}} {
		r := newTrial(t, l, finish(args{"type": "CodeCommit", "summary": "as before"}))
		r.input.Workspace = &contract.Workspace{Commit: strings.Repeat("2", 40), Base: strings.Repeat("1", 40), Before: strings.Repeat("1", 40)}
		if out := r.output(); out.Type != "CodeCommit" || out.Commit != contract.Changes {
			t.Errorf("got %+v", out)
		}
		contains(t, string(r.server.Requests()[0].Body), "the files of commit 1 with the changes that you made before your work was suspended")
	}
}

func encode(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFailures: each ends with its reason.
func TestFailures(t *testing.T) {
	broken := modeltest.Calls(modeltest.Call{Name: "edit", Arguments: `{"command": "vie`})
	unknown := modeltest.Calls(modeltest.Tool("rm", args{}))
	view := edit("view", "main.go", nil)
	for name, c := range map[string]struct {
		settings env.LLM
		steps    []modeltest.Step
		want     string
	}{
		"broken three times":     {writer, []modeltest.Step{broken, broken, broken, done}, "3 answers in a row that call no tool or cannot be read"},
		"broken, prose, unknown": {writer, []modeltest.Step{broken, modeltest.Text("x"), unknown, done}, "3 answers in a row"},
		"broken twice":           {writer, []modeltest.Step{broken, broken, view, broken, unknown, done}, ""},
		"refusal":                {writer, []modeltest.Step{{Refusal: "I will not"}}, "the model refuses: I will not"},
		"steps":                  {env.LLM{Tools: []string{"edit"}, Steps: 2, Makes: []string{"N"}}, []modeltest.Step{view, view, done}, "not finished within 2 steps"},
		"context full":           {env.LLM{Tools: []string{"edit"}, Context: 4000, Makes: []string{"N"}}, []modeltest.Step{edit("create", "big", args{"file_text": strings.Repeat("word\n", 2000)}), edit("view", "big", nil), done}, "context of 4000 tokens is full"},
		"overflow":               {writer, []modeltest.Step{modeltest.Broken(modeltest.ContextOverflow)}, "the model's context is full"},
		"empty":                  {writer, []modeltest.Step{modeltest.Broken(modeltest.Empty), modeltest.Broken(modeltest.Empty), modeltest.Broken(modeltest.Empty)}, "3 answers in a row"},
		"length":                 {writer, []modeltest.Step{{Text: "a", Length: true}, {Calls: broken.Calls, Length: true}, done}, ""},
		"no money":               {writer, []modeltest.Step{view, modeltest.Broken(modeltest.OutOfMoney)}, "429 (insufficient_quota): your credit balance is too low (after 1 answer, 1 tool call"},
		"cut for ever":           {writer, []modeltest.Step{modeltest.Broken(modeltest.CutStream), modeltest.Broken(modeltest.CutStream), modeltest.Broken(modeltest.CutStream)}, "the connection ended in the middle of the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrial(t, c.settings, c.steps...)
			err := r.run(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q\n%s", err, c.want, r.stderr.String())
			}
			if (err == nil) != (r.stdout.Len() > 0) {
				t.Errorf("%v, and stdout has %q", err, r.stdout.String())
			}
		})
	}
}

// TestFullContext: an answer that the model's context had no room for is the last one.
func TestFullContext(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"abc"}}

data: {"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

`)
	}))
	defer s.Close()
	err := newTrial(t, writer).with(map[string]string{env.ModelAPI: "messages", env.AnthropicBase: s.URL}).run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "the conversation is longer than the model's context window (after 1 answer") || asked != 1 {
		t.Errorf("got %v after %d calls", err, asked)
	}
}

// TestLimitOfOutput: sett.yml's word about the field goes before the address of the door.
func TestLimitOfOutput(t *testing.T) {
	for limit, field := range map[string]string{"": `"max_tokens":`, "max_completion_tokens": `"max_completion_tokens":`} {
		with := writer
		with.Limit = limit
		r := newTrial(t, with, done)
		r.output()
		contains(t, string(r.server.Last().Body), field)
	}
}

// TestBrokenArguments: they are not executed, and the model learns why.
func TestBrokenArguments(t *testing.T) {
	r := newTrial(t, writer, modeltest.Calls(modeltest.Call{Name: "edit", Arguments: `{"command":"create","path":"new","file_text":"x"`}),
		modeltest.Calls(modeltest.Tool("edit", args{"command": "create", "path": "new", "file_text": 7})), modeltest.Calls(modeltest.Tool("delete", args{}), modeltest.Tool("run", args{"argv": []string{"cat", "empty"}})), done)
	r.output()
	replies := r.replies()
	contains(t, replies[0], "Error: the arguments are no JSON object, so nothing was done: unexpected end")
	contains(t, replies[1], "Error: file_text is a JSON number, want string; nothing was done")
	contains(t, replies[2], `Error: there is no tool "delete". You have: edit, run, search, ask, finish`)
	contains(t, replies[3], "Exit code 0.")
	if _, err := os.Stat(filepath.Join(r.dir, "new")); err == nil {
		t.Error("a broken call was executed")
	}
}

// TestNotices: the model is told once of a third identical call and of limits that are near.
func TestNotices(t *testing.T) {
	same := run("cat", "empty")
	steps := []modeltest.Step{same, same, same, same, run("cat", "main.go"), same, same, same, done}
	l := writer
	l.Steps = len(steps) + 1
	r := newTrial(t, l, steps...)
	r.output()
	all := strings.Join(r.replies(), "\n")
	if n := strings.Count(all, "You have made this same call 3 times in a row"); n != 1 {
		t.Errorf("told %d times:\n%s", n, all)
	}
	if n := strings.Count(all, "You have 3 answers left"); n != 1 {
		t.Errorf("told %d times of the steps:\n%s", n, all)
	}
	l.Context, l.Steps = 8000, 20
	r = newTrial(t, l, edit("create", "x", args{"file_text": strings.Repeat("word\n", 1000)}), edit("view", "x", nil), same, done)
	r.output()
	if all := strings.Join(r.replies(), "\n"); strings.Count(all, "Your context is nearly full") != 1 {
		t.Errorf("the context is nearly full:\n%.500s", all)
	}
}

// TestLeftOut: what does not fit is said in the log, the prompt and the metadata.
func TestLeftOut(t *testing.T) {
	l := writer
	l.Context = 8000
	r := newTrial(t, l, done)
	old := r.input.Target
	old.ID, old.LogicalID, old.Type, old.Payload = "01M7YNZ5D8DWX9T3X1JYQS69AA", "01M7YNZ5D8DWX9T3X1JYQS69AA", "Essay", strings.Repeat("words ", 2000)
	r.input.ContextChain = []blackboard.Artefact{old}
	out := r.output()
	if string(out.Metadata) != `{"steps":1,"left_out":["artefact 1 (Essay)"]}` {
		t.Errorf("metadata %s", out.Metadata)
	}
	contains(t, r.stderr.String(), "left out of the prompt: artefact 1 (Essay)\n")
	contains(t, string(r.server.Last().Body), "Left out, because your context has no room for it: artefact 1 (Essay).")
}

// TestStopped: the end of the context ends the program that runs, and the log says how far
// the work got.
func TestStopped(t *testing.T) {
	l := writer
	l.Shell = true
	r := newTrial(t, l, modeltest.Calls(modeltest.Tool("run", args{"line": "echo $$ >pid; exec sleep 1000"})))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !strings.HasSuffix(r.file("pid"), "\n") && ctx.Err() == nil {
			r.server.Await("the call", func(all []modeltest.Request) bool { return len(all) > 0 })
		}
		cancel()
	}()
	err := r.run(ctx)
	if err == nil || !strings.Contains(err.Error(), "stopped after 1 answer, 1 tool call, ") {
		t.Errorf("got %v", err)
	}
	contains(t, r.stderr.String(), "step 1: run echo $$ >pid; exec sleep 1000", "stopped after 1 answer, 1 tool call")
	pid, _ := strconv.Atoi(strings.TrimSpace(r.file("pid")))
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); pid == 0 || err == nil {
		t.Errorf("process %d lives", pid)
	}
}

func TestWrongSettings(t *testing.T) {
	for name, vars := range map[string]map[string]string{
		"SETT_LLM is":           {env.LLMSettings: "x"},
		"OPENAI_BASE_URL is":    {env.OpenAIBase: ""},
		"SETT_MODEL_API is":     {env.ModelAPI: "x"},
		"open the tree":         {env.Workspace: "/nowhere/at/all"},
		"SETT_AGENT_COMMITS is": {env.Commits: "x"},
	} {
		r := newTrial(t, writer, done).with(vars)
		if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for task, want := range map[string]string{"": "read the task: unexpected end", "{}": "no target_artefact", "[]": "cannot unmarshal array"} {
		r := newTrial(t, writer, done)
		err := Run(t.Context(), role.Env{Stdin: strings.NewReader(task), Lookup: func(n string) (string, bool) { v, ok := r.vars[n]; return v, ok }, Environ: os.Environ})
		if err == nil || !strings.Contains(err.Error(), want) || role.CodeOf(err) != role.Usage {
			t.Errorf("%q: %v", task, err)
		}
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if err := Run(t.Context(), role.Env{Args: []string{"--help"}, Stdout: &out}); err != nil || !strings.HasPrefix(out.String(), "Do an agent's task") {
		t.Errorf("%v: %s", err, out.String())
	}
}

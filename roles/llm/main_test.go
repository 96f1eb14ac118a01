package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
	contract "sett/contract/tool"
	"sett/roles/role"
	"sett/roles/role/modeltest"
)

// trial is one run of sett llm against the mock.
type trial struct {
	t      testing.TB
	server *modeltest.Server
	dir    string
	vars   map[string]string
	input  contract.Input
	stdout bytes.Buffer
	stderr safe
}

// safe is a buffer that may be read while it is written.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newTrial has a tree with files, and a model that plays the steps.
func newTrial(t testing.TB, l env.LLM, steps ...modeltest.Step) *trial {
	s := modeltest.Start(t, steps...)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n", "docs/a.txt": "one\r\ntwo\r\n", ".git/config": "[core]\n", ".git/hooks/x": "", "empty": "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	goal := blackboard.Artefact{
		ID: "01M7YNZ5D8DWX9T3X1JYQS698S", LogicalID: "01M7YNZ5D8DWX9T3X1JYQS698S", Version: 1, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: "Say hello", ProducedByRole: "user", WorkflowID: "01M7YNZ5D8DWX9T3X1JYQS698S",
	}
	return &trial{t: t, server: s, dir: dir, input: contract.Input{ClaimType: blackboard.BidExclusive, Target: goal}, vars: map[string]string{
		env.ModelName: "m", env.OpenAIBase: s.URL + "/v1", env.OpenAIKey: "the-token", env.LLMSettings: l.Encode(), env.Workspace: dir,
		env.WorkspaceMode: string(blackboard.ReadWrite), env.Role: "Coder", "PATH": os.Getenv("PATH"), "HOME": dir,
	}}
}

func (r *trial) with(vars map[string]string) *trial {
	maps.Copy(r.vars, vars)
	return r
}

func (r *trial) reviewing() *trial {
	r.input.ClaimType = blackboard.BidReview
	return r.with(map[string]string{env.WorkspaceMode: string(blackboard.ReadOnly)})
}

func (r *trial) run(ctx context.Context) error {
	stdin, err := r.input.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	return Run(ctx, role.Env{
		Stdin: bytes.NewReader(stdin), Stdout: &r.stdout, Stderr: &r.stderr,
		Lookup: func(n string) (string, bool) { v, ok := r.vars[n]; return v, ok },
		Environ: func() (all []string) {
			for n, v := range r.vars {
				all = append(all, n+"="+v)
			}
			return all
		},
	})
}

// output is the result of a run that ends well.
func (r *trial) output() contract.Output {
	r.t.Helper()
	if err := r.run(r.t.Context()); err != nil {
		r.t.Fatalf("%v\n%s", err, r.stderr.String())
	}
	out, err := contract.ParseOutput(r.stdout.Bytes())
	if err != nil {
		r.t.Fatalf("%v: %s", err, r.stdout.String())
	}
	return out
}

// replies are the texts that the tools gave the model, and the texts of the user after
// the prompt, in order.
func (r *trial) replies() (all []string) {
	var q struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(r.server.Last().Body, &q); err != nil {
		r.t.Fatal(err)
	}
	for i, m := range q.Messages {
		if i > 1 && m.Role != "assistant" {
			all = append(all, m.Content)
		}
	}
	return all
}

func (r *trial) file(name string) string {
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(b)
}

type args = map[string]any

func edit(command, path string, more args) modeltest.Step {
	a := args{"command": command, "path": path}
	maps.Copy(a, more)
	return modeltest.Calls(modeltest.Tool("edit", a))
}

func run(argv ...string) modeltest.Step {
	return modeltest.Calls(modeltest.Tool("run", args{"argv": argv}))
}

func finish(a args) modeltest.Step { return modeltest.Calls(modeltest.Tool("finish", a)) }

var done = finish(args{"summary": "done", "payload": "p"})

var coder = env.LLM{Tools: []string{"edit", "run", "search"}, Run: []string{"cat", "env", "sh-not-there"}, Makes: []string{"CodeCommit"}}
var writer = env.LLM{Tools: []string{"edit", "run", "search"}, Run: []string{"cat", "env", "head", "false"}, Makes: []string{"Notes"}}

func contains(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in:\n%s", part, got)
		}
	}
}

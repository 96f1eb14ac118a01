package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
	"sett/contract/tool"
	"sett/roles/role/modeltest"
)

// llm is a process of sett llm with a model at that server.
func llm(t *testing.T, s *modeltest.Server, l env.LLM, context int) *exec.Cmd {
	t.Helper()
	artefact := func(id, kind, payload string) blackboard.Artefact {
		return blackboard.Artefact{ID: id, LogicalID: id, Version: 1, StructuralType: blackboard.Standard, Type: kind, Payload: payload, ProducedByRole: "user"}
	}
	in := tool.Input{ClaimType: blackboard.BidExclusive, Target: artefact("01M7YNZ5D8DWX9T3X1JYQS698S", blackboard.TypeGoalDefined, "goal")}
	for i := range context {
		id := "01M7YNZ5D8DWX9T3X1JYQS" + string(rune('A'+i/10)) + string(rune('0'+i%10)) + "AB"
		in.ContextChain = append(in.ContextChain, artefact(id, "Note", strings.Repeat("a long text. ", 200)))
	}
	stdin, err := in.Encode()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "llm")
	cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), env.ModelName + "=m", env.OpenAIBase + "=" + s.URL + "/v1", env.OpenAIKey + "=the-token", env.LLMSettings + "=" + l.Encode(),
		env.Workspace + "=" + cmd.Dir, env.WorkspaceMode + "=rw", env.Role + "=Coder",
	}
	return cmd
}

// TestLLMHidesItsToken: the programs that a model runs find the door's token neither in
// their environment nor in that of the process above them.
func TestLLMHidesItsToken(t *testing.T) {
	t.Parallel()
	line := func(l string) modeltest.Step {
		return modeltest.Calls(modeltest.Tool("run", map[string]string{"line": l}))
	}
	s := modeltest.Start(t, line("cat /proc/$PPID/environ; env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a the-token; echo looked"),
		modeltest.Calls(modeltest.Tool("finish", map[string]string{"payload": "p", "summary": "s"})))
	out, err := llm(t, s, env.LLM{Tools: []string{"run"}, Shell: true, Makes: []string{"Notes"}}, 0).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	last := string(s.Last().Body)
	if !strings.Contains(last, "looked") || strings.Contains(strings.ReplaceAll(last, "grep -a the-token", ""), "the-token") {
		t.Errorf("the model was told:\n%s", last)
	}
}

// TestLLMEnds: TERM ends it, with the program that it runs, and the log says how far it got.
func TestLLMEnds(t *testing.T) {
	t.Parallel()
	s := modeltest.Start(t, modeltest.Calls(modeltest.Tool("run", map[string]string{"line": "echo $$ >pid.new; mv pid.new pid; sleep 1000 & sleep 1000"})))
	cmd := llm(t, s, env.LLM{Tools: []string{"run"}, Shell: true, Makes: []string{"Notes"}}, 0)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid []byte
	eventually(t, enough, "the program runs", func() bool {
		pid, _ = os.ReadFile(cmd.Dir + "/pid")
		return len(pid) > 0
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "sett: error: stopped after 1 answer, 1 tool call") {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Errorf("process %s lives", pid)
	}
}

// TestLLMWithManyArtefacts: a long context reaches the model.
func TestLLMWithManyArtefacts(t *testing.T) {
	t.Parallel()
	s := modeltest.Start(t, modeltest.Calls(modeltest.Tool("finish", map[string]string{"payload": "p", "summary": "s"})))
	if out, err := llm(t, s, env.LLM{Makes: []string{"Notes"}}, 50).Output(); err != nil || !bytes.Contains(out, []byte(`"artefact_payload":"p"`)) {
		t.Errorf("%v: %s", err, out)
	}
	if !bytes.Contains(s.Last().Body, []byte("## Artefact 51: GoalDefined")) {
		t.Error("the context is not whole")
	}
}

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/role/modeltest"
)

// TestPausedModels: while a person has stopped all calls of models, no agent with a model begins its work: the goal waits
// for that person, also after a crash of the agent and a restart of it, and is reached once calls go on.
func TestPausedModels(t *testing.T) {
	t.Parallel()
	provider := modeltest.Start(t)
	provider.Play = (&modelGround{}).play
	in := prepare(t, options{clan: solo(finished, "")})
	file(t, filepath.Join(in.repo, "sett.yml"), `
version: "1.0"
runtime: process
agents:
  solo:
    llm: {model: m}
    workspace: {mode: none}
    makes: Word
    terminal: true
    retries: 1
    bids: {GoalDefined: exclusive}
    prompts: {execution: Say a word.}
models: {m: {api: chat, model: real-name, base_url: "`+provider.URL+`"}}
`, 0o644)
	in.git("commit", "-qam", "a model alone")
	in.up()
	in.must("models", "pause", "dear")
	goal := in.post("x")
	waits := func(what string) {
		t.Helper()
		code, out := in.sett("wait", goal, "--timeout", "60s")
		if code != 5 || !strings.Contains(out, "solo waits for its model") || !strings.Contains(out, "(dear): sett models resume") {
			_, logs := in.sett("logs", "solo")
			t.Fatalf("%s: sett wait ends with %d:\n%s\n%s", what, code, out, logs)
		}
	}
	waits("paused")
	old := in.pid("agent-solo")
	in.kill("agent-solo")
	in.restarted("agent-solo", old)
	waiting{in}.listed(goal, "model", "solo", "(dear): sett models resume), claim ")
	in.must("restart", "solo")
	waits("after a restart")
	if asked := len(provider.Requests()); asked > 0 {
		t.Errorf("%d calls of the model", asked)
	}
	began := time.Now()
	in.must("models", "resume")
	in.await(goal, enough)
	if got := in.status(goal); got != blackboard.WorkflowAchieved {
		_, said := in.sett("show", goal)
		t.Errorf("%s after %s: the goal is %s", said, time.Since(began), got)
	}
	in.settled()
	in.atRest()
}

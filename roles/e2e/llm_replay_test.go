package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/agents/demo"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// replayed is an instance with the demo's clan of models, which answers from its recording.
func replayed(t *testing.T, o options) *instance {
	t.Helper()
	in := prepare(t, o)
	done := in.act("the demo's files")
	if err := demo.WriteModels(in.repo); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(in.repo, "sett.yml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file(t, name, strings.ReplaceAll(string(text), "examples/Dockerfile}", "examples/Dockerfile, args: {BASE: "+baseImage+"}}"), 0o644)
	done()
	in.git("add", ".")
	in.git("commit", "-q", "--amend", "-m", "a clan of models")
	in.up()
	return in
}

// asRecorded compares how a goal of the demo ended with the golden file: all artefacts,
// commits and claims, without ids and times.
func (in *instance) asRecorded(goal string) {
	in.t.Helper()
	in.await(goal, enough)
	golden, got := filepath.Join("testdata", "llm-clan.golden"), in.outcome(goal)+"\n"
	if *update {
		file(in.t, golden, got, 0o644)
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != got {
		in.t.Errorf("%v; -update rewrites the golden file\n%s", err, diff(string(want), got))
	}
}

// TestReplays: twenty replays of a recording, under way at once, give the same artefacts.
func TestReplays(t *testing.T) {
	t.Parallel()
	in := replayed(t, options{})
	var goals []string
	for range 20 {
		goals = append(goals, in.post(demo.ModelsGoal))
	}
	for _, goal := range goals {
		in.asRecorded(goal)
	}
	in.settled()
	in.atRest()
}

// TestDockerReplay: in containers the models get the same prompts, byte for byte, or the
// recording would refuse them; and the artefacts are those of local mode.
func TestDockerReplay(t *testing.T) {
	t.Parallel()
	needEngine(t)
	in := replayed(t, inContainers(clan{}))
	in.asRecorded(in.post(demo.ModelsGoal))
}

package e2e

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
)

// TestDockerExampleOfTheSources builds the source documents' example agent by
// their command, from Sett's own root, and runs it by their sett.yml
// (spec/example-agent.md). Only the tag is another, which may be in use here, and
// the base, where no registry answers.
func TestDockerExampleOfTheSources(t *testing.T) {
	t.Parallel()
	in := prepare(t, inContainers(clan{}))
	tag := "example-agent-" + strings.ToLower(rand.Text()[:8]) + ":latest"
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	in.docker("build", "-q", "-t", tag, "-f", filepath.Join(root, "agents/example-agent/Dockerfile"), "--build-arg", "BASE="+baseImage, root)
	t.Cleanup(func() {
		in.sett("down", "--purge", "--yes")
		in.docker("image", "rm", tag)
	})
	const theirs = `version: "1.0"
agents:
  example-agent:
    role: "Example Agent"
    image: "example-agent:latest"
    command: ["/app/run.sh"]
    workspace:
      mode: ro
`
	file, done := filepath.Join(in.repo, "sett.yml"), in.act("an edit of sett.yml")
	if err := os.WriteFile(file, []byte(strings.Replace(theirs, "example-agent:latest", tag, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	done()
	in.git("commit", "-qam", "their sett.yml")
	in.must("up")
	in.open()
	out := in.must("forage", "--goal", "build user authentication", "--wait")
	if !strings.Contains(out, "goal achieved") {
		t.Errorf("forage said:\n%s", out)
	}
	goals := in.goals()
	if len(goals) != 1 || in.status(goals[0]) != blackboard.WorkflowAchieved {
		t.Errorf("goals %v", goals)
	}
	if logs := in.must("logs", "example-agent"); !strings.Contains(logs, "looking at the workspace") {
		t.Errorf("its log is:\n%s", logs)
	}
}

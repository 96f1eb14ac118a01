package deploy

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/live"
	"sett/roles/cli/term"
	"sett/roles/cli/term/ttytest"
	"sett/roles/role"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// planShared is a clan of containers that its first sett up starts, and planGrown the same
// later.
const (
	planShared = "runtime: docker\ndefaults: {image: 'tools:1'}\nagents:\n  one: {command: [a]}\n  code-reviewer: {command: [b]}\n"
	planGrown  = "runtime: process\napprove: [Plan]\nagents:\n  one: {command: [b]}\n  two: {command: [a]}\n  three-with-a-longer-name: {command: [a]}\n"
)

// TestFirstUp: each message of sett up has a golden file, on terminals and in a pipe. All is
// rendered from values.
func TestFirstUp(t *testing.T) {
	for _, columns := range []int{80, 120, 0} {
		out := &ttytest.Paper{Wide: columns}
		var at *instance.Locator
		var both io.Writer = out
		if columns == 0 {
			both = &out.Buffer
		}
		on := term.New(role.Env{Stdout: both, Stderr: both, Now: func() time.Time { return time.Unix(3, 0) },
			Lookup: func(name string) (string, bool) { return "/home/anna", name == "HOME" }})
		at = instance.New(&on, instance.Flags{})
		for _, part := range []struct {
			name string
			show func(t *testing.T, at *instance.Locator)
		}{
			{"dry run", dryRun}, {"changed", changedClan}, {"ready", readyParts}, {"programs", noPrograms}, {"no images", imagesLack},
			{"progress", func(t *testing.T, at *instance.Locator) { imagesCome(t, at, out) }},
		} {
			fmt.Fprintf(out, "--- %s\n", part.name)
			part.show(t, at)
		}
		name := filepath.Join("testdata", "up."+map[bool]string{true: "pipe", false: fmt.Sprint(columns)}[columns == 0])
		sameAsFile(t, name, out.String())
		for line := range strings.Lines(out.String()) {
			if columns > 0 && term.Width(strings.TrimRight(line, "\n")) > columns && !toType.MatchString(line) {
				t.Errorf("wider than %d: %s", columns, line)
			}
		}
	}
}

// toType matches a command, which is copied in one piece.
var toType = regexp.MustCompile(`^(sett: hint: )? *(sett|git|cd|export) `)

func sameAsFile(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update rewrites it. Got:\n%s", name, got)
	}
}

func dryRun(t *testing.T, at *instance.Locator) {
	f := planned(t, planShared)
	f.root = "/home/anna/projects/badgers"
	p := newPlan(f)
	p.Rights = []config.Right{{Key: "agents.one.environment", Text: "agent one gets the variables GITHUB_TOKEN, HOME and NPM_TOKEN of this machine"}}
	p.Notices = []string{"warning: agent one: variable NPM_TOKEN is not set here, and so the agent runs without it; export it, or give it a default"}
	if err := p.Write(at); err != nil {
		t.Fatal(err)
	}
}

func changedClan(t *testing.T, at *instance.Locator) {
	p := newPlan(planned(t, planGrown).running(t, planOne))
	p.other = ""
	p.tell(at)
	sayNotices(at.Sayf, p.Notices)
}

func readyParts(t *testing.T, at *instance.Locator) {
	c := planned(t, planShared).desired
	j := &job{at: at, c: c, began: time.Unix(2, 0), in: &instance.Instance{State: instance.State{Name: "badgers", Workspace: "/home/anna/projects/badgers"}}}
	j.announce()
	j.ready("orchestrator", "health and metrics at http://127.0.0.1:40123")
	one, _ := c.Agent("one")
	other, _ := c.Agent("code-reviewer")
	answers(j, one, instance.AgentUnfit, blackboard.Presence{Trouble: "agents/one.sh: its interpreter /usr/bin/python3 is not here; another image, or another first line, mends it"})
	answers(j, other, instance.AgentUnwell, blackboard.Presence{Trouble: "the last three runs of its tool ended with exit code 3: cannot reach the server of licences"})
	j.ready("repository", "")
}

// noPrograms: what a look at this machine says of programs that cannot be run.
func noPrograms(t *testing.T, at *instance.Locator) {
	root := t.TempDir()
	for name, text := range map[string]string{"windows.sh": "#!/bin/sh\r\necho\r\n", "python.py": "#!/opt/no-such/python9\n", "plain.sh": "#!/bin/sh\n"} {
		mode := os.FileMode(0o755)
		if name == "plain.sh" {
			mode = 0o644
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	c := planned(t, "runtime: process\nagents:\n  none: {command: [./none.sh]}\n  plain: {command: [./plain.sh]}\n  python: {command: [./python.py]}\n  windows: {command: [./windows.sh]}\n  word: {command: [no-such-word]}\n").desired
	var notices []string
	for _, m := range MissingTools(c, root) {
		notices = append(notices, "warning: "+strings.ReplaceAll(m.Text, root+"/", ""))
	}
	sayNotices(at.Sayf, notices)
}

// imagesLack: images that cannot be had, with the ways on.
func imagesLack(t *testing.T, at *instance.Locator) {
	err := noImages(t.Context(), &missingError{Images: []missingImage{
		{Name: "redis", Ref: "redis:7-alpine", Reason: "pull access denied: the registry cannot be reached from here, and no mirror is named"},
		{Name: "agent one", Ref: "tools:1", Reason: "no such image"}, {Name: "agent code-reviewer", Ref: "tools:1", Reason: "no such image"},
	}}, noDocker)
	role.Report(at.Stderr, term.Fitted(at.Stderr, err))
}

// imagesCome: the steps of images, in a pipe one after another, on a terminal the last ones.
func imagesCome(t *testing.T, at *instance.Locator, out *ttytest.Paper) {
	p := &imageLines{on: at.Terminal, last: map[string]string{}, since: map[string]time.Time{}}
	pane := &ttytest.Paper{Wide: out.Wide}
	if out.Wide > 0 {
		p.screen = live.NewScreen(pane, false)
	}
	p.step("redis", "1 of 8 layers")
	p.step("agent one, agent code-reviewer", "Step 4/5 : RUN apt-get update && apt-get install -y --no-install-recommends build-essential git curl")
	p.step("redis", "2 of 8 layers")
	if out.Wide == 0 {
		return
	}
	if err := p.screen.Bottom(p.lines(), func(s string, _ term.Style) string { return s }); err != nil {
		t.Fatal(err)
	}
	glass := ttytest.NewGlass(out.Wide)
	_, _ = glass.Write(pane.Bytes())
	fmt.Fprintln(out, glass)
}

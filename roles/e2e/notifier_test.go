package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// notice is what the tests read of an event.
type notice struct {
	Event    string `json:"event"`
	Command  string `json:"command"`
	Workflow struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"workflow"`
	Question struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	} `json:"question"`
}

// notified is a clan whose one agent asks before it ends a goal, and that tells.
func notified(extra string) clan {
	c := solo(`
case $in in
*'"structural_type":"Answer"'*) say Terminal Done done ;;
*) say Question Ask "which one?" ;;
esac`, "")
	c.extra = "notify: {command: [./.git/notify]" + extra + "}\n"
	return c
}

// writes is a command that keeps the event in a file beside the tree.
const writes = `cat >>.git/told`

// notifyBy makes the command, beside the tree. It is pinned; the script that it runs is
// not.
func (in *instance) notifyBy(script string) {
	in.t.Helper()
	file(in.t, filepath.Join(in.repo, ".git", "notify"), "#!/bin/sh\nexec sh -eu ./.git/tell\n", 0o755)
	path := filepath.Join(in.repo, ".git", "tell")
	file(in.t, path+".new", script+"\n", 0o644)
	if err := os.Rename(path+".new", path); err != nil { // it may be running
		in.t.Fatal(err)
	}
}

// told waits for so many events.
func (in *instance) told(n int) (all []notice) {
	in.t.Helper()
	eventually(in.t, enough, fmt.Sprintf("%d events", n), func() bool {
		raw, err := os.ReadFile(filepath.Join(in.repo, ".git", "told"))
		if err != nil && !os.IsNotExist(err) {
			in.t.Fatal(err)
		}
		all = nil
		for line := range bytes.Lines(raw) {
			var v notice
			if json.Unmarshal(line, &v) != nil {
				return false // it is being written
			}
			all = append(all, v)
		}
		return len(all) >= n
	})
	if len(all) != n {
		in.t.Fatalf("%d events, want %d: %+v", len(all), n, all)
	}
	return all
}

// reconfigure writes another sett.yml and brings it up.
func (in *instance) reconfigure(c clan) (out string) {
	in.t.Helper()
	in.clan = c
	c.write(in)
	in.git("commit", "-q", "--allow-empty", "-a", "-m", "reconfigure")
	return in.must("up", "--runtime", in.o.runtime())
}

// TestNotifier tells of a question and of the end, each once, with the notifier
// killed before, between and while it tells.
func TestNotifier(t *testing.T) {
	t.Parallel()
	in := prepare(t, options{clan: notified("")})
	in.notifyBy(writes)
	in.up()
	in.bounce("notifier")
	goal := in.post("x")
	asked := in.told(1)[0]
	if want := fmt.Sprintf("sett answer --name %s %s \"…\"", in.name, asked.Question.ID); asked.Event != "question" || asked.Workflow.ID != goal ||
		asked.Question.Text != "which one?" || asked.Command != want {
		t.Errorf("told %+v, want the command %s", asked, want)
	}
	in.said("notifier", "event told", 1)
	in.notifyBy(`: >.git/began; until [ -e .git/leave ]; do sleep 0.02; done; ` + writes)
	in.bounce("notifier")
	in.answer(asked.Question.ID)
	in.await(goal, enough)
	eventually(t, enough, "the command's start", func() bool { _, err := os.Stat(filepath.Join(in.repo, ".git/began")); return err == nil })
	in.bounce("notifier")
	file(t, filepath.Join(in.repo, ".git", "leave"), "\n", 0o644)
	if end := in.told(2)[1]; end.Event != "workflow" || end.Workflow.ID != goal || end.Workflow.Status != "achieved" {
		t.Errorf("told %+v", end)
	}
	in.said("notifier", "event told", 2)
	in.must("down")
	in.up()
	in.answer(func() string { in.post("y"); return in.told(3)[2].Question.ID }())
	in.told(4)
	in.atRest()
}

// said waits until a part's log has a text so many times.
func (in *instance) said(part, text string, times int) {
	in.t.Helper()
	eventually(in.t, enough, fmt.Sprintf("%q in the log of %s", text, part), func() bool {
		return strings.Count(in.must("logs", part), text) >= times
	})
}

// TestNotifierOfBadCommands has a command fail, then take too long, and then do
// what it is to: the event is told.
func TestNotifierOfBadCommands(t *testing.T) {
	t.Parallel()
	in := prepare(t, options{clan: notified(", timeout: 2s")})
	in.notifyBy(`if [ ! -e .git/one ]; then : >.git/one; echo oh dear >&2; exit 3; fi
if [ ! -e .git/two ]; then : >.git/two; exec sleep 60; fi
` + writes)
	in.up()
	in.post("x")
	in.told(1)
	in.said("notifier", "event told", 1)
	log := in.must("logs", "notifier")
	for _, want := range []string{"oh dear", "exit code 3", "not done within 2s"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in the log:\n%s", want, log)
		}
	}
}

// row is what the tests read of `sett list`.
func (in *instance) row() (row struct {
	State string   `json:"state"`
	Ready int      `json:"agents_ready"`
	All   int      `json:"agents"`
	Down  []string `json:"parts_down"`
}) {
	in.t.Helper()
	var list struct {
		Instances []json.RawMessage `json:"instances"`
	}
	cmd := in.command("list", "-o", "json")
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err == nil && len(list.Instances) == 1 {
		err = json.Unmarshal(list.Instances[0], &row)
	}
	if err != nil || len(list.Instances) != 1 {
		in.t.Fatalf("list: %v\n%s", err, out)
	}
	return row
}

// TestNotifierIsAPart: up waits for it, list says when it does not run, and what
// changes about it in sett.yml restarts it and nothing else.
func TestNotifierIsAPart(t *testing.T) {
	t.Parallel()
	in := prepare(t, options{clan: solo(finished, "")})
	in.up()
	agent := in.pid("agent-solo")
	if _, runs := in.running("notifier"); runs {
		t.Error("there is a notifier that nobody wants")
	}
	in.notifyBy(writes)
	c := solo(finished, "")
	c.extra = "notify: {command: [./.git/notify]}\n"
	if out := in.reconfigure(c); !strings.Contains(out, "notifier") {
		t.Errorf("up said:\n%s", out)
	}
	first := in.pid("notifier")
	in.post("x")
	in.told(1)
	if row := in.row(); row.State != "running" || row.Ready != 1 || row.All != 1 || len(row.Down) != 0 {
		t.Errorf("list: %+v", row)
	}

	for _, pillar := range in.o.pillars() {
		in.signal(pillar, syscall.SIGSTOP)
	}
	in.kill("notifier")
	eventually(t, enough, "its absence in sett list", func() bool {
		row := in.row()
		return row.State == "degraded" && slices.Equal(row.Down, []string{"notifier"}) && row.Ready == 1
	})
	for _, pillar := range in.o.pillars() {
		in.signal(pillar, syscall.SIGCONT)
	}
	in.restarted("notifier", first)
	second := in.pid("notifier")

	c.extra = "notify: {command: [./.git/notify], environment: [WHO=ann]}\n"
	in.reconfigure(c)
	third := in.pid("notifier")
	if third == second {
		t.Error("it was not restarted")
	}
	in.reconfigure(c)
	if in.pid("notifier") != third {
		t.Error("it was restarted for nothing")
	}
	c.extra = ""
	in.reconfigure(c)
	if _, runs := in.running("notifier"); runs {
		t.Error("it still runs")
	}
	if in.pid("agent-solo") != agent {
		t.Error("the agent was restarted")
	}
	eventually(t, enough, "an instance that runs whole", func() bool {
		row := in.row()
		return row.State == "running" && len(row.Down) == 0
	})
	in.must("down", "--purge", "--yes")
}

// TestDockerNotifier tells from a container: it has the blackboard as a user of its
// own, the workspace to read, and what it prints in its log. What changes about it
// goes by a change of Redis' users as well.
func TestDockerNotifier(t *testing.T) {
	t.Parallel()
	in := prepare(t, inContainers(notified("")))
	in.notifyBy(`
case $(cat) in *'"event":"question"'*) echo heard a question ;; *'"status":"achieved"'*) echo heard of success ;; *) echo heard something else ;; esac
if touch .git/told 2>/dev/null; then echo could write to the workspace; fi
if env | grep -q redis:; then echo could see credentials; fi`)
	in.up()
	goal := in.post("x")
	in.said("notifier", "heard a question", 1)
	in.said("notifier", "event told", 1)
	in.bounce("notifier")
	questions, err := in.board.Index.OpenQuestions(t.Context())
	if err != nil || len(questions) != 1 {
		t.Fatalf("questions %v %v", questions, err)
	}
	in.answer(questions[0])
	in.await(goal, enough)
	in.said("notifier", "event told", 2)
	log := in.must("logs", "notifier")
	for text, times := range map[string]int{"heard a question": 1, "heard of success": 1, "heard something": 0, "could": 0} {
		if n := strings.Count(log, text); n != times {
			t.Errorf("%q is %d times in the log, want %d:\n%s", text, n, times, log)
		}
	}
	agent := in.pid("agent-solo")
	c := notified("")
	c.extra = ""
	out := in.reconfigure(c)
	if _, runs := in.running("notifier"); runs {
		t.Error("it still runs")
	}
	out += in.reconfigure(notified(", environment: [WHO=ann]"))
	in.pid("notifier")
	if in.pid("agent-solo") != agent {
		t.Errorf("the agent was restarted: %s", out)
	}
	in.post("y")
	in.said("notifier", "heard a question", 2)
	in.must("down", "--purge", "--yes")
	in.nothingOnEngine()
}

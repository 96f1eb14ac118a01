package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// patient is a clan in which work waits for each of the things that there are, by
// what a goal says. What holds it up ends with a file that hold waits for.
func patient() clan {
	const fresh = "strategy: fresh_per_call\nreplicas: 1\n"
	bid := func(goals, bid string) string {
		return `case $SETT_TARGET_PAYLOAD in ` + goals + `) echo ` + bid + ` ;; *) echo ignore ;; esac`
	}
	const hold = `until [ -e "$gates/go-$SETT_TARGET_PAYLOAD" ]; do sleep 0.02; done
say Terminal Done done`
	return clan{extra: "approve: [Release]\n", agents: []agent{
		{name: "solo", script: bid("result|start|decision|claim|silent|answer|approval", "exclusive"), tool: `
case $SETT_TARGET_PAYLOAD in
answer) case $in in *'"structural_type":"Answer"'*) say Terminal Done "as you say" ;; *) say Question Ask "which one?" ;; esac ;;
approval) say Terminal Release "one" ;;
decision|claim|silent) say Terminal Done done ;;
*) ` + hold + ` ;;
esac`},
		{name: "pool", script: bid("slot", "exclusive"), tool: hold, more: fresh},
		{name: "one", script: bid("repository", "exclusive"), tool: hold, more: "workspace: {mode: rw}\n"},
		{name: "slow", script: `case $SETT_TARGET_PAYLOAD in bid|decision) until [ -e "$gates/go-$SETT_TARGET_PAYLOAD" ]; do sleep 0.02; done ;; esac; echo ignore`, tool: finished},
		{name: "quiet", bids: "Nothing: exclusive", tool: finished},
	}}
}

// namedWait is a wait as commands print it for programs.
type namedWait struct {
	What     string `json:"what"`
	Agent    string `json:"agent"`
	Workflow string `json:"workflow_id"`
	Text     string `json:"text"`
}

// TestWaitsHaveNames makes each kind of wait there is, and reads its name from
// list -v, watch and wait.
func TestWaitsHaveNames(t *testing.T) {
	t.Parallel()
	in := start(t, options{clan: patient().without()}) // of bids, claims and decisions there is no wait with courses
	w := waiting{in}
	t.Run("bid", func(*testing.T) {
		goal := in.post("bid")
		w.named(goal, "bid", "slow", "slow has to bid on claim ")
		w.ends("bid", goal)
	})
	t.Run("start and result", func(*testing.T) {
		first := in.post("result")
		w.named(first, "result", "solo", "solo is running")
		second := in.post("start")
		w.named(second, "start", "solo", "solo works on claim ")
		w.release("start")
		w.ends("result", first, second)
	})
	t.Run("slot", func(*testing.T) {
		first := in.post("slot")
		w.listed(first, "result", "pool", "")
		second := in.post("slot")
		w.named(second, "slot", "pool", "pool has no free worker for claim ")
		w.ends("slot", first, second)
	})
	t.Run("repository", func(*testing.T) {
		in.signal("repository", syscall.SIGSTOP)
		goal := in.post("repository")
		w.named(goal, "repository", "one", "the repository")
		in.signal("repository", syscall.SIGCONT)
		w.ends("repository", goal)
	})
	t.Run("answer", func(*testing.T) {
		goal := in.post("answer")
		question := w.named(goal, "answer", "solo", "solo needs an answer to Question ")
		in.must("answer", question, "this one")
		w.ends("answer", goal)
	})
	t.Run("approval", func(*testing.T) {
		goal := in.post("approval")
		held := w.named(goal, "approval", "solo", " of solo needs approval")
		in.must("approve", held)
		w.ends("approval", goal)
	})
	t.Run("a silent agent", func(*testing.T) {
		in.signal("agent-quiet", syscall.SIGSTOP)
		goal := in.post("silent")
		w.named(goal, "bid", "quiet", " (silent for ")
		in.signal("agent-quiet", syscall.SIGCONT)
		w.ends("silent", goal)
	})
	t.Run("decision and claim", func(*testing.T) {
		goal := in.post("decision")
		w.listed(goal, "bid", "slow", "")
		in.kill("keeper")
		in.kill("orchestrator")
		w.release("decision")
		w.named(goal, "decision", "orchestrator", " (is not running)")
		later := in.post("claim")
		w.named(later, "claim", "orchestrator", "(is not running)")
		in.up()
		w.ends("claim", goal, later)
	})
	in.settled()
	in.atRest()
}

// waiting reads names of waits from commands.
type waiting struct{ *instance }

// release lets go what holds up the goals that say so.
func (w waiting) release(what string) {
	w.gate("go-" + what)
}

// ends releases them, and waits for goals to end.
func (w waiting) ends(what string, goals ...string) {
	w.t.Helper()
	w.release(what)
	for _, goal := range goals {
		w.await(goal, enough)
	}
}

// named waits until a goal waits for something, and reads so from all the commands.
// It returns what waits: the claim, the artefact or the question.
func (w waiting) named(goal, what, agent, text string) (subject string) {
	w.t.Helper()
	subject = w.listed(goal, what, agent, text)
	programs, people := w.watch(goal, "-o", "jsonl", "--waits"), w.watch(goal)
	eventually(w.t, enough, "list -v to say "+text, func() bool { // on a busy machine it may say that it heard nothing in time
		out := w.must("list", "-v")
		return strings.Contains(out, text) && strings.Contains(out, " "+what+" ")
	})
	w.waited(goal, what, agent, text)
	programs(func(line string) bool {
		var entry struct {
			Kind  string      `json:"kind"`
			Waits []namedWait `json:"waits"`
		}
		return json.Unmarshal([]byte(line), &entry) == nil && entry.Kind == "waits" && among(entry.Waits, goal, what, agent, text)
	})
	people(func(line string) bool {
		return strings.Contains(line, " waits ") && strings.Contains(line, text)
	})
	return subject
}

// among says whether a wait is there.
func among(all []namedWait, goal, what, agent, text string) bool {
	return slices.ContainsFunc(all, func(n namedWait) bool {
		return n.Workflow == goal && n.What == what && n.Agent == agent && strings.Contains(n.Text, text)
	})
}

// listed waits until list -v has a wait, and returns what waits.
func (w waiting) listed(goal, what, agent, text string) (subject string) {
	w.t.Helper()
	out := ""
	eventually(w.t, enough, fmt.Sprintf("wait of %s for %s", goal, what), func() bool {
		out = w.print("list", "-v", "-o", "json")
		var all struct {
			Instances []struct {
				Name  string `json:"name"`
				Waits []struct {
					namedWait
					Subject string `json:"subject_id"`
				} `json:"waits"`
			} `json:"instances"`
		}
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			w.t.Fatalf("list -v: %v: %s", err, out)
		}
		for _, n := range all.Instances[0].Waits {
			if among([]namedWait{n.namedWait}, goal, what, agent, text) {
				subject = n.Subject
			}
		}
		return subject != ""
	})
	return subject
}

// print runs a command that has to succeed, and returns what it prints.
func (w waiting) print(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...).Output()
	if err != nil {
		w.t.Fatalf("sett %v: %v", args, err)
	}
	return string(out)
}

// waited reads a wait from `sett wait`: of what people have to end, at once, and else
// when its time is over.
func (w waiting) waited(goal, what, agent, text string) {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	var cmd *exec.Cmd
	limits := []string{"100ms", "1s", "10s"} // the longer ones for a machine too busy to answer
	if what == "answer" || what == "approval" {
		limits = []string{"20s"} // which is not waited for
	}
	for i, limit := range limits {
		stdout.Reset()
		stderr.Reset()
		cmd = w.command("wait", goal, "--timeout", limit, "-o", "json")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		if i == len(limits)-1 || !strings.Contains(stderr.String(), "does not answer") {
			break
		}
	}
	var v struct {
		Waits []namedWait `json:"waits"`
	}
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 5 && (what == "answer" || what == "approval"):
		if err := json.Unmarshal(stdout.Bytes(), &v); err != nil || !among(v.Waits, goal, what, agent, text) {
			w.t.Errorf("wait: %v: %s", err, &stdout)
		}
	case code != 4 || !strings.Contains(stderr.String(), text) || stdout.Len() > 0:
		w.t.Errorf("wait ended with %d: %s%s", code, &stderr, &stdout)
	}
}

// watch starts following a goal. What it returns reads lines until one is as
// expected, and ends it.
func (w waiting) watch(goal string, args ...string) func(found func(line string) bool) {
	w.t.Helper()
	cmd := w.command(append([]string{"watch", "--workflow", goal}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			lines <- in.Text()
		}
	}()
	return func(found func(string) bool) {
		w.t.Helper()
		var seen []string
		met := false
		eventually(w.t, enough, "a wait in watch", func() bool {
			select {
			case line, more := <-lines:
				seen = append(seen, line)
				met = more && found(line)
				return met || !more
			default:
				return false
			}
		})
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			w.t.Error(err)
		}
		for range lines { // to its end
		}
		if err := cmd.Wait(); err != nil || !met {
			w.t.Errorf("watch %v: %v:\n%s", args, err, strings.Join(seen, "\n"))
		}
	}
}

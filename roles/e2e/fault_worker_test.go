package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/runtime"
)

// pool is an agent with a worker per claim, two at once. Its tool says when it
// begins, and goes on when told to.
func pool(t testing.TB) (dir string, c clan) {
	t.Helper()
	dir, more := marks(t)
	return dir, solo(`
echo "last words of $SETT_TARGET_PAYLOAD" >&2
echo $$ >>"$MARKS/began-$SETT_TARGET_PAYLOAD"
until [ -e "$MARKS/go" ] || [ -e "$MARKS/go-$SETT_TARGET_PAYLOAD" ]; do sleep 0.02; done
say Terminal Done done`, more+"strategy: fresh_per_call\nreplicas: 2\n")
}

// workers returns the names of the workers that run.
func (in *instance) workers() []string {
	units, err := in.at.List(context.Background(), runtime.Labels{runtime.LabelComponent: runtime.ComponentWorker})
	if err != nil {
		in.t.Errorf("list workers: %v", err)
	}
	var names []string
	for _, u := range units {
		if u.Running {
			names = append(names, u.Name)
		}
	}
	return names
}

// begun returns the goals, by payload, whose tools began, with how often.
func begun(dir string) map[string]int {
	files, _ := filepath.Glob(filepath.Join(dir, "began-*"))
	out := map[string]int{}
	for _, f := range files {
		text, _ := os.ReadFile(f)
		out[strings.TrimPrefix(filepath.Base(f), "began-")] = strings.Count(string(text), "\n")
	}
	return out
}

// TestWorkerPool gives six claims to an agent with two replicas: never more than
// two workers run, and all claims end.
func TestWorkerPool(t *testing.T) {
	t.Parallel()
	dir, c := pool(t)
	in := start(t, options{clan: c})
	var goals []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		goals = append(goals, in.post(name))
	}
	eventually(t, enough, "two tools", func() bool { return len(begun(dir)) == 2 })
	for n := range goals {
		eventually(t, enough, "as many tools as there can be", func() bool {
			if w := in.workers(); len(w) > 2 {
				t.Errorf("%d workers at once: %v", len(w), w)
			}
			return len(begun(dir)) == min(n+2, len(goals))
		})
		for name := range begun(dir) { // one more may end
			if path := filepath.Join(dir, "go-"+name); !exists(path) {
				file(t, path, "\n", 0o600)
				break
			}
		}
	}
	for _, goal := range goals {
		in.await(goal, enough)
		if g := in.grant(goal, "solo"); g.Attempt != 1 || in.status(goal) != blackboard.WorkflowAchieved {
			t.Errorf("%s: %s %+v", goal, in.status(goal), g)
		}
	}
	for name, n := range begun(dir) {
		if n != 1 {
			t.Errorf("tool of %s began %d times", name, n)
		}
	}
	eventually(t, enough, "end of the workers", func() bool { return len(in.workers()) == 0 })
	in.atRest()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestWorkerKilled makes a Failure with the worker's last output, and the slot is
// free again.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	dir, c := pool(t)
	in := start(t, options{clan: c})
	goal := in.post("a")
	tool := strings.Fields(marked(t, filepath.Join(dir, "began-a")))[0]
	workers := in.workers()
	if len(workers) != 1 {
		t.Fatalf("workers: %v", workers)
	}
	eventually(t, enough, "the tool's word in the log", func() bool {
		log, err := os.ReadFile(filepath.Join(in.stateDir(), "logs", workers[0]+".log"))
		return err == nil && strings.Contains(string(log), "last words of a")
	})
	in.kill(workers[0])
	in.await(goal, enough)
	a, report := in.failure(goal)
	if a.Type != blackboard.TypeAgentCrashed || !strings.Contains(report.Stderr, "last words of a") {
		t.Errorf("failure: %s %+v", a.Type, report)
	}
	eventually(t, enough, "end of the tool", func() bool { return gone(tool) })
	file(t, filepath.Join(dir, "go"), "\n", 0o600)
	for _, name := range []string{"b", "c", "d"} {
		goal := in.post(name)
		in.await(goal, enough)
		if in.status(goal) != blackboard.WorkflowAchieved {
			t.Errorf("goal %s: %s", name, in.status(goal))
		}
	}
	in.atRest()
}

// TestWorkersAdopted kills the orchestrator while workers run: the next one takes
// them over and starts none twice.
func TestWorkersAdopted(t *testing.T) {
	t.Parallel()
	dir, c := pool(t)
	in := start(t, options{clan: c})
	var goals []string
	for _, name := range []string{"a", "b", "c", "d"} {
		goals = append(goals, in.post(name))
	}
	eventually(t, enough, "two tools", func() bool { return len(begun(dir)) == 2 })
	before := in.workers()
	in.bounce("orchestrator")
	in.bounce("orchestrator")
	in.settled()
	if after := in.workers(); strings.Join(before, " ") != strings.Join(after, " ") {
		t.Errorf("workers were %v, are %v", before, after)
	}
	file(t, filepath.Join(dir, "go"), "\n", 0o600)
	for _, goal := range goals {
		in.await(goal, enough)
		if g := in.grant(goal, "solo"); g.Attempt != 1 || in.status(goal) != blackboard.WorkflowAchieved {
			t.Errorf("%s: %s %+v", goal, in.status(goal), g)
		}
	}
	for name, n := range begun(dir) {
		if n != 1 {
			t.Errorf("tool of %s began %d times", name, n)
		}
	}
	in.atRest()
}

// TestWorkerEndsWhileNobodyLeads lets a worker die while the orchestrator is down,
// or finish: the one is a Failure, the other a result.
func TestWorkerEndsWhileNobodyLeads(t *testing.T) {
	t.Parallel()
	dir, c := pool(t)
	in := start(t, options{clan: c})
	dies, ends := in.post("dies"), in.post("ends")
	eventually(t, enough, "two tools", func() bool { return len(begun(dir)) == 2 })
	in.kill("keeper")
	in.kill("orchestrator")
	for _, w := range in.workers() {
		if strings.Contains(w, blackboard.BiddingClaimID(dies)) {
			in.kill(w)
		}
	}
	file(t, filepath.Join(dir, "go"), "\n", 0o600)
	eventually(t, enough, "end of the workers", func() bool { return len(in.workers()) == 0 })
	in.up()
	in.await(dies, enough)
	in.await(ends, enough)
	if a, _ := in.failure(dies); a.Type != blackboard.TypeAgentCrashed {
		t.Errorf("failure: %s", a.Type)
	}
	if in.status(ends) != blackboard.WorkflowAchieved {
		t.Errorf("the other goal is %s", in.status(ends))
	}
	in.atRest()
}

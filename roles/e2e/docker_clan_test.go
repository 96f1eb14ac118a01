package e2e

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/runtime"
)

// inContainers are the options of an instance whose units are containers.
func inContainers(c clan) options { return options{clan: c, docker: true} }

// TestDockerClanAsProcesses runs the whole reviewed clan in containers, with texts
// and with commits, by agents and by workers: it ends as with processes.
func TestDockerClanAsProcesses(t *testing.T) {
	t.Parallel()
	needEngine(t)
	const fresh = "strategy: fresh_per_call\n"
	for name, c := range map[string]struct{ here, there clan }{
		"text":               {reviewed(drafter, "retries: 1\n"), reviewed(drafter, "retries: 1\n")},
		"commits":            {reviewed(committer, ""), reviewed(committer, "")},
		"workers":            {reviewed(drafter, fresh), reviewed(drafter, fresh+"replicas: 2\nwarm: 1\n")},
		"commits of workers": {reviewed(committer, fresh), reviewed(committer, fresh)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := make(chan string, 1)
			var others sync.WaitGroup
			others.Go(func() { want <- outcomeOf(t, options{clan: c.here}) })
			in := start(t, inContainers(c.there))
			goal := in.post("x")
			in.await(goal, enough)
			got := in.outcome(goal)
			in.settled()
			in.atRest()
			others.Wait()
			if want := <-want; got != want {
				t.Errorf("in containers it ended otherwise:\n%s", diff(want, got))
			}
		})
	}
}

// outcomeOf is how a goal ends on an instance of its own.
func outcomeOf(t *testing.T, o options) string {
	in := start(t, o)
	goal := in.post("x")
	in.await(goal, enough)
	return in.outcome(goal)
}

// TestDockerWorkerPool gives six claims to two replicas, one of them kept warm:
// never more than two work, they begin in the order they were posted in, each
// once, and none is left.
func TestDockerWorkerPool(t *testing.T) {
	t.Parallel()
	in := start(t, inContainers(solo(waits+finished, "strategy: fresh_per_call\nreplicas: 2\nwarm: 1\n")))
	var goals []string
	names := strings.Split("abcdef", "")
	for _, name := range names {
		goal := in.post(name)
		goals = append(goals, goal)
		eventually(t, enough, "grant", func() bool {
			_, err := in.board.Records.Grant(context.Background(), blackboard.BiddingClaimID(goal), "solo")
			return err == nil
		})
	}
	for n, goal := range goals {
		in.began(goal, "solo")
		if n < 1 {
			continue
		}
		if working := in.working(goals); len(working) != 2 || working[1] != goal {
			t.Errorf("%v work, %s is one too many or out of order", working, goal)
		}
		in.allow(names[n-1])
	}
	in.allow("")
	for _, goal := range goals {
		in.await(goal, enough)
		if g := in.grant(goal, "solo"); g.Attempt != 1 || in.status(goal) != blackboard.WorkflowAchieved {
			t.Errorf("%s: %s %+v", goal, in.status(goal), g)
		}
		for grant, n := range in.starts(goal) {
			if n != 1 {
				t.Errorf("%s began %d times", grant, n)
			}
		}
	}
	if n := in.atOnce("solo"); n != 2 {
		t.Errorf("%d worked at once, want 2", n)
	}
	eventually(t, enough, "only a standby left", func() bool {
		left := in.workers()
		return len(left) == 1 && strings.HasPrefix(left[0], "standby-solo-")
	})
	in.atRest()
}

// working returns the goals whose tools work, in the given order.
func (in *instance) working(goals []string) (out []string) {
	for _, goal := range goals {
		g, err := in.board.Records.Grant(context.Background(), blackboard.BiddingClaimID(goal), "solo")
		if err == nil && g.State == blackboard.GrantRunning {
			out = append(out, goal)
		}
	}
	return out
}

// asks has a question first, and ends with the answer.
const asks = `
case $in in
*'"structural_type":"Answer"'*) say Standard Draft "as you say" ;;
*) say Question Ask "which one?" ;;
esac`

// TestDockerQuestions asks from a standing agent and from workers, cold and warm:
// the same agent goes on with the answer.
func TestDockerQuestions(t *testing.T) {
	t.Parallel()
	in := start(t, inContainers(clan{agents: []agent{
		{name: "one", bids: "GoalDefined: claim", tool: asks},
		{name: "two", bids: "GoalDefined: claim", tool: asks, more: "strategy: fresh_per_call\n"},
		{name: "three", bids: "GoalDefined: exclusive", tool: asks, more: "strategy: fresh_per_call\nwarm: 1\n"},
		{name: "last", bids: "Draft: exclusive", tool: finished},
	}}))
	goal := in.post("x")
	answered := map[string]bool{}
	eventually(t, enough, "three questions", func() bool {
		open, err := in.board.Index.OpenQuestions(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range open {
			answered[in.answer(id)] = true
		}
		return len(answered) == 3
	})
	in.await(goal, enough)
	if w, err := in.board.Records.Workflow(context.Background(), goal); err != nil || w.Status != blackboard.WorkflowAchieved || w.Terminals != 3 || w.Failures != 0 {
		t.Errorf("workflow: %+v %v", w, err)
	}
	in.atRest()
}

// answer answers a question, and returns who asked.
func (in *instance) answer(question string) (agent string) {
	in.t.Helper()
	ctx := context.Background()
	q, err := in.board.Records.Artefact(ctx, question)
	if err != nil {
		in.t.Fatal(err)
	}
	agent, err = in.board.People.PostAnswer(ctx, question, blackboard.Artefact{
		ID: blackboard.NewID(time.Now(), rand.Reader), StructuralType: blackboard.Answer, Type: "Answer", Payload: "this one",
		ProducedByRole: blackboard.RoleUser, ClaimID: q.ClaimID, WorkflowID: q.WorkflowID, SourceArtefacts: []string{question},
	}, "ann")
	if err != nil {
		in.t.Fatal(err)
	}
	return agent
}

// TestDockerNamesKeptApart runs instances whose units would have each other's
// names if those were just strung together.
func TestDockerNamesKeptApart(t *testing.T) {
	t.Parallel()
	needEngine(t)
	x := "e2e-" + strings.ToLower(rand.Text()[:6])
	named := func(name string) clan {
		return clan{agents: []agent{{name: name, bids: "GoalDefined: exclusive", tool: finished}}}
	}
	var all []*instance
	for _, i := range []struct{ instance, agent string }{{x, "y-agent-z"}, {x + "-agent-y", "z"}, {x + "-agent", "y-agent-z"}} {
		o := inContainers(named(i.agent))
		o.name = i.instance
		all = append(all, start(t, o))
	}
	for _, in := range all {
		goal := in.post("x")
		in.await(goal, enough)
		if in.status(goal) != blackboard.WorkflowAchieved {
			t.Errorf("%s: %s", in.name, in.status(goal))
		}
	}
	all[0].must("down", "--purge", "--yes")
	all[0].nothingOnEngine()
	for _, in := range all[1:] {
		in.await(in.post("y"), enough)
		for _, what := range in.onEngine() {
			if _, name, _ := strings.Cut(what, " "); !strings.HasPrefix(name, "sett-"+in.name) {
				t.Errorf("%s has %s", in.name, what)
			}
		}
		units, err := in.at.List(context.Background(), runtime.Labels{runtime.LabelComponent: runtime.ComponentAgent})
		if err != nil || len(units) != 1 {
			t.Errorf("agents of %s: %+v %v", in.name, units, err)
		}
	}
}

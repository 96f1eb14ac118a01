package e2e

import (
	"context"
	"testing"

	"sett/blackboard"
)

// versatile does what the goal says: ask, draft, wait or fail. Drafts wait for
// approval, then for a reviewer, and are packed.
func versatile() clan {
	return clan{extra: "approve: [Draft]\n", agents: []agent{
		{name: "solo", bids: "GoalDefined: exclusive", tool: `
case $SETT_TARGET_PAYLOAD in
ask) case $in in *'"structural_type":"Answer"'*) say Terminal Done "as you say" ;; *) say Question Ask "which one?" ;; esac ;;
wait) until [ -e "$gates/leave-wait" ]; do sleep 0.02; done; say Terminal Done waited ;;
fail) if [ -e "$gates/leave-fail" ]; then say Terminal Done done; else say Failure Failure "not yet"; fi ;;
*) say Standard Draft "a draft" ;;
esac`},
		{name: "r", bids: "Draft: review", tool: `until [ -e "$gates/leave-r" ]; do sleep 0.02; done; say Review Review "{}"`},
		{name: "pack", bids: "Draft: exclusive", tool: `say Terminal Package packed`},
	}}
}

// done runs a command that is killed at its write, and again. Killed before, it
// has done nothing, and does it then; killed after, it is told that it is done.
func (g *ground) done(when moment, args ...string) {
	g.t.Helper()
	g.killedAt("sett-cli", 1, when, args...)
	want := map[moment]int{before: 0, after: 1}[when]
	if code, out := g.sett(args...); code != want {
		g.t.Fatalf("sett %v killed %s its write and run again ended with %d, want %d:\n%s", args, when, code, want, out)
	}
}

// TestCrashOfPeoplesCommands kills each command by which a person steps in, before
// and after its write: what was said counts once, or not at all.
func TestCrashOfPeoplesCommands(t *testing.T) {
	t.Parallel()
	for _, when := range []moment{before, after} {
		t.Run(string(when), func(t *testing.T) {
			t.Parallel()
			server := startRedis(t) // one that has learned its scripts through this proxy alone
			p := newProxy(t, server.Addr())
			g := &ground{proxy: p, instance: start(t, options{clan: versatile(), url: p.url(), boardURL: server.URL})}
			for payload, step := range map[string]func(goal string){
				"ask": func(string) { g.done(when, "answer", g.waiting(g.board.Index.OpenQuestions), "this one") },
				"draft": func(string) {
					g.done(when, "reject", g.waiting(g.board.Index.OpenGates), "too short")
					second := g.waiting(g.board.Index.OpenGates)
					g.done(when, "approve", second)
					claim := blackboard.BiddingClaimID(second)
					g.grantIs(claim, "r", blackboard.GrantRunning)
					g.done(when, "review", second, "--approve")
					g.allow("r")
				},
				"wait": func(goal string) {
					claim := blackboard.BiddingClaimID(goal)
					g.grantIs(claim, "solo", blackboard.GrantRunning)
					g.done(when, "cancel", claim, "wrong way")
					g.allow("wait")
					g.must("retry", claim)
				},
				"fail": func(goal string) {
					failure := g.failureOf(goal)
					g.await(goal, enough)
					g.allow("fail")
					g.done(when, "retry", failure)
				},
			} {
				goal := g.post(payload)
				step(goal)
				g.seeUntil(goal, payload+" is achieved", func(w blackboard.Workflow) bool { return w.Status == blackboard.WorkflowAchieved })
			}
			goal := g.post("wait") // there is leave by now, so that it may be over first
			g.must("wait", goal, "--timeout", enough.String())
			g.settled()
			g.atRest()
		})
	}
}

// waiting returns the one thing that waits for a person, when there is one.
func (in *instance) waiting(list func(context.Context) ([]string, error)) (id string) {
	in.t.Helper()
	eventually(in.t, enough, "something for a person", func() bool {
		ids, err := list(context.Background())
		if err == nil && len(ids) == 1 {
			id = ids[0]
		}
		return id != ""
	})
	return id
}

// grantIs waits until a grant is in a state.
func (in *instance) grantIs(claim, agent string, want blackboard.GrantState) {
	in.t.Helper()
	eventually(in.t, enough, "grant of "+agent+" to be "+string(want), func() bool {
		g, err := in.board.Records.Grant(context.Background(), claim, agent)
		return err == nil && g.State == want
	})
}

// TestCancelledGoal stops the tools of a goal at work, the one that asks and the one
// that is held, and the tree is free for the next goal.
func TestCancelledGoal(t *testing.T) {
	t.Parallel()
	for name, docker := range map[string]bool{"processes": false, "containers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if docker {
				needEngine(t)
			}
			c := versatile()
			c.agents[0].more = "workspace: {mode: rw}\n"
			in := start(t, options{clan: c, docker: docker})
			for _, payload := range []string{"wait", "ask", "draft"} {
				goal := in.post(payload)
				switch payload {
				case "wait":
					in.grantIs(blackboard.BiddingClaimID(goal), "solo", blackboard.GrantRunning)
				case "ask":
					in.waiting(in.board.Index.OpenQuestions)
				default:
					in.waiting(in.board.Index.OpenGates)
				}
				in.must("cancel", goal, "not", "any", "more")
				w, err := in.board.Records.Workflow(context.Background(), goal)
				if err != nil || w.Status != blackboard.WorkflowFailed || w.Outstanding+w.Questions+w.Gates != 0 {
					t.Errorf("%s: %+v %v", payload, w, err)
				}
				if code, out := in.sett("wait", goal); code != 1 {
					t.Errorf("%s: wait ended with %d:\n%s", payload, code, out)
				}
				if code, out := in.sett("retry", w.FailureID); code == 0 {
					t.Errorf("%s: a cancelled goal was retried:\n%s", payload, out)
				}
			}
			eventually(t, enough, "nothing to run", func() bool {
				all, err := in.board.Roster.Running(context.Background())
				return err == nil && len(all) == 0
			})
			in.allow("wait")
			in.await(in.post("wait"), enough)
			in.settled()
			in.atRest()
		})
	}
}

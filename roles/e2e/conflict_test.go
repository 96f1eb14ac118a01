package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

// reworks is the beginning of a tool that sets its line in the file that it shares with
// others: sent back because of a conflict, it merges the other side and keeps the lines of both.
const reworks = `
other=$(printf '%s' "$in" | sed -n 's/.*"unmerged":\[{[^]]*"commit":"\([0-9a-f]*\)".*/\1/p')
if [ -n "$other" ]; then
	git merge -q "$other" >/dev/null 2>&1 || true
	{ git show "HEAD:both"; git show "$other:both"; } >both
	git add -A; git commit -q -m "piece of $me"
	say Standard Piece "$me" | sed 's/}$/,"commit":"'"$(git rev-parse HEAD)"'"}/'
	exit
fi`

// disputed is a clan of writers of one line each, all in the same file, and of a joiner that
// ends the goal with the commit that it finds.
func disputed(more ...agent) clan {
	c := clan{agents: more}
	for _, name := range []string{"w1", "w2", "w3"} {
		c.agents = append(c.agents, agent{name: name, bids: "GoalDefined: claim", more: "workspace: {mode: rw}\nretries: 1\n", tool: reworks + `
echo "$me" >both; git add -A; git commit -q -m "piece of $me"
say Standard Piece "$me" | sed 's/}$/,"commit":"'"$(git rev-parse HEAD)"'"}/'`})
	}
	c.agents = append(c.agents, agent{name: "joiner", bids: "GoalDefined: exclusive", more: "workspace: {mode: rw}\nretries: 1\n", tool: `
echo joined >joined; git add -A; git commit -q -m join
say Terminal CodeCommit "$(git rev-parse HEAD)"`})
	return c
}

// merger settles conflicts with the lines of both sides.
func merger(first string) agent {
	return agent{name: "merger", bids: "Conflict: exclusive", more: "workspace: {mode: rw}\nretries: 1\n", tool: first + `
grep -q '^<<<<<<< ' both
grep -v -e '^<<<<<<< ' -e '^=======$' -e '^>>>>>>> ' both >kept; mv kept both
say Standard Merged "$me" | sed 's/}$/,"commit":"changes"}/'`}
}

// fresh is the clan with a new worker for each grant of those that join and merge.
func fresh(c clan) clan {
	for i, a := range c.agents {
		if a.name == "joiner" || a.name == "merger" {
			c.agents[i].more += "strategy: fresh_per_call\nreplicas: 2\n"
		}
	}
	return c
}

// conflicts returns the Conflicts of a goal.
func (in *instance) conflicts(goal string) (all []blackboard.Artefact) {
	in.t.Helper()
	made, err := in.artefacts(goal)
	if err != nil {
		in.t.Fatal(err)
	}
	return slices.DeleteFunc(made, func(a blackboard.Artefact) bool { return !a.IsConflict() })
}

// hasBoth checks that the last goal's result has the lines of all these writers, and no mark.
func (in *instance) hasBoth(writers ...string) {
	in.t.Helper()
	goals := in.goals()
	w, err := in.board.Records.Workflow(context.Background(), goals[len(goals)-1])
	if err != nil || w.Status != blackboard.WorkflowAchieved {
		in.t.Fatalf("the goal: %+v %v", w, err)
	}
	lines := strings.Fields(in.stored("show", "refs/sett/artefacts/"+w.TerminalID+":both"))
	slices.Sort(lines)
	if !slices.Equal(lines, writers) {
		in.t.Errorf("the result has the lines %v, want those of %v", lines, writers)
	}
}

// TestConflict: three writers of one goal contradict each other. Nothing of any is lost: an agent
// that wants Conflicts settles them one after another, else the later one reworks.
func TestConflict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]clan{"merger": disputed(merger("")), "reworked": disputed(), "without courses": disputed(merger("")).without(), "workers": fresh(disputed(merger("")))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := start(t, options{clan: c})
			goal := in.post("write")
			in.await(goal, enough)
			in.hasBoth("w1", "w2", "w3")
			if got := in.conflicts(goal); len(got) != 2 {
				t.Errorf("%d conflicts, want 2", len(got))
			}
			for _, text := range []string{"waits until Conflict", "goes on, artefact"} {
				if out := in.must("watch", "--since", "all", "--exit-when-done"); !strings.Contains(out, text) {
					t.Errorf("sett watch does not say %q:\n%s", text, out)
				}
			}
			in.settled()
			in.atRest()
		})
	}
}

// TestConflictAsks: the agent that settles a conflict asks a person, and the goal waits for
// that alone.
func TestConflictAsks(t *testing.T) {
	t.Parallel()
	c := disputed(merger(`
case $in in *'"structural_type":"Answer"'*) ;; *) say Question Ask "which?"; exit ;; esac`))
	c.peopled = true
	in := start(t, options{clan: c})
	if code, out := in.sett("forage", "--goal", "write", "--wait"); code != 5 {
		t.Fatalf("sett forage --wait ended with %d:\n%s", code, out)
	}
	out := in.must("list", "-v")
	if !strings.Contains(out, "joiner waits until Conflict") || !strings.Contains(out, "merger needs an answer") {
		t.Errorf("sett list -v does not name the waits:\n%s", out)
	}
	goal := in.goals()[0]
	w, err := in.board.Records.Workflow(context.Background(), goal)
	if err != nil || !w.OnlyPeople() || w.Blocked != 1 {
		t.Errorf("the goal: %+v %v", w, err)
	}
	if code, out := in.sett("wait", goal); code != 5 {
		t.Errorf("sett wait ended with %d:\n%s", code, out)
	}
	in.seeThrough(goal)
	in.hasBoth("w1", "w2", "w3")
	in.settled()
}

// TestConflictDeaths: whoever takes part in a conflict dies before or after its move. The lines of
// all are in the result, and nothing is done twice.
func TestConflictDeaths(t *testing.T) {
	t.Parallel()
	type death struct{ client, script, unit string }
	begun := []death{{"cub-joiner", "clash", "agent-joiner"}, {"orchestrator", "unclash", "orchestrator"}, {"cub-joiner", "start", "repository"}}
	for name, c := range map[string]struct {
		clan   clan
		made   string // once for each conflict
		deaths []death
	}{
		"merger":   {disputed(merger("")), "Merged", append(begun, death{"cub-merger", "finish", "agent-merger"})},
		"reworked": {disputed(), blackboard.TypeConflictReview, append(begun[:2:2], death{"orchestrator", "conflict_rework", "orchestrator"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			p := newProxy(t, server.Addr())
			in := start(t, options{clan: c.clan, url: p.url(), boardURL: server.URL})
			for i, d := range c.deaths {
				for _, when := range moments(i, 1) {
					in.settled()
					p.arm(&trap{client: d.client, script: d.script, n: 1 + i%2, when: when, kill: func() { in.shoot(d.unit) }})
					goal := in.post("x")
					in.await(goal, enough)
					if !p.disarm() {
						t.Errorf("%s has not made its write %s", d.client, d.script)
					}
					in.hasBoth("w1", "w2", "w3")
					made, err := in.artefacts(goal)
					if err != nil {
						t.Fatal(err)
					}
					count := map[string]int{}
					for _, a := range made {
						if count[a.Type]++; a.StructuralType == blackboard.Failure {
							t.Errorf("%s died %s its %s: %s", d.unit, when, d.script, a.Summary)
						}
					}
					if count[blackboard.TypeConflict] != 2 || count[c.made] != 2 {
						t.Errorf("%s died %s its %s: made %v", d.unit, when, d.script, count)
					}
				}
			}
		})
	}
}

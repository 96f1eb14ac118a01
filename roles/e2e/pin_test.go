package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
)

// TestPinned has a writer replace the reviewer's program, and the files that it reads, and
// commit that, and a person land it: the reviewer goes on with its own until sett up takes
// the new ones, and says so.
func TestPinned(t *testing.T) {
	t.Parallel()
	in := prepare(t, options{clan: replacing("")})
	in.replaceReviewer("old, lib old, helper old")
}

// TestDockerPinned does the same with containers, where the reviewer can change nothing
// of it, and with workers.
func TestDockerPinned(t *testing.T) {
	t.Parallel()
	needEngine(t)
	in := prepare(t, inContainers(replacing("strategy: fresh_per_call\n")))
	in.replaceReviewer("old, lib old, helper old, read-only")
}

// replacing is a clan with a writer that replaces the programs of the reviewer.
func replacing(reviewer string) clan {
	return clan{agents: []agent{
		{name: "writer", bids: "GoalDefined: exclusive", more: "workspace: {mode: rw}\n", tool: `
mkdir -p tools/helpers
cat new-review >tools/r1
echo "LIB=new" >tools/lib.sh
echo "HELPER=new" >tools/helpers/h.sh
git add -A
git -c user.name=W -c user.email=w@example.org commit -q --allow-empty -m "replace the reviewer"
say Standard CodeCommit "$(git rev-parse HEAD)"`},
		{name: "r1", bids: "CodeCommit: review", more: reviewer, tool: reviewing("old")},
		{name: "pack", bids: "CodeCommit: exclusive", more: reviewer, tool: finished},
	}}
}

// reviewing is the reviewer's program. Its summary says which files it is made of.
func reviewing(version string) string {
	return `
. "$SETT_PIN/tools/lib.sh"
. "$(dirname "$0")/helpers/h.sh"
writable=
for change in 'echo >"$SETT_PIN/tools/lib.sh"' 'chmod u+w "$SETT_PIN/tools"' 'echo >"$SETT_PIN/tools/new"' 'rm -f "$0"'; do
    if [ "$SETT_PIN" != /.sett-pin ] || (eval "$change") 2>/dev/null; then writable="$writable, can: $change"; fi
done
[ "$SETT_PIN" != /.sett-pin ] && writable= || : "${writable:=, read-only}"
[ -e draft-of-nobody ] || [ "$(pwd)" = "$SETT_WORKSPACE" ] || exit 9
printf '{"structural_type":"Review","payload":{},"summary":"` + version + `, lib %s, helper %s%s"}' "$LIB" "$HELPER" "$writable"`
}

// replaceReviewer runs the clan through the whole story. first is the review's summary
// before sett up has taken the writer's files.
func (in *instance) replaceReviewer(first string) {
	in.t.Helper()
	file(in.t, filepath.Join(in.repo, "tools/lib.sh"), "LIB=old\n", 0o644)
	file(in.t, filepath.Join(in.repo, "tools/helpers/h.sh"), "HELPER=old\n", 0o644)
	file(in.t, filepath.Join(in.repo, "new-review"), in.prelude()+reviewing("new")+"\n", 0o644)
	in.git("add", ".")
	in.git("commit", "-qm", "more files")
	in.up()
	in.settled()
	review := func(text string) (summary string, ran blackboard.Ran) {
		goal := in.post(text)
		in.await(goal, enough)
		if s := in.status(goal); s != blackboard.WorkflowAchieved {
			_, shown := in.sett("show", goal)
			in.t.Fatalf("goal %s: %s\n%s", text, s, shown)
		}
		for _, e := range in.ledger() {
			if e.Workflow != goal || e.Agent != "r1" {
				continue
			}
			switch e.Kind {
			case blackboard.EventStart:
				ran = e.Ran()
			case blackboard.EventResult:
				a, err := in.board.Records.Artefact(context.Background(), e.Artefact)
				if err != nil {
					in.t.Fatal(err)
				}
				summary = a.Summary
			}
		}
		return summary, ran
	}
	said, before := review("in which the writer replaces the reviewer")
	for _, unit := range []string{"agent-r1", "orchestrator"} { // neither is a restart by Sett an up
		in.kill(unit)
	}
	in.settled()
	again, also := review("with the writer's program in the tree")
	in.must("land", "@last")
	if said != first || again != first {
		in.t.Errorf("reviews of %q and %q, want %q", said, again, first)
	}
	if len(before.Pin) != 64 || before != also {
		in.t.Errorf("ran with %+v, then %+v", before, also)
	}
	in.must("land")
	if out := in.must("forage", "--goal", "and once more", "--wait"); !strings.Contains(out, "as they were at the last sett up (since then: tools/helpers/h.sh changed, tools/lib.sh changed, tools/r1 changed); sett up") {
		in.t.Errorf("forage says\n%s", out)
	}
	dry := in.must("up", "--runtime", in.o.runtime(), "--dry-run")
	out := in.must("up", "--runtime", in.o.runtime())
	for _, want := range []string{"pinned files: tools/helpers/h.sh changed, tools/lib.sh changed, tools/r1 changed\n", "r1: is restarted with the pinned files\n"} {
		if !strings.Contains(out, want) || !strings.Contains(dry, want) {
			in.t.Errorf("no %q in\n%s\n%s", want, dry, out)
		}
	}
	in.settled()
	said, after := review("after sett up")
	if want := strings.ReplaceAll(first, "old", "new"); said != want {
		in.t.Errorf("after sett up a review of %q, want %q", said, want)
	}
	if after.Pin == before.Pin || len(after.Pin) != 64 {
		in.t.Errorf("pinned %q, then %q", before.Pin, after.Pin)
	}
	if out := in.must("up", "--runtime", in.o.runtime()); strings.Contains(out, "pinned") {
		in.t.Errorf("an up without changes says\n%s", out)
	}
	if why := in.must("why", "@last"); !strings.Contains(why, "pin "+after.Pin[:12]) {
		in.t.Errorf("why says\n%s", why)
	}
}

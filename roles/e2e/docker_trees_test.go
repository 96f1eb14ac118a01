package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role/persontest"
)

// TestDockerToolWithoutGit: an agent whose image has its tool and nothing else works in a
// tree, and what it changed before it failed is kept.
func TestDockerToolWithoutGit(t *testing.T) {
	t.Parallel()
	needEngine(t)
	in := prepare(t, inContainers(clan{agents: []agent{{name: "bare", bids: "GoalDefined: exclusive", image: bareImage(t), more: "workspace: {mode: rw}\n"}}}))
	file(t, filepath.Join(in.repo, "sett.yml"), strings.Replace(string(readFile(t, filepath.Join(in.repo, "sett.yml"))), "./tools/bare", "/bare", 1), 0o644)
	in.git("commit", "-qam", "a tool of the image")
	in.up()
	failed := in.forage("fail")
	in.await(failed, enough)
	if status := in.status(failed); status != blackboard.WorkflowFailed {
		t.Errorf("the goal is %s", status)
	}
	refs := strings.Fields(in.stored("for-each-ref", "--format=%(refname)", "refs/sett/leftovers/"))
	if len(refs) != 1 {
		t.Fatalf("leftovers: %v", refs)
	}
	if kept := in.stored("show", refs[0]+":made"); kept != "fail\n" {
		t.Errorf("kept %q", kept)
	}
	goal := in.forage("look")
	in.await(goal, enough)
	w, err := in.board.Records.Workflow(context.Background(), goal)
	if err != nil {
		t.Fatal(err)
	}
	a, err := in.board.Records.Artefact(context.Background(), w.TerminalID)
	if err != nil || a.Payload != `[".git","sett.yml","tools"]` {
		t.Errorf("the tool found %s, %v", a.Payload, err)
	}
	in.settled()
}

// bareImage makes an image of the tool testdata/bare alone.
func bareImage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "bare"), "./testdata/bare")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tool: %v\n%s", err, out)
	}
	file(t, filepath.Join(dir, "Dockerfile"), "FROM scratch\nCOPY bare /bare\n", 0o644)
	image := "sett-e2e-bare:" + strings.ToLower(rand.Text()[:8])
	if out, err := dockerSays("build", "--quiet", "--force-rm", "--tag", image, dir); err != nil {
		t.Fatal(out, err)
	}
	t.Cleanup(func() {
		if _, err := dockerSays("image", "rm", image); err != nil {
			t.Error(err)
		}
	})
	return image
}

// meddler does in its tree all that would hurt a person whose tree it was.
var meddler = agent{name: "meddler", bids: "GoalDefined: exclusive", more: "workspace: {mode: rw}\n", tool: `
echo changed >>sett.yml; echo more >more.txt
git add more.txt; git stash -q; git stash apply -q
printf '#!/bin/sh\ntouch ran\n' >.git/hooks/post-checkout; chmod 755 .git/hooks/post-checkout
git config core.hooksPath .git/hooks; git config user.name Meddler; git config filter.x.clean 'touch ran'
git checkout -q -B main; git commit -qam "meddle"; git branch other; git tag meddled; git update-ref -d refs/heads/other
echo '*' >.gitignore
case $SETT_TARGET_PAYLOAD in
fail) exit 3 ;;
hang) echo began >&2; until [ -e "$gates/leave" ]; do sleep 0.05; done ;;
esac
say Standard CodeCommit "$(git rev-parse HEAD)"`}

// closer ends a goal on the commit of another agent.
var closer = agent{name: "closer", bids: "CodeCommit: exclusive", tool: `git checkout -q HEAD 2>/dev/null || :; say Terminal Done "$(git log --format=%s -1)"`}

// TestPersonIsLeftAlone: whatever becomes of a tool, the person's repository is byte for
// byte what the person made it, also while the person works in it.
func TestPersonIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, docker := range map[string]bool{"processes": false, "containers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options{clan: clan{agents: []agent{meddler, closer}}}
			if docker {
				needEngine(t)
				o = inContainers(o.clan)
			}
			leavesAlone(t, o)
		})
	}
}

func leavesAlone(t *testing.T, o options) {
	in := prepare(t, o)
	in.git("config", "user.email", "person@example.org")
	in.git("branch", "topic")
	in.edit("sett.yml", "# stashed\n")
	in.git("stash")
	in.up()
	in.leftAlone("sett up")
	for goal, want := range map[string]blackboard.WorkflowStatus{"work": blackboard.WorkflowAchieved, "fail": blackboard.WorkflowFailed} {
		id := in.forage(goal)
		in.await(id, enough)
		if status := in.status(id); status != want {
			t.Errorf("goal %s is %s", goal, status)
		}
		in.leftAlone("a goal that says " + goal)
	}
	hang := in.forage("hang")
	in.began(hang, "meddler")
	in.rewrite()
	in.must("cancel", hang, "not any more")
	in.await(hang, enough)
	in.leftAlone("a cancelled goal")
	hang = in.forage("hang")
	base := strings.TrimSpace(in.git("rev-parse", "HEAD"))
	in.began(hang, "meddler")
	in.must("down")
	in.leftAlone("sett down at work")
	in.rewrite()
	if out, err := in.asUser(exec.Command("git", "cat-file", "-e", base)).CombinedOutput(); err == nil {
		t.Errorf("the goal's base is still in the person's repository: %s", out)
	}
	in.up()
	in.allow("")
	in.await(hang, enough)
	if status := in.status(hang); status != blackboard.WorkflowAchieved {
		t.Errorf("a goal whose base the person has pruned is %s", status)
	}
	in.leftAlone("an interrupted goal that went on")
	if left := in.git("log", "--format=%s"); left != "the person's own, again\nmore\n" {
		t.Errorf("the person's history: %s", left)
	}
}

// edit adds to a file of the person's.
func (in *instance) edit(name, more string) {
	in.t.Helper()
	defer in.act("an edit of " + name)()
	path := filepath.Join(in.repo, name)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		in.t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, more...), 0o644); err != nil {
		in.t.Fatal(err)
	}
}

// rewrite is a busy day of the person: edits, a stash, commits, an amended one, a rebase,
// branches that come and go, and git removes all that is not reached any more. No commit of
// before is left.
func (in *instance) rewrite() {
	in.t.Helper()
	in.git("stash", "drop", "-q")
	in.git("switch", "-q", "main")
	in.edit("more.md", "more\n")
	in.git("add", "more.md")
	in.git("commit", "-q", "--amend", "-m", "more")
	in.git("switch", "-q", "-C", "topic", "main")
	in.edit("mine.txt", "mine\n")
	in.git("add", "mine.txt")
	in.git("commit", "-q", "-m", "the person's own")
	in.git("commit", "-q", "--amend", "-m", "the person's own, again")
	in.git("switch", "-q", "main")
	in.edit("more.md", "and more\n")
	in.git("commit", "-q", "-a", "--amend", "-m", "more")
	in.git("rebase", "-q", "--onto", "main", "topic~1", "topic")
	in.git("reflog", "expire", "--expire=now", "--all")
	in.git("gc", "-q", "--prune=now")
	in.edit("sett.yml", "# a stash\n")
	in.git("stash", "-q")
}

// forage posts a goal as a person does, and returns its id.
func (in *instance) forage(goal string) string {
	in.t.Helper()
	return strings.TrimSpace(in.must("--quiet", "forage", "--goal", goal))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// contentsOf describes every file of a directory.
func contentsOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	all, err := persontest.Contents(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

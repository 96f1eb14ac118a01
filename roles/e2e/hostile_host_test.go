package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/role/persontest"
)

// onHost are the commands as they are typed on a host where tools left hostile trees, each
// with its exit codes; none: any. Every command of sett is here, which the manual's list of pages shows. {fine},
// {failed} and {asking} are goals, {result} is a result, {question} a question; {dir} is a new directory.
var onHost = []struct {
	typed string
	codes []int
}{
	{"doctor", []int{0, 1, 7}}, {"list", []int{0}}, {"list -v", []int{0}}, {"goals", []int{0}}, {"hoard", []int{0}}, {"questions", []int{0}},
	{"config", []int{0}}, {"plan", nil}, {"schema", []int{0}}, {"version", []int{0}}, {"completion bash", []int{0}}, {"man", []int{0}},
	{"show {fine}", []int{0}}, {"show {failed}", []int{0}}, {"show {result}", []int{0}}, {"why {result}", []int{0}}, {"graph {fine}", []int{0}}, {"report {fine}", []int{0}},
	{"result {fine}", []int{0}}, {"unearth {result}", []int{0}}, {"unearth {result} --meta", []int{0}}, {"unearth {result} --diff", []int{0}},
	{"diff {fine}", []int{0}}, {"diff {fine} --stat", []int{0}}, {"leftovers", []int{0}}, {"leftovers list -o json", []int{0}},
	{"leftovers show {failed}/config-1", []int{0}}, {"leftovers show {failed}/names-1 --stat", []int{0}}, {"leftovers restore {failed}/pipes-1 {dir}", []int{0}},
	{"leftovers drop {failed}/names-1 --yes", []int{0}}, {"checkout {fine} {dir}", []int{0}}, {"checkout {fine} --branch look", []int{0}},
	{"land {fine} --dry-run", []int{0}}, {"land {fine}", []int{0}}, {"try config --goal try", []int{0, 1}}, {"try config --goal try --keep", []int{0, 1}},
	{"try links --artefact {result}", []int{0, 1}}, {"watch --since all --exit-when-done --workflow {fine}", []int{0}}, {"logs -n 20", []int{0}}, {"logs repository", []int{0}},
	{"wait {fine}", []int{0}}, {"wait {failed}", []int{1}}, {"answer {question} go", []int{0}}, {"approve {result}", nil}, {"reject {result} no", nil}, {"review {result} --approve", nil},
	{"cancel {asking} no", nil}, {"retry {failed} --wait=60s", nil}, {"ledger export", []int{0}}, {"ledger import missing.jsonl", nil},
	{"init {dir}", nil}, {"demo --help", []int{0}}, {"ui --help", []int{0}}, {"board --help", []int{0}}, {"board", []int{2}}, {"blame sett.yml", []int{0}}, {"restart repository", []int{0}}, {"forage --goal again --allow-dirty --wait=60s", []int{0}},
	{"models show", []int{0}}, {"models pause no", nil}, {"models resume", nil}, {"up --yes --dry-run", []int{0}}, {"up --yes", []int{0}}, {"down", []int{0}},
}

// escape matches bytes that a terminal would obey.
var escape = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f]|\u009b")

// hostiles are the agents of TestHostileTreesOnTheHost, each with its way to leave a tree.
func (h *hostileHost) hostiles() []string {
	return []string{"config", "links", "gitfile", "pipes", "nested", "names"}
}

// hostileHost is an instance whose trees are as hostile as the test can make them.
type hostileHost struct {
	*instance
	canaries string // a directory in which each program that must not run makes a file
	ids      map[string]string
	dirs     int
}

// TestHostileTreesOnTheHost: a tool has left everything in its tree by which git can be made to
// run a program, to follow a link or to wait for ever. No command of sett on the host does any
// of it, nor the role that empties the trees and keeps leftovers, and none prints a terminal's escape.
func TestHostileTreesOnTheHost(t *testing.T) {
	t.Parallel()
	h := &hostileHost{ids: map[string]string{}}
	c := clan{agents: []agent{{name: "closer", bids: "GoalDefined: exclusive", more: "workspace: {mode: rw}\n", tool: `
case $SETT_TARGET_PAYLOAD in
ask) case $in in *'"structural_type":"Answer"'*) say Terminal Done done ;; *) say Question Ask "which?" ;; esac ;;
*) say Terminal CodeCommit "$(git rev-parse HEAD)" ;;
esac`}}}
	for _, name := range h.hostiles() {
		c.agents = append(c.agents, agent{name: name, bids: "GoalDefined: claim", more: "workspace: {mode: rw}\n", tool: hostileTool})
	}
	h.instance = prepare(t, options{clan: c})
	h.canaries = filepath.Join(h.root, "canaries")
	file(t, filepath.Join(h.root, "plant.sh"), h.plantByShell(), 0o755)
	if err := os.Mkdir(h.canaries, 0o755); err != nil {
		t.Fatal(err)
	}
	h.personsOwn()
	h.up()
	h.ids["fine"], h.ids["failed"] = h.left("fine", blackboard.WorkflowAchieved), h.left("fail", blackboard.WorkflowFailed)
	h.result()
	h.refused()
	h.allow("again")
	h.ids["asking"] = h.forage("ask")
	h.ids["question"] = h.waiting(h.board.Index.OpenQuestions)
	if h.provoke(); t.Failed() {
		return
	}
	was := personal(h.instance)
	h.everyCommand()
	if is := personal(h.instance); !slices.Equal(is, was) {
		t.Errorf("the person's repository has %q, had %q", is, was)
	}
	h.landed()
	for _, c := range onHost { // nothing runs now
		if c.typed != "up --yes" && !strings.HasPrefix(c.typed, "land") {
			h.plant()
			h.run(c.typed)
		}
	}
}

// hostileTool commits the content that would harm a host, and ends when it is let go: by
// then its tree has become hostile. It has no more to do with git then.
const hostileTool = `
case $SETT_TARGET_PAYLOAD in
ask) say Standard Note "nothing"; exit ;;
try) . "$gates/../../../../../plant.sh"; say Standard CodeCommit "$hash"; exit ;;
bad-$me) # git itself would refuse these
	blob=$(echo x | git hash-object -w --stdin)
	case $me in
	config) printf '[submodule "x"]\n\tpath = sub\n\turl = ext::sh -c "touch ran"\n\tupdate = !touch ran\n' >.gitmodules; git add .gitmodules; tree=$(git write-tree) ;;
	links) tree=$(printf '100644 blob %s\tconfig\n' $blob | git mktree); tree=$(printf '040000 tree %s\t.git\n' $tree | git mktree) ;;
	names) tree=$(printf '100644 blob %s\t..\n' $blob | git mktree) ;;
	esac
	say Standard CodeCommit "$(git commit-tree -m bad -p HEAD $tree)"; exit ;;
bad-*) say Standard Note "nothing"; exit ;;
esac
echo '* filter=evil diff=evil merge=evil
*.mine filter=mine
*.here filter=here' >.gitattributes
printf '[submodule "x"]\n\tpath = sub\n\turl = ./sub\n' >.gitmodules
ln -sf /etc/passwd a-link; ln -sfn / a-root; echo mine >$me.mine; echo here >$me.here; echo "$me" >$me.txt
: >"$(printf 'evil\033[2J-%s\nname' "$me")"
git add -A; git -c user.name="$(printf 'E\033[31mvil')" commit -q --allow-empty -m "$(printf 'sub\033[2Jject\n\nbody\033]0;title\007')"
hash=$(git rev-parse HEAD)
touch "begun-$SETT_TARGET_PAYLOAD"
until [ -e "$gates/leave-$SETT_TARGET_PAYLOAD" ]; do sleep 0.02; done
[ $SETT_TARGET_PAYLOAD != fail ] || exit 3
say Standard CodeCommit "$hash"`

// personsOwn gives the person filters, one of all repositories and one of this one, and hooks.
func (h *hostileHost) personsOwn() {
	for name, where := range map[string]string{"mine": "--global", "here": "--local"} {
		h.git("config", where, "filter."+name+".smudge", "tr a-z A-Z")
		h.git("config", where, "filter."+name+".clean", "tr A-Z a-z")
	}
	for _, hook := range []string{"post-checkout", "post-merge", "pre-commit", "reference-transaction"} {
		path := filepath.Join(h.repo, ".git", "hooks", hook)
		file(h.t, path, "#!/bin/sh\ntouch '"+h.canaries+"'/the-persons-hook\n", 0o755)
	}
}

// personal are the files of the person's repository that no command may change.
func personal(in *instance) (all []string) {
	for path, is := range contentsOf(in.t, filepath.Join(in.repo, ".git")) {
		rel, _ := filepath.Rel(filepath.Join(in.repo, ".git"), path)
		if rel == "config" || rel == "packed-refs" || strings.HasPrefix(rel, "hooks") || strings.HasPrefix(rel, "info") {
			all = append(all, rel+" "+is)
		}
	}
	slices.Sort(all)
	return all
}

// left sees a goal through whose tools leave hostile trees.
func (h *hostileHost) left(payload string, want blackboard.WorkflowStatus) string {
	h.t.Helper()
	goal := h.forage(payload)
	for _, name := range h.hostiles() {
		eventually(h.t, enough, name+" to have committed", func() bool {
			_, err := os.Stat(filepath.Join(h.tree(name), "begun-"+payload))
			return err == nil
		})
	}
	h.plant(map[string]string{"fine": "links gitfile"}[payload]) // without their repository these have no result
	h.allow(payload)
	h.await(goal, enough)
	if status := h.status(goal); status != want {
		h.t.Fatalf("goal %s is %s, want %s", payload, status, want)
	}
	h.quiet("goal " + payload)
	return goal
}

// refused has tools hand in commits that git itself would refuse.
func (h *hostileHost) refused() {
	h.t.Helper()
	for _, name := range []string{"config", "links", "names"} {
		goal := h.forage("bad-" + name)
		h.await(goal, enough)
		h.quiet("goal bad-" + name)
		f, err := h.board.Records.Artefact(context.Background(), h.grant(goal, name).ResultID)
		if err != nil || f.Type != blackboard.TypeContractViolation || !strings.Contains(f.Payload, "git refuses the commit") {
			h.t.Errorf("the bad commit of %s: %s %s %v", name, f.Type, f.Payload, err)
		}
	}
}

// result finds a result of a hostile agent.
func (h *hostileHost) result() {
	all, err := h.artefacts(h.ids["fine"])
	if err != nil {
		h.t.Fatal(err)
	}
	for _, a := range all {
		if a.ProducedByAgent == "config" || a.ProducedByRole == "config" {
			h.ids["result"] = a.ID
		}
	}
}

func (h *hostileHost) tree(slot string) string {
	return filepath.Join(h.stateDir(), "trees", slot, "tree")
}

// provoke checks that the canaries are alive: git itself, asked in such a tree, wakes one.
func (h *hostileHost) provoke() {
	h.plant()
	cmd := exec.Command("git", "status")
	cmd.Dir = h.tree("config")
	_ = cmd.Run()
	entries, _ := os.ReadDir(h.canaries)
	if len(entries) == 0 {
		h.t.Error("git status in a hostile tree ran nothing: the test proves nothing")
	}
	for _, e := range entries {
		_ = os.Remove(filepath.Join(h.canaries, e.Name()))
	}
}

// everyCommand types all commands, with the trees made hostile again before each.
func (h *hostileHost) everyCommand() {
	pages := filepath.Join(h.root, "pages")
	h.must("man", pages)
	list, err := os.ReadDir(pages)
	if err != nil || len(list) < 30 {
		h.t.Fatalf("%d pages, %v", len(list), err)
	}
	for _, p := range list {
		name := strings.TrimPrefix(strings.TrimSuffix(p.Name(), ".1"), "sett-")
		words := strings.ReplaceAll(name, "-", " ")
		group := slices.ContainsFunc(list, func(o os.DirEntry) bool { return strings.HasPrefix(o.Name(), "sett-"+name+"-") })
		typed := false
		for _, c := range onHost {
			typed = typed || c.typed == words || strings.HasPrefix(c.typed, words+" ")
		}
		if !typed && !group && name != "sett" {
			h.t.Errorf("sett %s is not typed here: give it a line in onHost", words)
		}
	}
	for _, c := range onHost {
		h.plant()
		code := h.run(c.typed)
		if c.codes != nil && !slices.Contains(c.codes, code) {
			h.t.Errorf("sett %s ended with %d, want one of %v", c.typed, code, c.codes)
		}
	}
}

// run types a command, with names replaced. It must end, print no escape, and run nothing.
func (h *hostileHost) run(typed string) (code int) {
	h.t.Helper()
	var args []string
	for word := range strings.FieldsSeq(typed) {
		for name, id := range h.ids {
			word = strings.ReplaceAll(word, "{"+name+"}", id)
		}
		if strings.HasPrefix(typed, "leftovers") {
			word = h.claimIn(word)
		}
		if word == "{dir}" {
			h.dirs++
			word = filepath.Join(h.root, fmt.Sprintf("new-%d", h.dirs))
		}
		args = append(args, word)
	}
	if persontest.Writes(args) {
		defer h.act("sett " + args[0])()
	}
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = h.repo, append(h.environ(), "TMPDIR="+h.root)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	_ = cmd.Run()
	if ctx.Err() != nil {
		h.t.Errorf("sett %s does not end:\n%s", typed, out.String())
	}
	if at := escape.FindIndex(out.Bytes()); at != nil && !strings.HasPrefix(typed, "man") {
		h.t.Errorf("sett %s prints an escape: %q", typed, out.Bytes()[max(0, at[0]-40):min(out.Len(), at[1]+40)])
	}
	if typed == "land {fine}" && !strings.Contains(out.String(), `the filter "here" was not run`) {
		h.t.Errorf("sett land does not say that it left out a filter:\n%s", out.String())
	}
	if code = cmd.ProcessState.ExitCode(); testing.Verbose() {
		h.t.Logf("sett %s: %d\n%s", typed, code, out.String())
	}
	h.quiet("sett " + typed)
	return code
}

// claimIn replaces a goal's id in front of an agent by the claim's.
func (h *hostileHost) claimIn(word string) string {
	goal, agent, ok := strings.Cut(word, "/")
	if !ok || goal != h.ids["failed"] {
		return word
	}
	return blackboard.BiddingClaimID(goal) + "/" + agent
}

// quiet checks that nothing ran.
func (h *hostileHost) quiet(after string) {
	h.t.Helper()
	entries, err := os.ReadDir(h.canaries)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range entries {
		h.t.Errorf("%s ran %s, which a tool left", after, e.Name())
		_ = os.Remove(filepath.Join(h.canaries, e.Name()))
	}
}

// landed checks the person's own filters: a landed commit's attributes choose the one of the
// person's own configuration, as where git checks that commit out. Land leaves out the one of the repository's
// configuration, and says so. A filter of the tool is nowhere.
func (h *hostileHost) landed() {
	for name, want := range map[string]string{"config.mine": "MINE\n", "config.here": "here\n", "config.txt": "config\n"} {
		if got := string(readFile(h.t, filepath.Join(h.repo, name))); got != want {
			h.t.Errorf("landed %s with %q, want %q", name, got, want)
		}
	}
	if out := h.git("status", "--porcelain", "--untracked-files=no"); out != "" {
		h.t.Errorf("after landing: %s", out)
	}
}

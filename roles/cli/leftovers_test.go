package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/store"
)

// leftover keeps a commit as a tool's leftover in the user's repository, as an older Sett did.
func (s *stage) leftover(claim, run, commit string) {
	s.t.Helper()
	s.git("update-ref", "refs/sett/leftovers/"+claim+"/"+run, commit)
}

// withLeftovers is a stage with two leftovers: of a claim that the blackboard knows, with a commit of the
// tool's own and a change, and an old one of a claim that it does not.
func withLeftovers(t *testing.T) (s *stage, claim, commit string) {
	s = landStage(t)
	claim = s.open(s.Goal("paint it"), s.all("writer", blackboard.BidExclusive)...)
	commit = s.aside("half ß done", "1\n", "more", "2\n")
	commit = gitIn(t, s.root, "", "commit-tree", "-m", "new", "-p", commit+"~1", commit+"^{tree}") // of today
	s.Must(s.store().Fetch(t.Context(), s.objects(), commit, store.Leftover(claim, "writer", 1)))
	s.git("checkout", "-q", "--detach")
	s.write("old", "old\n")
	s.git("add", "-A")
	cmd := exec.Command("git", "-C", s.root, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "old")
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2025-01-02T03:04:05Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.leftover("01ARZ3NDEKTSV4RRFFQ69G5FAV", "painter-x-2", s.rev("HEAD"))
	s.git("checkout", "-q", "main")
	s.git("update-ref", "refs/sett/leftovers/strange", commit) // of another form
	return s, claim, commit
}

func TestLeftovers(t *testing.T) {
	s, claim, commit := withLeftovers(t)
	short := blackboard.ShortID(claim)
	stdout, stderr, err := s.run("leftovers")
	s.Must(err)
	rows := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(rows) != 3 || !strings.HasPrefix(rows[1], "69G5FAV") && !strings.Contains(rows[1], "/painter-x-2 ") || !strings.HasPrefix(rows[2], short+"/writer-1 ") {
		t.Fatalf("%s%s", stdout, stderr)
	}
	has(t, rows[1], " 1  ", " - ", "old")
	has(t, rows[2], " 2  ", "paint it", "half ß done, more")
	stdout, _, err = s.run("leftovers", "-o", "json")
	s.Must(err)
	var all struct{ Leftovers []leftover }
	s.Must(json.Unmarshal([]byte(stdout), &all))
	if l := all.Leftovers[1]; len(all.Leftovers) != 2 || l.ID != claim+"/writer-1" || l.Agent != "writer" || l.Attempt != 1 || l.Commit != commit || l.Base != s.rev("main") || len(l.Files) != 2 || l.Goal != "paint it" {
		t.Errorf("got %+v", all)
	}
	if l := all.Leftovers[0]; l.Agent != "painter-x" || l.Attempt != 2 || l.Workflow != "" || l.AgeSeconds < 300*24*3600 {
		t.Errorf("got %+v", l)
	}
	stdout, _, err = s.run("leftovers", "list", "--older", "30d", "-o", "jsonl")
	if s.Must(err); strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "painter-x") {
		t.Errorf("older ones: %s", stdout)
	}
	stdout, _, err = s.run("leftovers", "show", strings.ToLower(short))
	s.Must(err)
	has(t, stdout, "+1\n", "+2\n")
	stdout, _, err = s.run("leftovers", "show", short+"/writer-1", "--stat")
	s.Must(err)
	has(t, stdout, " 2 files changed")
	for _, id := range []string{"nothing", short + "/writer-2", "/writer-1"} {
		if _, _, err := s.run("leftovers", "show", id); role.CodeOf(err) != role.NotFound {
			t.Errorf("%s: %v", id, err)
		}
	}
	s.leftover(claim, "writer-2", commit)
	if _, _, err := s.run("leftovers", "show", short); role.CodeOf(err) != role.NotFound || !strings.Contains(err.Error(), short+"/writer-2") || !strings.Contains(err.Error(), short+"/writer-1") {
		t.Errorf("%v", err)
	}
	stdout, _, err = s.run("__complete", "--", "fish", "leftovers", "show", "")
	s.Must(err)
	has(t, stdout, short+"/writer-1\t", "/painter-x-2\t")
}

func TestLeftoversRestored(t *testing.T) {
	s, claim, commit := withLeftovers(t)
	stdout, stderr, err := s.run("leftovers", "restore", claim)
	s.Must(err)
	dir := strings.TrimSpace(stdout)
	if dir != s.root+"-"+blackboard.ShortID(claim) || gitIn(t, dir, "", "rev-parse", "HEAD") != commit {
		t.Errorf("in %s, it says %s", dir, stderr)
	}
	s.clean()
}

// TestLeftoversBesideHead: the commits of a tool's other branches are named, and are in the directory that is made.
func TestLeftoversBesideHead(t *testing.T) {
	s, claim, commit := withLeftovers(t)
	base := s.rev("main")
	holder := gitIn(t, s.root, "", "commit-tree", "-p", base, "-p", commit, "-m", "left\n\nAlso-kept: "+commit+" refs/heads/my/fix\nLeft-out: big (3 MB): too large", base+"^{tree}")
	s.Must(s.store().Fetch(t.Context(), s.objects(), holder, store.Leftover(claim, "writer", 2)))
	id := blackboard.ShortID(claim) + "/writer-2"
	stdout, _, err := s.run("leftovers")
	s.Must(err)
	has(t, stdout, id, "+my/fix")
	stdout, _, err = s.run("leftovers", "-o", "json")
	s.Must(err)
	has(t, stdout, `"name": "refs/heads/my/fix"`, `"left_out": [`)
	note := "also kept: refs/heads/my/fix, commit " + commit[:10] + "\nsett: note: not kept: big (3 MB): too large\n"
	stdout, stderr, err := s.run("leftovers", "show", id)
	if s.Must(err); stdout != "" {
		t.Errorf("the files are those of the base, and it shows %s", stdout)
	}
	has(t, stderr, note)
	stdout, stderr, err = s.run("leftovers", "restore", id)
	s.Must(err)
	has(t, stderr, note)
	dir := strings.TrimSpace(stdout)
	if gitIn(t, dir, "", "rev-parse", "HEAD") != base {
		t.Errorf("HEAD is at %s", gitIn(t, dir, "", "log", "-1"))
	}
	gitIn(t, dir, "", "gc", "-q", "--prune=now")
	gitIn(t, dir, "", "merge", "-q", commit)
	if _, err := os.Stat(filepath.Join(dir, "half ß done")); err != nil {
		t.Error(err)
	}
}

func TestLeftoversDropped(t *testing.T) {
	s, claim, commit := withLeftovers(t)
	refs := func() string {
		return gitIn(t, s.root, "", "for-each-ref", "refs/sett/leftovers") + gitIn(t, s.store().Dir, "", "for-each-ref", "refs/sett/leftovers")
	}
	before := refs()
	for _, args := range [][]string{{"leftovers", "drop"}, {"leftovers", "drop", claim}, {"leftovers", "drop", "--older", "30d"}, {"leftovers", "drop", claim, "nothing", "--yes"}} {
		if _, _, err := s.run(args...); err == nil || refs() != before {
			t.Errorf("%v: %v", args, err)
		}
	}
	stdout, stderr, err := s.run("leftovers", "drop", "--older", "30d", "--yes")
	s.Must(err)
	has(t, stderr, "forgot 1 leftover")
	if strings.Contains(refs(), "painter") || len(strings.TrimSpace(stdout)) != 40 {
		t.Errorf("%s: %s", stdout, refs())
	}
	if stdout, _, err = s.run("leftovers", "drop", claim, "--yes"); err != nil || stdout != commit+"\n" || strings.Contains(refs(), "writer") {
		t.Errorf("%v, %s: %s", err, stdout, refs())
	}
	_, stderr, err = s.run("leftovers")
	s.Must(err)
	has(t, stderr, "no leftovers")
}

// A checked-out result is a clone of its own: the repository can be packed, purged and removed.
func TestCheckout(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	commit := s.aside("a ß", "1\n")
	goal, terminal := s.achieved(base, commit)
	dir := s.root + "-" + blackboard.ShortID(terminal)
	stdout, stderr, err := s.run("checkout", goal)
	s.Must(err)
	has(t, stderr, "it has "+commit[:10]+"; to remove it: rm -rf "+dir+"\n")
	if stdout != dir+"\n" || gitIn(t, dir, "", "rev-parse", "HEAD") != commit || gitIn(t, dir, "", "status", "--porcelain") != "" {
		t.Errorf("in %s", stdout)
	}
	if _, err := exec.Command("git", "-C", dir, "symbolic-ref", "-q", "HEAD").Output(); err == nil {
		t.Error("HEAD is on a branch")
	}
	_, _, err = s.run("checkout", goal)
	if role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "there is something at "+dir) {
		t.Errorf("again: %v", err)
	}
	_, _, err = s.run("checkout", goal, "no/such/place")
	if role.CodeOf(err) != role.Environment {
		t.Errorf("in no directory: %v", err)
	}
	other := filepath.Join(s.home, "ein Ort")
	stdout, stderr, err = s.run("checkout", terminal, other)
	s.Must(err)
	has(t, stderr, "rm -rf '"+other+"'")
	if stdout != other+"\n" {
		t.Errorf("printed %q", stdout)
	}
	s.Must(os.RemoveAll(s.root))
	gitIn(t, other, "", "fsck", "--connectivity-only")
	if text, err := os.ReadFile(filepath.Join(other, "a ß")); err != nil || string(text) != "1\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCheckoutBranch(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	commit := s.aside("a", "1\n")
	goal, _ := s.achieved(base, commit)
	stdout, stderr, err := s.run("checkout", goal, "--branch", "review/sing")
	s.Must(err)
	has(t, stderr, "git branch -D review/sing")
	if stdout != "review/sing\n" || s.rev("review/sing") != commit {
		t.Errorf("made %q", stdout)
	}
	if _, _, err := s.run("checkout", goal, "--branch", "review/sing"); err != nil {
		t.Errorf("again: %v", err)
	}
	for name, code := range map[string]role.Code{"main": role.Failed, "a..b": role.Usage, "-x": role.Usage, "@{-1}": role.Usage} {
		if _, _, err := s.run("checkout", goal, "--branch="+name); role.CodeOf(err) != code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := s.run("checkout", goal, "x", "--branch", "y"); role.CodeOf(err) != role.Usage {
		t.Errorf("both: %v", err)
	}
	s.clean()
}

// From a linked worktree of a bare repository, and from a shallow one.
func TestCheckoutFromElsewhere(t *testing.T) {
	for _, kind := range []string{"bare", "shallow"} {
		t.Run(kind, func(t *testing.T) {
			s := landStage(t)
			base := s.commitFile("b", "0\n")
			clone := filepath.Join(s.home, "clone")
			if kind == "bare" {
				gitIn(t, s.root, "", "clone", "-q", "--bare", s.root, clone)
				s.Must(os.RemoveAll(s.root))
				gitIn(t, clone, "", "worktree", "add", "-q", s.root, "main")
			} else {
				gitIn(t, s.root, "", "clone", "-q", "--depth", "1", "file://"+s.root, clone)
				s.Must(os.RemoveAll(s.root))
				s.Must(os.Rename(clone, s.root))
			}
			commit := s.aside("a", "1\n")
			s.git("update-ref", "refs/sett/artefacts/stage/x", commit)
			goal, _ := s.achieved(base, commit)
			stdout, _, err := s.run("checkout", goal)
			s.Must(err)
			if got := gitIn(t, strings.TrimSpace(stdout), "", "rev-parse", "HEAD"); got != commit {
				t.Errorf("HEAD is %s", got)
			}
		})
	}
}

func TestDoctorNamesLeftovers(t *testing.T) {
	s, _, _ := withLeftovers(t)
	stdout, _, _ := s.run("doctor")
	has(t, stdout, "2 leftovers of tools that failed or were stopped, the oldest ", "leftovers drop --older 30d forgets old ones")
	_, _, err := s.run("leftovers", "drop", "--older", "30d", "--yes")
	s.Must(err)
	stdout, _, _ = s.run("doctor")
	has(t, stdout, "1 leftover of tools that failed or were stopped, the oldest ")
}

func TestDoctorNamesTrees(t *testing.T) {
	s := newStage(t)
	for _, tree := range []string{"writer", "many.2", "gone agent"} {
		s.Must(os.MkdirAll(filepath.Join(s.home, "sett", "stage", "trees", tree), 0o700))
	}
	stdout, _, _ := s.run("doctor")
	has(t, stdout, "1 private tree of agents that sett.yml has no more", "rm -rf '"+filepath.Join(s.home, "sett", "stage", "trees", "gone agent")+"'")
}

func TestDoctorNamesMissingHistory(t *testing.T) {
	s := newStage(t)
	s.git("commit", "-q", "--allow-empty", "-m", "second")
	stdout, _, _ := s.run("doctor")
	if strings.Contains(stdout, "history") {
		t.Errorf("of a whole repository:\n%s", stdout)
	}
	whole := filepath.Join(s.home, "whole")
	s.Must(os.Rename(s.root, whole))
	gitIn(t, s.home, "", "clone", "-q", "--depth=1", "file://"+whole, s.root)
	spaced := func() string { // the columns are as wide as the names of the machine's disks
		stdout, _, _ := s.run("doctor")
		return strings.Join(strings.Fields(stdout), " ")
	}
	has(t, spaced(), "ok repository history it is a shallow clone")
	s.Must(os.RemoveAll(s.root))
	gitIn(t, whole, "", "config", "uploadpack.allowFilter", "true")
	gitIn(t, s.home, "", "clone", "-q", "--no-checkout", "--filter=tree:0", "file://"+whole, s.root)
	has(t, spaced(), "problem repository history it is a partial clone", "git fetch --refetch --no-filter")
}

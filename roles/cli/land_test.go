package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/landing"
	"sett/roles/role"
	"sett/roles/role/lfs"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// achieved plays a goal whose writer found one commit and made another, its Terminal.
func (s *stage) achieved(base, commit string) (goal, terminal string) {
	s.t.Helper()
	s.Must(s.store().Fetch(s.t.Context(), s.objects(), commit, store.Artefact(commit)))
	s.forget()
	return s.achievedEarlier(base, commit)
}

// achievedEarlier is a goal of which an older Sett left the commit in the user's repository.
func (s *stage) achievedEarlier(base, commit string) (goal, terminal string) {
	s.t.Helper()
	goal = s.NewID()
	a := blackboard.Artefact{ID: goal, LogicalID: goal, Version: 1, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined, Payload: "change it",
		ProducedByRole: blackboard.RoleUser, WorkflowID: goal}
	if base != "" {
		a.Metadata = fmt.Appendf(nil, `{"base": %q, "branch": "main"}`, base)
	}
	s.Must(s.board.People.PostGoal(s.t.Context(), a, "ann"))
	claim := s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer")
	terminal = s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: blackboard.TypeCodeCommit, Payload: commit, Summary: "teach it to sing"})
	s.Complete(claim)
	return goal, terminal
}

// objects are those of the user's repository.
func (s *stage) objects() string {
	s.t.Helper()
	return gitIn(s.t, s.root, "", "rev-parse", "--path-format=absolute", "--git-path", "objects")
}

// forget removes from the user's repository what no ref there names: agents' commits are
// in the store alone.
func (s *stage) forget() {
	s.t.Helper()
	gitIn(s.t, s.root, "", "reflog", "expire", "--expire=now", "--all")
	gitIn(s.t, s.root, "", "prune", "--expire=now")
}

// landStage is a stage with a branch main, and the identity of its user.
func landStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.git("branch", "-M", "main")
	s.identify()
	return s
}

func (s *stage) identify() {
	s.vars = map[string]string{
		"GIT_AUTHOR_NAME": "Zoë", "GIT_AUTHOR_EMAIL": "zoe@example.org", "GIT_COMMITTER_NAME": "Zoë", "GIT_COMMITTER_EMAIL": "zoe@example.org",
		"GIT_CONFIG_NOSYSTEM": "1",
	}
}

func (s *stage) rev(name string) string {
	s.t.Helper()
	return gitIn(s.t, s.root, "", "rev-parse", name)
}

// commitFile commits a file and returns the commit.
func (s *stage) commitFile(name, text string) string {
	s.t.Helper()
	s.Must(os.MkdirAll(filepath.Dir(filepath.Join(s.root, name)), 0o755))
	s.write(name, text)
	s.git("add", "-fA", "--", name)
	s.git("commit", "-q", "-m", "write "+name)
	return s.rev("HEAD")
}

// aside makes a commit that is on no branch, on top of main, by changing files; nothing of it
// stays in the working tree.
func (s *stage) aside(files ...string) string {
	s.t.Helper()
	s.git("checkout", "-q", "--detach")
	last := ""
	for i := 0; i < len(files); i += 2 {
		last = s.commitFile(files[i], files[i+1])
	}
	s.git("checkout", "-q", "main")
	return last
}

func (s *stage) text(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return "(" + filepath.Base(name) + " is not there)"
	}
	return string(text)
}

// land lands, as programs see it.
func (s *stage) land(args ...string) landing.Plan {
	s.t.Helper()
	stdout, stderr, err := s.run(append([]string{"land", "-o", "json"}, args...)...)
	if err != nil {
		s.t.Fatalf("land %v: %v: %s\n%s", args, err, hint(err), stderr)
	}
	var p landing.Plan
	s.Must(json.Unmarshal([]byte(stdout), &p))
	return p
}

// undo types the command that a landing printed, in the directory that sett was typed in.
func (s *stage) undo(p landing.Plan) {
	s.t.Helper()
	cmd := exec.Command("sh", "-c", p.Undo)
	cmd.Dir = s.root
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", p.Undo, err, out)
	}
}

// clean says that the working tree is as its commit is.
func (s *stage) clean() {
	s.t.Helper()
	if out := gitIn(s.t, s.root, "", "status", "--porcelain"); out != "" {
		s.t.Errorf("the working tree is not clean:\n%s", out)
	}
}

func TestLandForward(t *testing.T) {
	s := landStage(t)
	before := s.rev("main")
	commit := s.aside("new dir/ümlaut ß.txt", "one\n", "sett.yml", clan+"# more\n")
	goal, terminal := s.achieved(before, commit)
	stdout, stderr, err := s.run("land", "--dry-run")
	s.Must(err)
	has(t, stdout, "main: "+before[:10]+".."+commit[:10]+", fast-forward, 2 commits\n", " write new dir/ümlaut ß.txt\n", " new dir/ümlaut ß.txt | 1 +\n", " 2 files changed, 2 insertions(+), 0 deletions(-)\n")
	has(t, stderr, "nothing was changed (--dry-run)")
	if s.rev("main") != before || s.text("new dir/ümlaut ß.txt") == "one\n" {
		t.Fatal("a dry run landed")
	}
	stdout, stderr, err = s.run("land")
	s.Must(err)
	has(t, stdout, "fast-forward, 2 commits")
	has(t, stderr, "sett: landed on main; to undo it: git reset --keep "+before+"\n")
	if s.rev("main") != commit || s.text("new dir/ümlaut ß.txt") != "one\n" {
		t.Errorf("main is %s", s.rev("main"))
	}
	s.clean()
	stdout, _, err = s.run("land", goal)
	s.Must(err)
	has(t, stdout, "main: "+commit[:10]+" is already there\n")

	s.undo(landing.Plan{Undo: "git reset --keep " + before})
	s.clean()
	p := s.land(terminal)
	if p.Artefact != terminal || p.Goal != goal || p.Commit != commit || p.From != before || p.To != commit || p.How != landing.FastForward ||
		len(p.Commits) != 2 || len(p.Files) != 2 || !p.Landed || p.Directory != s.root {
		t.Errorf("plan %+v", p)
	}
	s.write("unrelated", "kept")
	s.undo(p)
	if s.rev("main") != before || s.text("unrelated") != "kept" || s.text("sett.yml") != clan {
		t.Error("not undone")
	}
}

// A merge that does not come about leaves nothing in the repository, not even an object.
func TestLandFailsWithoutObjects(t *testing.T) {
	s := landStage(t)
	base := s.commitFile("song", "la\n")
	s.achieved(base, s.aside("song", "li\n"))
	s.commitFile("song", "lo\n")
	count := func() string { return gitIn(t, s.root, "", "count-objects", "-v") }
	before := count()
	for _, way := range []string{"--merge", "--rebase", "--squash"} {
		if _, _, err := s.run("land", way); err == nil || !strings.Contains(err.Error(), "merge conflict") || count() != before {
			t.Errorf("%s: %v\n%s\nbefore %s", way, err, count(), before)
		}
	}
	s.commitFile("song", "la\n")
	s.land("--merge")
	if s.text("song") != "li\n" {
		t.Errorf("landed %s", s.text("song"))
	}
	s.git("fsck", "--strict", "--full")
}

// A submodule that gets another commit is named with the command that brings its files, since
// git leaves them as they are.
func TestLandMovesASubmodule(t *testing.T) {
	s := landStage(t)
	before := s.rev("main")
	s.git("update-index", "--add", "--cacheinfo", "160000,"+before+",lib")
	commit := gitIn(t, s.root, "", "-c", "user.name=t", "-c", "user.email=t@x", "commit-tree", "-p", before, "-m", "a submodule", gitIn(t, s.root, "", "write-tree"))
	s.git("read-tree", before)
	s.achieved(before, commit)
	_, stderr, err := s.run("land")
	s.Must(err)
	has(t, stderr, "sett: note: 1 submodule has another commit now: lib; git -C "+s.root+" submodule update --init brings the files\n")
}

// A submodule that goes leaves its folder, as with git, and that is said.
func TestLandRemovesASubmodule(t *testing.T) {
	s := landStage(t)
	without := s.rev("main")
	s.git("clone", "-q", ".", "lib")
	s.git("update-index", "--add", "--cacheinfo", "160000,"+without+",lib")
	s.git("commit", "-q", "-m", "a submodule")
	base := s.rev("main")
	commit := gitIn(t, s.root, "", "-c", "user.name=t", "-c", "user.email=t@x", "commit-tree", "-p", base, "-m", "no submodule", without+"^{tree}")
	s.achieved(base, commit)
	_, stderr, err := s.run("land")
	s.Must(err)
	has(t, stderr, "sett: note: 1 submodule is gone and its folder stays, since git removes no folder that has files: lib\n")
	if _, err := os.Stat(filepath.Join(s.root, "lib", ".git")); err != nil {
		t.Error(err)
	}
}

// Content of git LFS that is nowhere is named, whichever way the commit comes.
func TestLandWithoutContent(t *testing.T) {
	s := landStage(t)
	pointer := lfs.Pointer{Hash: strings.Repeat("ab", 32), Size: 7}
	base := s.rev("main")
	commit := s.aside(".gitattributes", "*.bin filter=lfs -text\n", "gone.bin", pointer.Text())
	_, terminal := s.achieved(base, commit)
	s.Must(store.FetchContent(t.Context(), s.store(), "", nil))
	const want = "sett: warning: the content of 1 file (gone.bin) of git LFS is neither in the instance's store nor in the repository"
	s.git("branch", "copy")
	for _, args := range [][]string{{"checkout", terminal, filepath.Join(t.TempDir(), "there")}, {"checkout", terminal, "--branch", "apart"}, {"land", "--onto", "copy"}} {
		_, stderr, err := s.run(args...)
		s.Must(err)
		has(t, stderr, want)
		for _, branch := range args[2:] { // else the repository has the commit
			if branch == "apart" || branch == "copy" {
				s.git("branch", "-D", "-q", branch)
			}
		}
	}
	if p := s.land(terminal); !slices.Equal(p.Lacking, []string{"gone.bin"}) {
		t.Errorf("plan %+v", p)
	}
}

// diverged has a result whose branch has moved on, with two commits on each side.
func diverged(t *testing.T) (s *stage, before, result string) {
	s = landStage(t)
	base := s.rev("main")
	result = s.aside("a", "1\n", "a", "1\n2\n")
	s.commitFile("c", "3\n")
	before = s.commitFile("d", "4\n")
	s.achieved(base, result)
	return s, before, result
}

func TestLandDiverged(t *testing.T) {
	s, before, result := diverged(t)
	_, _, err := s.run("land")
	if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "main cannot be fast-forwarded: it has 2 commits that the commit of ") || !strings.Contains(hint(err), "--rebase, --merge or --squash") {
		t.Fatalf("%v, hint %s", err, hint(err))
	}
	for way, want := range map[string]struct {
		parents int
		commits int
		author  string
	}{"merge": {2, 3, "Zoë"}, "rebase": {1, 2, "t"}, "squash": {1, 1, "Zoë"}} {
		p := s.land("--" + way)
		if p.How != way || p.To != s.rev("main") || len(p.Commits) != want.commits || !p.Landed {
			t.Errorf("--%s: %+v", way, p)
		}
		for name, text := range map[string]string{"a": "1\n2\n", "c": "3\n", "d": "4\n"} {
			if s.text(name) != text {
				t.Errorf("--%s: %s has %q", way, name, s.text(name))
			}
		}
		s.clean()
		facts := strings.Fields(gitIn(t, s.root, "", "log", "-1", "--format=%an %cn %P"))
		if facts[0] != want.author || facts[1] != "Zoë" || len(facts[2:]) != want.parents {
			t.Errorf("--%s: %q", way, facts)
		}
		if way != "rebase" {
			if text := gitIn(t, s.root, "", "log", "-1", "--format=%B"); !strings.Contains(text, "teach it to sing\n\n") || !strings.Contains(text, "Artefact: "+p.Artefact) {
				t.Errorf("--%s: message %q", way, text)
			}
		}
		if again, _, err := s.run("land", "--"+way); err != nil || !strings.Contains(again, "already there") {
			t.Errorf("--%s again: %v %s", way, err, again)
		}
		s.undo(p)
		if s.rev("main") != before {
			t.Errorf("--%s is not undone", way)
		}
		s.clean()
	}
	if !strings.HasPrefix(result, s.rev(result)) {
		t.Error("the result is gone")
	}
}

// New commits are unsigned also where the user's settings want a signature; the note has a command that signs them, after
// which the result is still known to be there.
func TestLandUnsigned(t *testing.T) {
	s, _, _ := diverged(t)
	if _, said, err := s.run("land", "--squash"); err != nil || strings.Contains(said, "sign") {
		t.Fatalf("without the setting: %v %s", err, said)
	}
	s.git("reset", "-q", "--hard", "HEAD~1")
	signer := filepath.Join(t.TempDir(), "signer")
	s.Must(os.WriteFile(signer, []byte("#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho signed\n"), 0o700))
	s.vars["GIT_CONFIG_COUNT"], s.vars["GIT_CONFIG_KEY_0"], s.vars["GIT_CONFIG_VALUE_0"] = "1", "gpg.program", signer
	s.git("config", "commit.gpgSign", "true")
	signed := func(commit string) bool { return strings.Contains(s.show(commit), "\ngpgsig signed") }
	for way, made := range map[string]int{"merge": 1, "rebase": 2, "squash": 1} {
		before := s.rev("HEAD")
		_, said, err := s.run("land", "--"+way)
		if err != nil || signed("HEAD") {
			t.Fatalf("--%s: %v %s", way, err, said)
		}
		_, sign, _ := strings.Cut(said, "wants it; to sign what it made: ")
		sign, _, _ = strings.Cut(sign, "\n")
		run := exec.Command("sh", "-ec", sign) //nolint:gosec // as it is proposed
		run.Dir, run.Env = s.root, os.Environ()
		for name, value := range s.vars {
			run.Env = append(run.Env, name+"="+value)
		}
		if out, err := run.CombinedOutput(); err != nil || sign == "" {
			t.Fatalf("--%s: %q: %v\n%s%s", way, sign, err, said, out)
		}
		for i := range made {
			if commit := fmt.Sprintf("HEAD~%d", i); !signed(commit) {
				t.Errorf("--%s: %q leaves %s without a signature:\n%s", way, sign, commit, s.show(commit))
			}
		}
		if again, _, err := s.run("land", "--"+way); err != nil || !strings.Contains(again, "already there") {
			t.Errorf("--%s again: %v %s", way, err, again)
		}
		s.git("reset", "-q", "--hard", before)
	}
}

// show is a commit as git stores it.
func (s *stage) show(commit string) string {
	s.t.Helper()
	return gitIn(s.t, s.root, "", "cat-file", "commit", commit)
}

// A squash is written as the user: what commits of agents say acts on no terminal.
func TestLandSquashCleans(t *testing.T) {
	for name, files := range map[string][]string{"one": {"f0"}, "two": {"f0", "f1"}} {
		t.Run(name, func(t *testing.T) {
			s := landStage(t)
			base := s.rev("main")
			s.git("checkout", "-q", "--detach")
			for _, file := range files {
				s.write(file, "1\n")
				s.git("add", "-A")
				s.git("commit", "-q", "-m", "a\x1b[2Jb\u200bc", "-m", "d\x1b[2Je")
			}
			result := s.rev("HEAD")
			s.git("checkout", "-q", "main")
			s.commitFile("mine", "1\n")
			s.achieved(base, result)
			s.land("--squash")
			text := gitIn(t, s.root, "", "log", "-1", "--format=%B")
			has(t, text, `a\x1b[2Jb\u200bc`)
			if role.CleanText(text) != text {
				t.Errorf("message %q", text)
			}
		})
	}
}

// A conflict names the files and leaves everything as it was.
func TestLandConflict(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	result := s.aside("ä file", "theirs\n")
	before := s.commitFile("ä file", "mine\n")
	s.achieved(base, result)
	for _, way := range []string{"merge", "rebase", "squash"} {
		_, _, err := s.run("land", "--"+way)
		if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "merge conflict; nothing was changed\nä file") {
			t.Errorf("--%s: %v", way, err)
		}
		if s.rev("main") != before || s.text("ä file") != "mine\n" {
			t.Errorf("--%s changed something", way)
		}
		s.clean()
		if _, err := os.Stat(filepath.Join(s.root, ".git", "MERGE_HEAD")); err == nil {
			t.Error("a merge is under way")
		}
	}
}

// TestLandConflictByHand types what a conflict says: the commit is where git finds it then.
func TestLandConflictByHand(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	result := s.aside("file", "theirs\n")
	s.commitFile("file", "mine\n")
	_, terminal := s.achieved(base, result)
	_, _, err := s.run("land", "--merge")
	var refusal *role.Error
	if want := "sett --name stage checkout " + words.Short(terminal) + " --branch NAME, then git merge NAME"; !errors.As(err, &refusal) || !strings.HasPrefix(refusal.Hint, want) {
		t.Fatalf("hint of %#v", err)
	}
	_, _, err = s.run("checkout", words.Short(terminal), "--branch", "theirs")
	s.Must(err)
	s.git("checkout", "-q", "main")
	merge := exec.Command("git", "-C", s.root, "merge", "theirs")
	for name, value := range s.vars {
		merge.Env = append(merge.Environ(), name+"="+value)
	}
	if out, err := merge.CombinedOutput(); err == nil || !strings.Contains(string(out), "CONFLICT") {
		t.Errorf("git merge: %v\n%s", err, out)
	}
}

// TestLandInterrupted: an interrupt while the files are being written leaves all of them
// landed, or none.
func TestLandInterrupted(t *testing.T) {
	s := landStage(t)
	before := s.rev("main")
	blob := gitIn(t, s.root, "one\n", "hash-object", "-w", "--stdin")
	var entries strings.Builder
	const files = 8000
	for i := range files {
		fmt.Fprintf(&entries, "100644 blob %s\t%05d\n", blob, i)
	}
	many := gitIn(t, s.root, entries.String(), "mktree")
	tree := gitIn(t, s.root, gitIn(t, s.root, "", "ls-tree", before)+"\n040000 tree "+many+"\tmany\n", "mktree")
	result := gitIn(t, s.root, "", "commit-tree", "-p", before, "-m", "many", tree)
	s.achieved(before, result)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, s.world("land")) }()
	for s.text("many/00000") != "one\n" && len(ended) == 0 {
		time.Sleep(time.Millisecond)
	}
	interrupt()
	err := <-ended
	want := before
	if err == nil {
		want = result
	} else if role.CodeOf(err) != role.Interrupted {
		t.Errorf("ended with %v", err)
	}
	if now := s.rev("main"); now != want {
		t.Errorf("%v, and main is at %s, want %s", err, now, want)
	}
	s.clean()
}

// What is not committed is never overwritten: changed, staged, untracked, ignored, and a
// file in the place of a directory.
func TestLandOverwritesNothing(t *testing.T) {
	s := landStage(t)
	s.commitFile("changed", "old\n")
	s.commitFile("staged", "old\n")
	base := s.commitFile(".gitignore", "ignored\n")
	result := s.aside("changed", "new\n", "staged", "new\n", "untracked", "new\n", "ignored", "new\n", "dir/file", "new\n", "plain", "new\n", "other", "new\n")
	s.achieved(base, result)
	s.write("changed", "mine\n")
	s.write("staged", "mine\n")
	s.git("add", "staged")
	s.write("untracked", "mine\n")
	s.write("ignored", "mine\n")
	s.write("dir", "mine\n")
	s.Must(os.MkdirAll(filepath.Join(s.root, "plain/deep"), 0o755))
	s.write("plain/deep/x", "mine\n")
	s.write("unrelated", "mine\n")
	status := gitIn(t, s.root, "", "status", "--porcelain")
	_, _, err := s.run("land")
	want := "landing on main would overwrite files that are not committed\nchanged\ndir\nignored\nplain/deep/x\nstaged\nuntracked"
	if role.CodeOf(err) != role.Failed || err.Error() != want {
		t.Errorf("%v", err)
	}
	if s.rev("main") != base || gitIn(t, s.root, "", "status", "--porcelain") != status || s.text("other") == "new\n" {
		t.Error("something was changed")
	}
	s.Must(os.RemoveAll(filepath.Join(s.root, "plain")))
	for _, name := range []string{"untracked", "ignored", "dir"} {
		s.Must(os.Remove(filepath.Join(s.root, name)))
	}
	s.git("reset", "-q", "--hard")
	s.write("sett.yml", clan+"# mine\n")
	p := s.land()
	if s.text("sett.yml") != clan+"# mine\n" || s.text("other") != "new\n" {
		t.Error("an unrelated change is in the way, or gone")
	}
	s.undo(p)
	if s.text("sett.yml") != clan+"# mine\n" || s.rev("main") != base {
		t.Error("not undone")
	}
}

// Changes that a person has git overlook are named, with the command that shows them to git; those that the landing
// does not touch are left alone.
func TestLandOverlooked(t *testing.T) {
	s := landStage(t)
	s.commitFile("skipped ü", "old\n")
	s.commitFile("assumed", "old\n")
	s.commitFile("as it was", "old\n")
	base := s.commitFile("other", "old\n")
	result := s.aside("skipped ü", "new\n", "assumed", "new\n", "as it was", "new\n")
	s.achieved(base, result)
	for _, name := range []string{"skipped ü", "assumed", "other"} {
		s.write(name, "mine\n")
	}
	s.git("update-index", "--skip-worktree", "skipped ü", "as it was")
	s.git("update-index", "--assume-unchanged", "skipped ü", "assumed", "other")
	marks := gitIn(t, s.root, "", "ls-files", "-v")
	stdout, _, err := s.run("land")
	if role.CodeOf(err) != role.Failed || stdout != "" ||
		err.Error() != "landing on main would overwrite changes that git overlooks (skip-worktree or assume-unchanged)\nassumed\nskipped ü" {
		t.Errorf("%v\n%s", err, stdout)
	}
	if gitIn(t, s.root, "", "ls-files", "-v") != marks || s.rev("main") != base {
		t.Error("something was changed")
	}
	s.undo(landing.Plan{Undo: strings.TrimSuffix(hint(err), " puts them aside")})
	s.land()
	if s.rev("main") != result || s.text("other") != "mine\n" {
		t.Error("not landed, or a change of other files is gone")
	}
}

// A landing that was killed after its files were written is finished by the next one, which still
// overwrites no change of a person.
func TestLandAfterKill(t *testing.T) {
	s := landStage(t)
	base := s.commitFile("file", "old\n")
	result := s.aside("file", "new\n", "more", "more\n")
	s.git("read-tree", "-m", "-u", base, result)
	s.achieved(base, result)
	s.write("file", "mine\n")
	if _, _, err := s.run("land"); role.CodeOf(err) != role.Failed || !strings.HasSuffix(err.Error(), "files that are not committed\nfile") {
		t.Errorf("%v", err)
	}
	s.write("file", "new\n")
	s.land()
	if s.rev("main") != result || s.text("more") != "more\n" {
		t.Error("not landed")
	}
	s.clean()
}

// Where git holds the index, or was killed and left its lock, nothing is landed, and the lock is named.
func TestLandLockedIndex(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	s.achieved(base, s.aside("file", "new\n"))
	s.write(".git/index.lock", "")
	_, _, err := s.run("land")
	if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "is locked: git is at work there, or was killed, and left ") || !strings.HasSuffix(err.Error(), "/.git/index.lock") || s.rev("main") != base {
		t.Errorf("%v", err)
	}
	s.Must(os.Remove(filepath.Join(s.root, ".git/index.lock")))
	s.land()
}

// What a landing does is printed once it is done: a branch that git cannot move has nothing on stdout.
func TestLandSaysNothingBefore(t *testing.T) {
	s, before, _ := diverged(t)
	s.write(".git/refs/heads/main.lock", "")
	stdout, _, err := s.run("land", "--merge")
	if err == nil || stdout != "" || s.rev("main") != before {
		t.Errorf("%v\n%s", err, stdout)
	}
	s.clean()
	s.Must(os.Remove(filepath.Join(s.root, ".git/refs/heads/main.lock")))
	if stdout, _, err = s.run("land", "--merge"); err != nil || !strings.Contains(stdout, "main: ") {
		t.Errorf("%v\n%s", err, stdout)
	}
}

// A branch whose working tree was deleted is not landed on, and the command that frees it is named.
func TestLandWithoutDirectory(t *testing.T) {
	s, before, result := diverged(t)
	other := filepath.Join(filepath.Dir(s.root), "linked")
	s.git("worktree", "add", "-q", "-b", "topic", other, before+"~2")
	s.Must(os.RemoveAll(other))
	_, _, err := s.run("land", "--onto", "topic")
	if role.CodeOf(err) != role.Failed || err.Error() != "land on topic: its working tree "+other+" is not there" ||
		hint(err) != "git worktree prune, or git worktree repair DIRECTORY if it was moved" {
		t.Errorf("%v, hint %s", err, hint(err))
	}
	s.git("worktree", "lock", other)
	_, _, err = s.run("land", "--onto", "topic")
	command, _, _ := strings.Cut(hint(err), ", or git worktree repair")
	has(t, command, "git worktree unlock "+other+" && git worktree prune")
	s.undo(landing.Plan{Undo: command})
	if p := s.land("--onto", "topic"); p.Directory != "" || s.rev("topic") != result {
		t.Errorf("plan %+v", p)
	}
}

func TestLandOnto(t *testing.T) {
	s, before, result := diverged(t)
	s.git("branch", "free/ümlaut", before+"~2")
	p := s.land("--onto", "free/ümlaut")
	if s.rev("free/ümlaut") != result || p.Directory != "" || p.How != landing.FastForward || s.rev("main") != before {
		t.Errorf("plan %+v", p)
	}
	s.clean()
	s.undo(p)
	if s.rev("free/ümlaut") != before+"~2" && s.rev("free/ümlaut") != s.rev(before+"~2") {
		t.Error("not undone")
	}
	s.git("branch", "moved", before)
	p = s.land("--onto", "moved", "--rebase")
	if s.rev("moved") != p.To || s.rev("moved~2") != before {
		t.Errorf("rebased onto a branch without a working tree: %+v", p)
	}
	s.undo(p)
	if s.rev("moved") != before {
		t.Error("not undone")
	}
	_, _, err := s.run("land", "--onto", "none")
	if role.CodeOf(err) != role.NotFound || !strings.Contains(hint(err), "--branch none makes it") {
		t.Errorf("%v, %s", err, hint(err))
	}
}

// A name that stands for the branch that is checked out moves that branch with its files: else the next commit there
// would take the landing back off.
func TestLandOntoAnotherName(t *testing.T) {
	s, _, _ := diverged(t)
	s.git("symbolic-ref", "refs/heads/trunk", "refs/heads/main")
	p := s.land("--onto", "trunk", "--rebase")
	if p.Branch != "main" || p.Directory == "" || s.rev("main") != p.To || s.rev("trunk") != p.To {
		t.Errorf("plan %+v", p)
	}
	s.clean()
	s.git("symbolic-ref", "refs/heads/odd", "refs/tags/odd")
	s.refuses(role.Failed, "land on odd: it is another name of refs/tags/odd, which is no branch", "land", "--onto", "odd")
}

// A goal that waits to land on a branch is landed there by the command that its wait names, though the branch is gone;
// landed elsewhere, it goes on waiting, and that is said.
func TestLandAwaited(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	s.Must(s.board.Leader.SetLanding(t.Context(), s.Epoch, "released"))
	result := s.aside("a", "1\n")
	goal, terminal := s.achieved(base, result)
	s.Must(s.board.Leader.Land(t.Context(), blackboard.LandingStep{Epoch: s.Epoch, Workflow: goal, From: blackboard.Landing{State: blackboard.LandingQueued},
		To: blackboard.Landing{State: blackboard.LandingBarred, Artefact: terminal, Branch: "released", Reason: "there is no branch released", People: true}}))
	short := blackboard.ShortID(goal)
	for _, command := range []string{"questions", "show " + short, "watch --since all --until 1ms", "report " + short} {
		out, _, err := s.run(strings.Fields(command)...)
		s.Must(err)
		has(t, out, "land "+short+" --onto released")
	}
	p := s.land(short, "--onto", "released")
	if s.rev("released") != result || p.From != "" || len(p.Commits) != 1 || len(p.Files) != 1 || s.rev("main") != base {
		t.Errorf("plan %+v", p)
	}
	s.undo(p)
	if out := gitIn(t, s.root, "", "branch", "--list", "released"); out != "" {
		t.Errorf("not undone: %s", out)
	}
	_, said, err := s.run("land", short)
	s.Must(err)
	has(t, said, "goal "+short+" still waits to land on released: sett --name stage land "+short+" --onto released")
	s.git("checkout", "-q", "-b", "released", base)
	s.commitFile("b", "1\n")
	_, _, err = s.run("land", short, "--onto", "released")
	has(t, hint(err), " --onto released --rebase, --merge or --squash")
}

// In a linked worktree, of a repository whose main one is bare too, the branch that is checked out
// there is landed on, from there and by name from elsewhere.
func TestLandInWorktrees(t *testing.T) {
	s, before, result := diverged(t)
	other := filepath.Join(filepath.Dir(s.root), "linked ß tree")
	s.git("worktree", "add", "-q", "-b", "topic", other, before+"~2")
	p := s.land("--onto", "topic")
	if p.Directory != other || s.rev("topic") != result {
		t.Errorf("plan %+v", p)
	}
	if out := gitIn(t, other, "", "status", "--porcelain"); out != "" {
		t.Errorf("the other working tree:\n%s", out)
	}
	has(t, p.Undo, "git -C '"+other+"' reset --keep ")
	s.undo(p)
	if s.rev("topic") != s.rev(before+"~2") {
		t.Error("not undone")
	}
	s.elsewhere = true
	p = s.land("-C", other, "--name", "stage")
	if p.Branch != "topic" || p.Directory != other || p.Undo != "git reset --keep "+p.From {
		t.Errorf("from the other tree: %+v", p)
	}
	s.elsewhere = false
	s.git("checkout", "-q", "--detach")
	_, _, err := s.run("land")
	if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "is on none") {
		t.Errorf("detached: %v", err)
	}
	p = s.land("--onto", "main", "--merge")
	if p.Directory != "" || s.rev("main") != p.To {
		t.Errorf("onto main from a detached HEAD: %+v", p)
	}
	s.git("checkout", "-q", "main")
	gitIn(t, other, "", "checkout", "-q", "--detach")
	rebase := filepath.Join(gitIn(t, other, "", "rev-parse", "--absolute-git-dir"), "rebase-merge")
	s.Must(os.MkdirAll(rebase, 0o755))
	s.Must(os.WriteFile(filepath.Join(rebase, "head-name"), []byte("refs/heads/topic\n"), 0o644)) //nolint:gosec // as git has it
	_, _, err = s.run("land", "--onto", "topic", "--squash")
	if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "a rebase is under way in "+other) {
		t.Errorf("while topic is rebased: %v", err)
	}
}

// A branch that an operation of git in another working tree holds stays where it is, as git's own branch -f refuses to move it.
func TestLandOntoHeldBranch(t *testing.T) {
	s, before, _ := diverged(t)
	other := filepath.Join(filepath.Dir(s.root), "linked")
	s.git("branch", "below")
	s.git("worktree", "add", "-q", "-b", "top", other, before)
	gitIn(t, other, "", "commit", "-q", "--allow-empty", "-m", "above")
	gitIn(t, other, "", "-c", "sequence.editor=sed -i.bak 1s/pick/edit/", "rebase", "-q", "-i", "--update-refs", before+"~1")
	refused := func(branch, why, way string) {
		t.Helper()
		if _, _, err := s.run("land", "--onto", branch, "--merge"); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), why) || !strings.Contains(hint(err), way) || s.rev(branch) != before {
			t.Errorf("%v, hint %s", err, hint(err))
		}
	}
	refused("below", "a rebase is under way in "+other+", and will move below", "git -C "+other+" status")
	gitIn(t, other, "", "rebase", "--abort")
	gitIn(t, other, "", "switch", "-q", "below")
	gitIn(t, other, "", "bisect", "start", "-q", before, before+"~2")
	gitIn(t, other, "", "checkout", "-q", "--detach", before+"~1")
	refused("below", "a bisect is under way in "+other+", and will go back to below", "git -C "+other+" bisect reset")
	gitIn(t, other, "", "bisect", "reset")
	gitIn(t, other, "", "switch", "-q", "top")
	s.land("--onto", "below", "--merge")
}

func TestLandBareParent(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	bare := filepath.Join(filepath.Dir(s.root), "bare.git")
	gitIn(t, s.root, "", "clone", "-q", "--bare", s.root, bare)
	s.Must(os.RemoveAll(s.root))
	gitIn(t, bare, "", "worktree", "add", "-q", s.root, "main")
	result := s.aside("a", "1\n")
	s.achieved(base, result)
	p := s.land()
	if s.rev("main") != result || s.text("a") != "1\n" || p.Directory != s.root {
		t.Errorf("plan %+v", p)
	}
	s.clean()
	s.undo(p)
	if s.rev("main") != base {
		t.Error("not undone")
	}
}

func TestLandUnborn(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	result := s.aside("a", "1\n")
	s.achieved(base, result)
	s.git("checkout", "-q", "--orphan", "fresh") // with everything staged
	_, _, err := s.run("land")
	if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "would overwrite files that are not committed\nsett.yml") {
		t.Errorf("%v", err)
	}
	s.git("rm", "-rqf", ".")
	p := s.land()
	if s.rev("fresh") != result || s.text("a") != "1\n" || p.From != "" || len(p.Commits) != 2 || len(p.Files) != 2 {
		t.Errorf("plan %+v", p)
	}
	s.clean()
	s.undo(p)
	if out, err := exec.Command("git", "-C", s.root, "rev-parse", "--verify", "-q", "HEAD").Output(); err == nil {
		t.Errorf("HEAD is %s", out)
	}
	s.clean()
}

func TestLandSHA256(t *testing.T) {
	s := landStage(t)
	s.Must(os.RemoveAll(s.root))
	s.Must(os.MkdirAll(s.root, 0o755))
	s.git("init", "-q", "-b", "main", "--object-format=sha256")
	s.write("sett.yml", clan)
	base := s.commitFile("sett.yml", clan)
	result := s.aside("a", "1\n")
	before := s.commitFile("b", "2\n")
	_, terminal := s.achieved(base, result)
	if len(result) != 64 {
		t.Fatal(result)
	}
	p := s.land("--rebase")
	if s.rev("main") != p.To || s.text("a") != "1\n" {
		t.Errorf("plan %+v", p)
	}
	s.undo(p)
	if s.rev("main") != before {
		t.Error("not undone")
	}
	stdout, _, err := s.run("diff", terminal, "--name-only")
	if s.Must(err); stdout != "a\n" {
		t.Errorf("diff: %q", stdout)
	}
}

// No program that an agent wrote into the repository's configuration is run, and its
// core.worktree is not obeyed.
func TestLandRunsNothing(t *testing.T) {
	s := landStage(t)
	s.commitFile(".gitattributes", "*.x filter=evil diff=evil\nmerged merge=evil\n")
	base := s.commitFile("merged", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	result := s.aside("filtered.x", "text\n", "merged", "1\nagent\n3\n4\n5\n6\n7\n8\n9\n")
	s.commitFile("merged", "1\n2\n3\n4\n5\n6\n7\nme\n9\n")
	goal, _ := s.achieved(base, result)
	s.Must(s.store().Hold(t.Context(), store.Leftover("01ARZ3NDEKTSV4RRFFQ69G5FAV", "evil", 1), result))
	ran := filepath.Join(s.home, "ran")
	script := filepath.Join(s.home, "script")
	s.Must(os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >>"+ran+"\nexit 0\n"), 0o755)) //nolint:gosec // it has to be a program
	hooks := filepath.Join(s.root, ".git", "hooks")
	s.Must(os.MkdirAll(hooks, 0o755))
	for _, hook := range []string{"post-checkout", "post-merge", "post-commit", "pre-commit", "post-index-change", "reference-transaction", "post-rewrite", "pre-merge-commit", "commit-msg", "prepare-commit-msg"} {
		s.Must(os.Symlink(script, filepath.Join(hooks, hook)))
	}
	stranger := filepath.Join(s.home, "stranger")
	s.Must(os.MkdirAll(stranger, 0o755))
	config, err := os.ReadFile(filepath.Join(s.root, ".git", "config"))
	s.Must(err)
	planted := []string{
		"filter.evil.clean", script, "filter.evil.smudge", script, "filter.evil.process", script, "filter.evil.required", "true",
		"diff.evil.textconv", script, "diff.evil.command", script, "diff.external", script, "merge.evil.driver", script + " %A",
		"core.fsmonitor", script, "core.hooksPath", hooks, "core.sshCommand", script, "core.editor", script, "core.pager", script,
		"gpg.program", script, "commit.gpgSign", "true", "log.showSignature", "true", "core.worktree", stranger,
	}
	for i := 0; i < len(planted); i += 2 {
		gitIn(t, s.home, "", "config", "--file", filepath.Join(s.root, ".git", "config"), planted[i], planted[i+1])
	}
	_ = exec.Command("git", "-C", s.root, "status").Run()
	if s.text(ran) == "" {
		t.Fatal("nothing is planted")
	}
	_ = os.Remove(ran)
	clone := filepath.Join(s.home, "clone")
	for _, args := range [][]string{
		{"land", "--rebase", "--dry-run"}, {"land", "--merge"}, {"diff"}, {"land"}, {"checkout", goal, clone}, {"checkout", goal, "--branch", "look"},
		{"leftovers"}, {"leftovers", "show", "01ARZ3"}, {"leftovers", "restore", "01ARZ3"}, {"wait", goal}, {"doctor"}, {"leftovers", "drop", "01ARZ3", "--yes"},
	} {
		stdout, stderr, err := s.run(args...)
		if args[0] != "land" && args[0] != "doctor" && err != nil {
			t.Errorf("%v: %v\n%s", args, err, stderr)
		}
		if args[1%len(args)] == "--merge" {
			// A merge driver that cannot be run is a conflict.
			if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "merge conflict; nothing was changed\nmerged") {
				t.Errorf("%v: %v\n%s%s", args, err, stdout, stderr)
			}
		}
		if text, err := os.ReadFile(ran); err == nil {
			t.Errorf("%v ran\n%s", args, text)
			_ = os.Remove(ran)
		}
	}
	if text, err := os.ReadFile(filepath.Join(clone, "filtered.x")); err != nil || string(text) != "text\n" {
		t.Errorf("checked out %q, %v", text, err)
	}
	// Without the driver it merges, and the filter is named.
	gitIn(t, s.home, "", "config", "--file", filepath.Join(s.root, ".git", "config"), "--unset", "merge.evil.driver")
	_, stderr, err := s.run("land", "--merge")
	s.Must(err)
	has(t, stderr, `note: the filter "evil" was not run`)
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("it ran\n%s", text)
	}
	if there, _ := os.ReadDir(stranger); len(there) != 0 {
		t.Errorf("files in another directory: %v", there)
	}
	s.Must(os.WriteFile(filepath.Join(s.root, ".git", "config"), config, 0o644)) //nolint:gosec // as git has it
	if s.text("filtered.x") != "text\n" || s.text("merged") != "1\nagent\n3\n4\n5\n6\n7\nme\n9\n" {
		t.Errorf("landed %q %q", s.text("filtered.x"), s.text("merged"))
	}
	s.clean()
}

// The user's own filters are run, wherever else they are configured.
func TestLandRunsTheUsersFilters(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	result := s.aside("a.x", "text\n", ".gitattributes", "*.x filter=mine\n")
	s.achieved(base, result)
	global := filepath.Join(s.home, ".gitconfig")
	gitIn(t, s.home, "", "config", "--file", global, "filter.mine.smudge", "tr a-z A-Z")
	gitIn(t, s.home, "", "config", "--file", global, "filter.mine.clean", "tr A-Z a-z")
	s.git("config", "filter.mine.smudge", "false")
	_, stderr, err := s.run("land")
	s.Must(err)
	if s.text("a.x") != "TEXT\n" || strings.Contains(stderr, "note") {
		t.Errorf("%q, it says %s", s.text("a.x"), stderr)
	}
}

// A file with a filter of the repository's own configuration lands as the commit has it. The note names the
// command that runs the filter; the undo works before and after it.
func TestLandWithoutFilter(t *testing.T) {
	s := landStage(t)
	s.git("config", "filter.rot.clean", "tr a-z n-za-m")
	s.git("config", "filter.rot.smudge", "tr a-z n-za-m")
	s.commitFile(".gitattributes", "*.dat filter=rot\n")
	base := s.commitFile("*.dat", "secret\n")
	s.achieved(base, s.aside("*.dat", "secrets\n", "new.dat", "more\n"))
	settle := func() { // as though some time had gone since git wrote the index
		s.t.Helper()
		old := time.Now().Add(-time.Hour)
		for _, name := range []string{"*.dat", "new.dat"} {
			if s.text(name) != "("+name+" is not there)" {
				s.Must(os.Chtimes(filepath.Join(s.root, name), old, old))
			}
		}
		s.git("status")
	}
	settle()

	s.Must(os.Chtimes(filepath.Join(s.root, "*.dat"), time.Now(), time.Now().Add(-time.Minute)))
	_, _, err := s.run("land")
	if role.CodeOf(err) != role.Failed || hint(err) != "git status compares them: if it lists none of them, land again; else git stash -u puts them aside, or commit them" {
		t.Fatalf("%v, hint %s", err, hint(err))
	}
	has(t, err.Error(), `that Sett cannot compare with the commit: their times have changed, and the filter "rot" is not run`, "\n*.dat")
	s.Must(os.Chtimes(filepath.Join(s.root, "*.dat"), time.Now(), time.Now().Add(-30*time.Second))) // git looks again at what is as young as its index
	if _, _, err := s.run("land"); err == nil {
		t.Fatal("it landed")
	}
	s.git("status") // what the hint names helps at once
	for _, first := range []string{"", "git --literal-pathspecs checkout -- '*.dat' new.dat"} {
		plan := s.land("--dry-run")
		_, stderr, err := s.run("land")
		s.Must(err)
		has(t, stderr, "to undo it: git --literal-pathspecs checkout -- '*.dat' new.dat && git reset --keep "+base,
			`note: the filter "rot" was not run, which only the repository's own configuration names; to run it: git --literal-pathspecs checkout -- '*.dat' new.dat`)
		if s.text("*.dat") != "frpergf\n" || s.text("new.dat") != "zber\n" {
			t.Errorf("landed %q %q", s.text("*.dat"), s.text("new.dat"))
		}
		if first != "" {
			cmd := exec.Command("sh", "-c", first)
			cmd.Dir = s.root
			if out, err := cmd.CombinedOutput(); err != nil || s.text("*.dat") != "secrets\n" || s.text("new.dat") != "more\n" {
				t.Errorf("%s: %v\n%s%q %q", first, err, out, s.text("*.dat"), s.text("new.dat"))
			}
		}
		s.undo(plan)
		s.clean()
		if s.rev("HEAD") != base || s.text("*.dat") != "secret\n" {
			t.Errorf("undone: %s, %q", s.rev("HEAD"), s.text("*.dat"))
		}
		settle()
	}

	// One that is surely in the way is a reason of its own.
	s.Must(os.Chtimes(filepath.Join(s.root, "*.dat"), time.Now(), time.Now().Add(-time.Minute)))
	s.write("new.dat", "mine\n")
	_, _, err = s.run("land")
	if role.CodeOf(err) != role.Failed || !strings.HasSuffix(err.Error(), "would overwrite files that are not committed\nnew.dat") {
		t.Errorf("%v", err)
	}
}

// However a result is landed, everything is in the user's repository then, and
// nothing of it before: a dry run and a refusal leave no object of the result there.
func TestLandBringsEverything(t *testing.T) {
	for _, way := range []string{"--ff", "--rebase", "--merge", "--squash"} {
		t.Run(way, func(t *testing.T) {
			s := landStage(t)
			base := s.rev("main")
			result := s.aside("deep/a", "1\n", "deep/a", "2\n")
			// The merge's own tree may be in the store by chance, and is not the result's.
			s.git("checkout", "-q", "--detach", result)
			chance := s.commitFile("mine", "m\n")
			s.Must(s.store().Fetch(t.Context(), s.objects(), chance, store.Artefact("chance")))
			s.git("checkout", "-q", "main")
			if way != "--ff" {
				s.commitFile("mine", "m\n")
			}
			s.achieved(base, result)
			blob := gitIn(t, s.store().Dir, "", "rev-parse", result+":deep/a")
			has := func() bool {
				_, err := os.Stat(filepath.Join(s.objects(), blob[:2], blob[2:]))
				packs, _ := filepath.Glob(filepath.Join(s.objects(), "pack", "*"))
				return err == nil || len(packs) > 0
			}
			s.land("--dry-run", way)
			if has() {
				t.Error("a dry run brought the result's objects")
			}
			s.land(way)
			s.Must(os.Rename(s.store().Dir, s.store().Dir+" away"))
			gitIn(t, s.root, "", "fsck", "--full", "--strict")
			s.clean()
			if s.text("deep/a") != "2\n" {
				t.Error("it is not landed")
			}
			if left, _ := filepath.Glob(filepath.Join(s.objects(), "pack", "*.keep")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A result whose commit an older Sett left in the user's repository is found there.
func TestLandOfOlderSett(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	result := s.aside("a", "1\n")
	s.achievedEarlier(base, result)
	stdout, _, err := s.run("diff", "--name-only")
	if s.Must(err); stdout != "a\n" {
		t.Errorf("diff: %q", stdout)
	}
	if p := s.land(); p.To != result || s.text("a") != "1\n" {
		t.Errorf("plan %+v", p)
	}
}

func TestLandWhich(t *testing.T) {
	s := landStage(t)
	_, _, err := s.run("land")
	if role.CodeOf(err) != role.NotFound || !strings.Contains(err.Error(), "no achieved goal has a commit") {
		t.Errorf("%v", err)
	}
	base := s.rev("main")
	first := s.aside("a", "1\n")
	goal, _ := s.achieved(base, first)
	failed := s.Goal("fails")
	claim, _ := s.work(failed, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: "{}"})
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "writer failed", nil, nil))
	if p := s.land("--dry-run"); p.Commit != first || p.Goal != goal || p.Landed {
		t.Errorf("without an id: %+v", p)
	}
	_, _, err = s.run("land", failed)
	if role.CodeOf(err) != role.NotFound || !strings.Contains(err.Error(), " has no commit") {
		t.Errorf("%v", err)
	}
	second := s.aside("b", "2\n")
	open := s.Goal("goes on")
	claim, _ = s.work(open, blackboard.Artefact{StructuralType: blackboard.Standard, Type: blackboard.TypeCodeCommit, Payload: second})
	_, stderr, err := s.run("land", claim, "--dry-run")
	s.Must(err)
	has(t, stderr, "note: goal ", " is active; this is its CodeCommit ")
	s.vars = nil
	s.commitFile("c", "3\n")
	_, _, err = s.run("land", "--merge")
	if role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "name and address") {
		t.Logf("git may know the user: %v", err)
	}
}

// The change of a goal begins where its first writer did, however its branch has moved.
func TestDiff(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	result := s.aside("ü x", "1\n", "b", "2\n")
	goal, terminal := s.achieved(base, result)
	stdout, _, err := s.run("diff", goal)
	s.Must(err)
	has(t, stdout, "diff --git a/b b/b\n", "+2\n")
	clone := filepath.Join(t.TempDir(), "clone")
	gitIn(t, s.root, "", "clone", "-q", s.root, clone)
	gitIn(t, clone, stdout, "apply", "--index")
	if gitIn(t, clone, "", "write-tree") != gitIn(t, s.store().Dir, "", "rev-parse", result+"^{tree}") {
		t.Error("applied, the patch makes another tree")
	}
	stdout, _, err = s.run("diff", "--stat")
	s.Must(err)
	has(t, stdout, " b   | 1 +\n ü x | 1 +\n 2 files changed, 2 insertions(+), 0 deletions(-)\n")
	stdout, _, err = s.run("diff", "--name-only")
	if s.Must(err); stdout != "b\nü x\n" {
		t.Errorf("names %q", stdout)
	}
	s.land()
	stdout, _, err = s.run("diff", "-o", "json")
	s.Must(err)
	var d diffed
	s.Must(json.Unmarshal([]byte(stdout), &d))
	if d.Base != base || d.Commit != result || d.Artefact != terminal || d.Goal != goal || len(d.Files) != 2 || d.Files[0].Path != "b" || d.Files[0].Added != 1 {
		t.Errorf("got %+v", d)
	}
	_, _, err = s.run("diff", "-o", "json", "--stat")
	if role.CodeOf(err) != role.Usage {
		t.Errorf("%v", err)
	}
}

// Without a noted base, as in ledgers of before, it is the last commit in common with HEAD, and when
// HEAD has the result, the parent of the goal's first commit.
func TestDiffBaseUnknown(t *testing.T) {
	s := landStage(t)
	s.aside()
	result := s.aside("a", "1\n", "b", "2\n")
	first := s.rev(result + "~1")
	goal := s.Goal("two steps")
	_, id := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: blackboard.TypeCodeCommit, Payload: first})
	s.Complete(blackboard.BiddingClaimID(goal))
	claim := s.open(id, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer")
	s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: blackboard.TypeCodeCommit, Payload: result})
	s.Complete(claim)
	s.commitFile("mine", "x\n")
	names := func() string {
		stdout, _, err := s.run("diff", "--name-only")
		s.Must(err)
		return stdout
	}
	if got := names(); got != "a\nb\n" {
		t.Errorf("not on the branch: %q", got)
	}
	s.land("--merge")
	if got := names(); got != "a\nb\n" {
		t.Errorf("on the branch: %q", got)
	}
}

// What a shell completes for land and diff.
func TestCompleteLand(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	_, terminal := s.achieved(base, s.aside("a", "1\n"))
	s.git("branch", "release", base)
	stdout, _, err := s.run("__complete", "--", "fish", "land", "--onto", "")
	s.Must(err)
	if got := strings.Fields(stdout); !slices.Equal(got, []string{":values", "main", "release"}) {
		t.Errorf("branches %q", got)
	}
	for range 20 { // completion gives up at once where the blackboard is slow to answer
		stdout, _, err = s.run("__complete", "--", "fish", "diff", "")
		if s.Must(err); strings.Contains(stdout, "@last") {
			break
		}
	}
	has(t, stdout, "@last\t", blackboard.ShortID(terminal))
}

// forage --wait and wait end with the commit that came of the goal.
func TestOutcome(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	result := s.aside("a", "1\n2\n", "sett.yml", strings.Replace(clan, "lint", "lints", 1))
	goal, terminal := s.achieved(base, result)
	_, stderr, err := s.run("wait", goal)
	s.Must(err)
	has(t, stderr, "sett: goal achieved in ", "sett: commit "+result[:10]+": 2 files, +3 -1; sett --name stage land brings it to your branch\n")
	stdout, _, err := s.run("wait", goal, "-o", "json")
	s.Must(err)
	var v struct{ Outcome landing.Outcome }
	s.Must(json.Unmarshal([]byte(stdout), &v))
	if v.Outcome != (landing.Outcome{Artefact: terminal, Commit: result, Base: base, Files: 2, Added: 3, Deleted: 1}) {
		t.Errorf("got %+v", v)
	}
	s.git("checkout", "-q", "--detach")
	_, stderr, err = s.run("wait", goal)
	s.Must(err)
	id := blackboard.ShortID(goal)
	has(t, stderr, "+3 -1; HEAD is on no branch; sett --name stage land --onto BRANCH brings it to one\n", "\nNext:\n  sett --name stage checkout "+id+" --branch result-"+id+"\n")
	_, _, err = s.run("checkout", id, "--branch", "result-"+id)
	s.Must(err)
	if got := s.rev("result-" + id); got != result {
		t.Errorf("the new branch is at %s", got)
	}
	s.git("checkout", "-q", "main")
	s.land()
	_, stderr, err = s.run("wait", goal)
	s.Must(err)
	has(t, stderr, "+3 -1; your branch has it; sett --name stage diff shows it\n")
	goal = s.Goal("no commit")
	s.work(goal, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "x"})
	s.Complete(blackboard.BiddingClaimID(goal))
	stdout, stderr, err = s.run("wait", goal, "-o", "json")
	if s.Must(err); strings.Contains(stdout, "outcome") || strings.Contains(stderr, "commit") {
		t.Errorf("without a commit: %s%s", stdout, stderr)
	}
}

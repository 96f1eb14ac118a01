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
	"sett/roles/role/git"
)

// cutOff is a repository in which a landing was killed as it wrote the files: the index and the branch are as before. One
// file is half written.
func cutOff(t *testing.T) (s *stage, base, result string) {
	t.Helper()
	s = landStage(t)
	for _, name := range []string{"changed", "program", "gone", "place", "half", "link"} {
		s.commitFile(name, "old\n")
	}
	s.commitFile(".gitattributes", "*.crlf eol=crlf\nchanged filter=planted\n")
	base = s.commitFile(".gitignore", "ignored\n")
	s.git("checkout", "-q", "--detach")
	for _, name := range []string{"gone", "place", "link"} {
		s.Must(os.Remove(filepath.Join(s.root, name)))
	}
	s.Must(os.Symlink("changed", filepath.Join(s.root, "link")))
	s.Must(os.Chmod(filepath.Join(s.root, "program"), 0o755))
	s.Must(os.MkdirAll(filepath.Join(s.root, "place"), 0o755))
	for _, name := range []string{"changed", "place/new\nline", "ignored", "half", "last", "lines.crlf"} {
		s.write(name, "all that is new\n")
	}
	s.git("add", "-fA")
	s.git("commit", "-q", "-m", "much")
	result = s.rev("HEAD")
	s.git("checkout", "-q", "main")
	s.achieved(base, result)
	s.git("config", "filter.planted.clean", "touch "+filepath.Join(s.root, ".git/pwned")+"; cat")

	for _, name := range []string{"gone", "place", "link"} {
		s.Must(os.Remove(filepath.Join(s.root, name)))
	}
	s.Must(os.Symlink("changed", filepath.Join(s.root, "link")))
	s.Must(os.Chmod(filepath.Join(s.root, "program"), 0o755))
	s.Must(os.MkdirAll(filepath.Join(s.root, "place"), 0o755))
	for _, name := range []string{"changed", "place/new\nline", "ignored"} {
		s.write(name, "all that is new\n")
	}
	s.write("lines.crlf", "all that is new\r\n")
	s.write("half", "all th")
	return s, base, result
}

// A landing that was cut off as it wrote the files is finished by the next one: what it wrote is in no way. A file that is
// neither as before nor as the result has it stays in the way, and nothing is changed then. No filter is run.
func TestLandAfterCut(t *testing.T) {
	s, base, result := cutOff(t)
	index := gitIn(t, s.root, "", "ls-files", "--stage")
	_, _, err := s.run("land")
	if role.CodeOf(err) != role.Failed || !strings.HasSuffix(err.Error(), "would overwrite files that are not committed\nhalf") {
		t.Errorf("%v", err)
	}
	s.write("half", "old\n")
	s.write("ignored", "all that is mine")
	s.Must(os.Chmod(filepath.Join(s.root, "lines.crlf"), 0o755))
	_, _, err = s.run("land")
	if role.CodeOf(err) != role.Failed || !strings.HasSuffix(err.Error(), "would overwrite files that are not committed\nignored\nlines.crlf") {
		t.Errorf("%v", err)
	}
	if s.rev("main") != base || gitIn(t, s.root, "", "ls-files", "--stage") != index || s.text("ignored") != "all that is mine" {
		t.Error("something was changed")
	}
	s.Must(os.Chmod(filepath.Join(s.root, "lines.crlf"), 0o644))
	s.write("ignored", "all that is new\n")
	s.land()
	if s.rev("main") != result || s.text("half") != "all that is new\n" || s.text("last") != "all that is new\n" {
		t.Error("not landed")
	}
	if _, err := os.Stat(filepath.Join(s.root, ".git/pwned")); err == nil {
		t.Error("a filter was run that only the repository names")
	}
	s.git("config", "--unset", "filter.planted.clean")
	s.clean()
}

// A landing that was cut off says so to the next one, and to doctor, until the branch has moved; files that it had
// removed, to write them anew, are in no way of the same result. It leaves no mark once it has ended, either way.
func TestLandSaysWhatWasCut(t *testing.T) {
	s, base, result := cutOff(t)
	_, terminal := s.achievedEarlier(base, result)
	mark := git.Cut{Name: blackboard.ShortID(terminal), Artefact: terminal, Branch: "main", From: base, To: result}
	over := git.Mark(t.Context(), git.At(os.Environ(), s.root), s.root, mark)
	if cut := git.CutOff(t.Context(), git.At(os.Environ(), s.root), s.root); cut != nil {
		t.Errorf("a landing that is at work counts as cut off: %+v", cut)
	}
	over(false)
	if _, err := os.Stat(filepath.Join(s.root, ".git/sett-landing")); err == nil {
		t.Error("a mark is left")
	}
	text, err := json.Marshal(mark)
	s.Must(err)
	s.write(".git/sett-landing", string(text)) // nobody holds it
	stdout, _, _ := s.run("doctor")
	has(t, stdout, "a landing of "+mark.Name+" on main was cut off in "+s.root, "sett land "+mark.Name)
	_, _, err = s.run("land", terminal)
	if role.CodeOf(err) != role.Failed || !strings.HasSuffix(err.Error(), "would overwrite files that are not committed; a landing of "+mark.Name+" was cut off here\nhalf") ||
		!strings.Contains(hint(err), "git restore FILE") {
		t.Errorf("%v: %s", err, hint(err))
	}
	s.write(".git/index.lock", "")
	if _, _, err = s.run("land", terminal); role.CodeOf(err) != role.Failed || !strings.HasSuffix(err.Error(), "index.lock; a landing of "+mark.Name+" was cut off here") {
		t.Errorf("%v", err)
	}
	s.Must(os.Remove(filepath.Join(s.root, ".git/index.lock")))
	s.Must(os.Remove(filepath.Join(s.root, "half")))
	_, stderr, err := s.run("land", terminal)
	s.Must(err)
	has(t, stderr, "a landing of "+mark.Name+" was cut off here; this one has finished it")
	if _, err := os.Stat(filepath.Join(s.root, ".git/sett-landing")); err == nil || s.rev("main") != result || s.text("half") != "all that is new\n" {
		t.Error("a mark is left, or it has not landed")
	}
}

// A git that is killed as it writes the files leaves the mark of the landing, and the next one finishes it.
func TestLandKilledGit(t *testing.T) {
	s := landStage(t)
	base := s.commitFile(".gitattributes", "b filter=deadly\n")
	result := s.aside("a", "new\n", "b", "new\n", "c", "new\n")
	_, terminal := s.achieved(base, result)
	s.vars["GIT_CONFIG_COUNT"], s.vars["GIT_CONFIG_KEY_0"], s.vars["GIT_CONFIG_VALUE_0"] = "1", "filter.deadly.smudge", "kill -9 $PPID"
	if _, _, err := s.run("land"); err == nil || s.rev("main") != base || s.text("a") != "new\n" {
		t.Fatalf("git was not killed: %v, %s", err, s.text("a"))
	}
	delete(s.vars, "GIT_CONFIG_COUNT")
	said := "; a landing of " + blackboard.ShortID(terminal) + " was cut off here"
	_, _, err := s.run("land")
	if role.CodeOf(err) != role.Failed || !strings.HasSuffix(err.Error(), "index.lock"+said) {
		t.Errorf("%v", err)
	}
	s.Must(os.Remove(filepath.Join(s.root, ".git/index.lock")))
	_, stderr, err := s.run("land")
	s.Must(err)
	if has(t, stderr, said[2:]+"; this one has finished it"); s.rev("main") != result {
		t.Error("not landed")
	}
	s.clean()
}

// An index with a conflict that nobody has settled is refused with its files, also by a dry run.
func TestLandUnmerged(t *testing.T) {
	s := landStage(t)
	base := s.commitFile("f2 ü.txt", "old\n")
	s.achieved(base, s.aside("file", "new\n"))
	s.write("f2 ü.txt", "mine\n")
	s.git("stash", "-q")
	base = s.commitFile("f2 ü.txt", "theirs\n")
	if err := exec.Command("git", "-C", s.root, "stash", "pop").Run(); err == nil {
		t.Fatal("no conflict")
	}
	for _, args := range [][]string{{"land", "--rebase", "--dry-run"}, {"land", "--rebase"}} {
		stdout, _, err := s.run(args...)
		if role.CodeOf(err) != role.Failed || err.Error() != s.root+" has files with a conflict that is not settled\nf2 ü.txt" || stdout != "" || !strings.Contains(hint(err), "git status shows them; git add") {
			t.Errorf("%v: %v: %s\n%s", args, err, hint(err), stdout)
		}
	}
	s.git("checkout", "-q", "--ours", "f2 ü.txt")
	s.git("add", "f2 ü.txt")
	s.land("--rebase")
	if s.rev("main~") != base || s.text("file") != "new\n" {
		t.Error("not landed")
	}
}

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/role"
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

package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// A branch that a person has made anew has no history in common with the result of an earlier goal: that is said with the
// commit that the goal began from, and the hint's commands bring the goal's commits, and nothing of the old history.
func TestLandOnAnotherHistory(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"from a commit": true, "from nothing": false} {
		t.Run(name, func(t *testing.T) {
			s := landStage(t)
			why, base, root := "its goal began with an empty repository", "", "--root"
			var result string
			if early {
				s.commitFile("gone", "of before\n")
				base = s.commitFile("song", "one\ntwo\nthree\n")
				result = s.aside("song", "one\nTWO\nthree\n", "new", "new\n")
				root = base[:12]
				why = "its goal began from commit " + root + ", which main does not have"
			} else {
				s.git("checkout", "-q", "--orphan", "agents")
				s.git("rm", "-rfq", ".")
				result = s.commitFile("new", "new\n")
				s.git("checkout", "-q", "main")
			}
			s.achieved(base, result)
			s.git("checkout", "-q", "--orphan", "fresh")
			s.git("rm", "-q", "--cached", "--ignore-unmatch", "gone")
			s.git("commit", "-q", "-m", "all anew")
			s.git("branch", "-M", "main")
			s.git("clean", "-fdq")
			before := s.rev("main")
			for _, way := range []string{"--dry-run", "--merge", "--rebase", "--squash"} {
				_, _, err := s.run("land", way)
				if role.CodeOf(err) != role.Failed || !strings.HasSuffix(err.Error(), " have no history in common: "+why) {
					t.Errorf("land %s: %v", way, err)
				}
				has(t, hint(err), " --branch NAME && git rebase --onto main "+root+" NAME puts the goal's commits on top of main")
			}
			_, _, err := s.run("land")
			said, _, _ := strings.Cut(hint(err), " puts the goal's")
			first, second, _ := strings.Cut(strings.ReplaceAll(said, "NAME", "side"), " && ")
			_, _, err = s.run(strings.Fields(first)[1:]...)
			s.Must(err)
			s.Must(s.types(second))
			s.git("switch", "-q", "main")
			s.git("merge", "-q", "--ff-only", "side")
			if s.text("new") != "new\n" || strings.Contains(s.text("gone"), "before") || early && s.text("song") != "one\nTWO\nthree\n" || s.rev("main") == before {
				t.Errorf("main has %q", gitIn(t, s.root, "", "log", "--name-only", "--oneline", "main"))
			}
		})
	}
	t.Run("not running", func(t *testing.T) {
		s := landStage(t)
		result := s.aside("new", "new\n")
		s.achieved(s.rev("main"), result)
		s.git("commit", "-q", "--amend", "-m", "all anew")
		in := &instance.Instance{Dir: filepath.Join(s.home, "sett", "stage"), State: instance.State{Name: "stage", Workspace: s.root, Runtime: config.RuntimeProcess}}
		s.Must(in.Save())
		_, _, err := s.run("land", result, "--merge")
		if err == nil || !strings.HasSuffix(err.Error(), " have no history in common") || !strings.HasSuffix(hint(err), " up, then land again: the ledger tells from which commit its goal began") {
			t.Errorf("%v: %s", err, hint(err))
		}
	})
	t.Run("a shallow clone", func(t *testing.T) {
		s := landStage(t)
		base := s.commitFile("song", "one\n")
		s.achieved(base, s.aside("new", "new\n"))
		s.commitFile("song", "two\n")
		s.write(".git/shallow", s.rev("main")+"\n")
		_, _, err := s.run("land", "--merge")
		if err == nil || !strings.HasSuffix(err.Error(), ", as far as this shallow clone tells") || !strings.HasPrefix(hint(err), "git fetch --unshallow brings the older history") {
			t.Errorf("%v: %s", err, hint(err))
		}
	})
}

// The commit that a goal began from was amended since: a landing brings its old version along, and says so. The hint's
// commands bring the goal's commit alone.
func TestLandAfterAmend(t *testing.T) {
	s := landStage(t)
	s.commitFile("song", "one\n")
	s.commitFile("secret", "a password\n")
	base := s.rev("HEAD")
	s.achieved(base, s.aside("new", "new\n"))
	s.git("rm", "-q", "secret")
	s.write("other", "other\n")
	s.git("add", "other")
	s.git("commit", "-q", "--amend", "-m", "no secret")
	before := s.rev("main")

	_, said, err := s.run("land", "--rebase", "--dry-run")
	s.Must(err)
	has(t, said, "warning: 1 commit comes along that is older than the goal", "  "+base[:10]+" write secret\n")
	out, _, err := s.run("land", "--rebase", "-o", "json")
	s.Must(err)
	has(t, out, `"older": [`, base)
	if s.text("secret") == "" {
		t.Fatal("no old version came along: the test shows nothing")
	}
	s.git("reset", "-q", "--keep", before)

	hint := said[strings.Index(said, "the goal's commits alone: ")+len("the goal's commits alone: "):]
	line, _, _ := strings.Cut(hint, "\n")
	first, second, _ := strings.Cut(strings.ReplaceAll(line, "NAME", "side"), " && ")
	_, _, err = s.run(strings.Fields(first)[1:]...)
	s.Must(err)
	s.Must(s.types(second))
	s.git("switch", "-q", "main")
	s.git("merge", "-q", "--ff-only", "side")
	if files := gitIn(t, s.root, "", "ls-files"); strings.Contains(files, "secret") || !strings.Contains(files, "new") || !strings.Contains(files, "other") {
		t.Errorf("main has %s", files)
	}

	// One whose change the amended one has, too, does not come along by a rebase.
	s.commitFile("draft", "a draft\n")
	s.achieved(s.rev("HEAD"), s.aside("more", "more\n"))
	s.write("late", "late\n")
	s.git("add", "late")
	s.git("commit", "-q", "--amend", "-m", "write draft and more")
	if _, said, err := s.run("land", "--rebase", "--dry-run"); err != nil || strings.Contains(said, "older") {
		t.Errorf("%v: %s", err, said)
	}
	if _, said, err := s.run("land", "--merge", "--dry-run"); err != nil || !strings.Contains(said, "1 commit comes along that is older") {
		t.Errorf("%v: %s", err, said)
	}

	// A goal that began from a commit of the branch has none.
	s.achieved(s.rev("main"), s.aside("song", "two\n"))
	if _, said, err = s.run("land"); err != nil || strings.Contains(said, "older") {
		t.Errorf("%v: %s", err, said)
	}
}

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// apart are repositories of which git does not name the main working tree.
var apart = map[string]func(s *stage){
	"submodule": func(s *stage) {
		above := filepath.Dir(s.root)
		gitIn(s.t, above, "", "init", "-q", "-b", "main")
		gitIn(s.t, above, "", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./"+filepath.Base(s.root), filepath.Base(s.root))
		gitIn(s.t, above, "", "submodule", "absorbgitdirs")
	},
	"separate git directory": func(s *stage) {
		s.git("init", "-q", "--separate-git-dir", filepath.Join(filepath.Dir(s.root), "of work ß.git"))
	},
}

// works moves the instance to another working tree.
func (s *stage) works(dir string) {
	s.t.Helper()
	in := &instance.Instance{Dir: filepath.Join(s.home, "sett", "stage"), State: instance.State{Name: "stage", Workspace: dir, Runtime: config.RuntimeProcess, URL: s.Server.URL, External: true}}
	s.Must(in.Save())
}

// The files of a main working tree that git does not name are landed on all the same, from there, from a
// linked one, and by name.
func TestLandInUnnamedMainTree(t *testing.T) {
	t.Parallel()
	for name, make := range apart {
		t.Run(name, func(t *testing.T) {
			s := landStage(t)
			make(s)
			base := s.rev("main")
			result := s.aside("a", "1\n")
			s.achieved(base, result)
			other := filepath.Join(filepath.Dir(s.root), "linked")
			s.git("worktree", "add", "-q", "-b", "topic", other, "main")
			landed := func(args ...string) {
				t.Helper()
				p := s.land(args...)
				if p.Branch != "main" || p.Directory != s.root || s.rev("main") != result || s.text("a") != "1\n" {
					t.Errorf("land %q: %+v", args, p)
				}
				s.clean()
				s.undo(p)
				if s.rev("main") != base || s.text("a") == "1\n" {
					t.Errorf("land %q: not undone", args)
				}
				s.clean()
			}
			landed()
			landed("--onto", "main")
			p := s.land("--onto", "topic")
			if p.Directory != other || s.rev("topic") != result || gitIn(t, other, "", "status", "--porcelain") != "" {
				t.Errorf("onto the linked tree: %+v", p)
			}
			s.elsewhere = true
			landed("-C", other, "--name", "stage", "--onto", "main")
			landed("-C", t.TempDir(), "--name", "stage", "--onto", "main")
			s.works(other)
			landed("-C", s.root, "--name", "stage")
			s.write("a", "mine\n")
			_, _, err := s.run("land", "-C", s.root, "--name", "stage")
			if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "would overwrite files that are not committed\na") || s.rev("main") != base {
				t.Errorf("over a file: %v", err)
			}
		})
	}
}

// Where nothing leads to the main working tree, its branch stays as it is. The hint frees it, once the
// directory is gone.
func TestLandNotInHiddenMainTree(t *testing.T) {
	s := landStage(t)
	apart["separate git directory"](s)
	base := s.rev("main")
	result := s.aside("a", "1\n")
	s.achieved(base, result)
	other := filepath.Join(filepath.Dir(s.root), "linked")
	s.git("worktree", "add", "-q", "-b", "topic", other, "main")
	s.works(other)
	s.elsewhere = true
	in := []string{"-C", other, "--name", "stage"}
	own := s.rev("--absolute-git-dir")
	_, _, err := s.run(append([]string{"land", "--onto", "main"}, in...)...)
	if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "land on main: it is checked out in the main working tree of "+own) {
		t.Fatalf("%v", err)
	}
	_, _, there := s.run("land", "-C", own, "--name", "stage")
	if role.CodeOf(there) != role.Failed || there.Error() != err.Error() {
		t.Errorf("in the git directory: %v", there)
	}
	if s.rev("main") != base {
		t.Error("main was moved")
	}
	s.clean()
	p := s.land(in...)
	if p.Branch != "topic" || p.Directory != other || gitIn(t, other, "", "rev-parse", "topic") != result {
		t.Errorf("on the branch here: %+v", p)
	}
	s.Must(os.RemoveAll(s.root))
	_, command, _ := strings.Cut(hint(err), "if the directory is gone: ")
	free := exec.Command("sh", "-c", command)
	free.Dir = other
	if out, err := free.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	p = s.land(append(in, "--onto", "main")...)
	if p.Directory != "" || gitIn(t, other, "", "rev-parse", "main") != result {
		t.Errorf("on the branch that is free: %+v", p)
	}
}

// A repository that is bare by a setting of its own tree has no main working tree.
func TestLandBareParentByItsTree(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	bare := filepath.Join(filepath.Dir(s.root), "bare.git")
	gitIn(t, s.root, "", "clone", "-q", "--bare", s.root, bare)
	s.Must(os.RemoveAll(s.root))
	gitIn(t, bare, "", "config", "extensions.worktreeConfig", "true")
	gitIn(t, bare, "", "config", "--worktree", "core.bare", "true")
	gitIn(t, bare, "", "config", "--file", filepath.Join(bare, "config"), "--unset", "core.bare")
	gitIn(t, bare, "", "worktree", "add", "-q", "-b", "topic", s.root, "main")
	s.git("checkout", "-q", "--detach")
	result := s.commitFile("a", "1\n")
	s.git("checkout", "-q", "topic")
	s.achieved(base, result)
	p := s.land("--onto", "main")
	if p.Directory != "" || s.rev("main") != result {
		t.Errorf("plan %+v", p)
	}
}

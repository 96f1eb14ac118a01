package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/role"
)

// withModule commits a submodule with a file, and returns the commit.
func (s *stage) withModule(at string) string {
	s.t.Helper()
	source := filepath.Join(s.t.TempDir(), "source")
	gitIn(s.t, s.root, "", "init", "-q", source)
	s.Must(os.WriteFile(filepath.Join(source, "a"), []byte("a\n"), 0o600))
	s.Must(os.WriteFile(filepath.Join(source, ".gitignore"), []byte("ignored\n"), 0o600))
	gitIn(s.t, source, "", "add", "-A")
	gitIn(s.t, source, "", "commit", "-q", "-m", "a")
	s.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source, at)
	s.git("commit", "-q", "-m", "a submodule")
	return s.rev("HEAD")
}

// instead makes a commit on top of main in which files are in the place of a path.
func (s *stage) instead(of string, files ...string) string {
	s.t.Helper()
	other := filepath.Join(s.t.TempDir(), "other")
	s.git("worktree", "add", "-q", "--detach", other, "main")
	s.Must(os.RemoveAll(filepath.Join(other, of)))
	for i := 0; i < len(files); i += 2 {
		s.Must(os.MkdirAll(filepath.Dir(filepath.Join(other, files[i])), 0o755))
		s.Must(os.WriteFile(filepath.Join(other, files[i]), []byte(files[i+1]), 0o600))
	}
	if data, err := os.ReadFile(filepath.Join(other, ".gitmodules")); err == nil && strings.Contains(string(data), "path = "+of) {
		s.Must(os.Remove(filepath.Join(other, ".gitmodules")))
	}
	gitIn(s.t, other, "", "rm", "-r", "-q", "--cached", "--ignore-unmatch", of)
	gitIn(s.t, other, "", "add", "-fA")
	gitIn(s.t, other, "", "commit", "-q", "-m", "files")
	commit := gitIn(s.t, other, "", "rev-parse", "HEAD")
	s.git("worktree", "remove", "--force", other)
	return commit
}

// inWay lands, which is to be refused with these words, and returns the hint. Nothing is changed then.
func (s *stage) inWay(words string) string {
	s.t.Helper()
	look := func() string {
		return s.rev("main") + gitIn(s.t, s.root, "", "ls-files", "--stage") + gitIn(s.t, s.root, "", "status", "--porcelain", "--ignored", "-uall") + strings.Join(s.everything(), "\n")
	}
	before := look()
	_, _, err := s.run("land")
	if role.CodeOf(err) != role.Failed || err.Error() != words {
		s.t.Fatalf("not refused with\n%s\nbut %v", words, err)
	}
	if after := look(); after != before {
		s.t.Errorf("something was changed:\n%s\n%s", before, after)
	}
	return hint(err)
}

// everything are all files and folders of the working tree.
func (s *stage) everything() (all []string) {
	s.t.Helper()
	out, err := exec.Command("find", s.root, "-not", "-path", s.root+"/.git/*").Output()
	s.Must(err)
	return strings.Split(string(out), "\n")
}

// types types the part of a hint that is a command.
func (s *stage) types(command string) error {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = s.root, os.Environ()
	for name, value := range s.vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

// A submodule that is checked out is in the way of files in its place, and nothing of it is lost: git makes room where
// the person has no changes in it.
func TestLandOverASubmodule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at    string
		files []string
	}{
		"files in it":               {"lib", []string{"lib/a", "a\n", "lib/b", "b\n"}},
		"other files in it":         {"lib", []string{"lib/b", "b\n"}},
		"a file":                    {"lib", []string{"lib", "new\n"}},
		"a file for its folder":     {"third/lib", []string{"third", "new\n"}},
		"files below in its folder": {"third/lib ü", []string{"third/lib ü/a/deep", "new\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := landStage(t)
			base := s.withModule(c.at)
			result := s.instead(strings.Split(c.at, "/")[0], c.files...)
			s.achieved(base, result)
			s.write(c.at+"/own", "mine\n")
			said := s.inWay("landing on main would put files in the place of 1 submodule that is checked out\n" + c.at)
			command, _, _ := strings.Cut(said, " makes room")
			has(t, said, "git submodule deinit "+role.ShellWord(c.at)+" makes room", "ignored files")
			if s.types(command) == nil || s.text(c.at+"/own") != "mine\n" {
				t.Fatal("the hint's command loses changes")
			}
			gitIn(t, filepath.Join(s.root, c.at), "", "stash", "-q", "-u")
			s.Must(s.types(command))
			p := s.land()
			if s.rev("main") != result || s.text(c.files[0]) != c.files[1] {
				t.Errorf("not landed: %+v", p)
			}
			s.clean()
			s.undo(p)
			s.clean()
			s.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--", c.at)
			gitIn(t, filepath.Join(s.root, c.at), "", "stash", "pop", "-q")
			if s.rev("main") != base || s.text(c.at+"/own") != "mine\n" || s.text(c.at+"/a") != "a\n" {
				t.Error("the undo does not bring it back")
			}
			s.Must(os.Remove(filepath.Join(s.root, c.at, "own")))
			s.Must(s.types(command))
			_, stderr, err := s.run("land")
			s.Must(err)
			if strings.Contains(stderr, "folder stays") {
				t.Errorf("stderr %s", stderr)
			}
		})
	}
}

// The folder of a submodule that is not checked out may have files of the person.
func TestLandOverFilesInASubmodule(t *testing.T) {
	s := landStage(t)
	base := s.withModule("lib")
	s.achieved(base, s.instead("lib", "lib/a", "new\n", "lib/b", "new\n"))
	s.git("submodule", "--quiet", "deinit", "lib")
	s.write("lib/a", "mine\n")
	s.write("lib/own", "mine\n")
	s.inWay("landing on main would overwrite files that are not committed\nlib/a")
	s.write("lib/a", "new\n") // as a landing leaves it that was killed
	p := s.land()
	if s.text("lib/own") != "mine\n" || s.text("lib/b") != "new\n" {
		t.Errorf("not landed, or a file is gone: %q, %q", s.text("lib/own"), s.text("lib/b"))
	}
	s.undo(p)
	s.achieved(base, s.instead("lib", "lib", "new\n"))
	s.inWay("landing on main would overwrite files that are not committed\nlib/own")
	s.Must(os.RemoveAll(filepath.Join(s.root, "lib")))
	s.write("lib", "new\n")
	s.land()
	s.clean()
}

// A submodule with a commit of the person is not taken to be at another one.
func TestLandMovesASubmoduleWithACommit(t *testing.T) {
	s := landStage(t)
	base := s.withModule("lib")
	in := filepath.Join(s.root, "lib")
	old := gitIn(t, in, "", "rev-parse", "HEAD")
	gitIn(t, in, "", "commit", "-q", "--allow-empty", "-m", "theirs")
	s.git("add", "lib")
	result := gitIn(t, s.root, "", "commit-tree", "-p", base, "-m", "moved", gitIn(t, s.root, "", "write-tree"))
	s.achieved(base, result)
	gitIn(t, in, "", "reset", "-q", "--hard", old)
	gitIn(t, in, "", "commit", "-q", "--allow-empty", "-m", "mine")
	for _, staged := range []bool{false, true} {
		s.git("reset", "-q")
		if staged {
			s.git("add", "lib")
		}
		said := s.inWay("landing on main would change 1 submodule that is at another commit than committed\nlib")
		has(t, said, "git restore --staged lib && git submodule update lib takes it back")
		mine := gitIn(t, in, "", "rev-parse", "HEAD")
		s.Must(s.types("git restore --staged lib && git submodule update lib"))
		if !staged {
			gitIn(t, in, "", "checkout", "-q", mine)
		}
	}
	s.land()
	if s.rev("main") != result {
		t.Error("not landed")
	}
}

// A repository of its own in the working tree, and what is staged alone, is in the way of a file in its place, above it and below.
func TestLandOverARepository(t *testing.T) {
	t.Parallel()
	const nested, plain = "landing on main would put files in the place of 1 folder with a repository of its own\n", "landing on main would overwrite files that are not committed\n"
	for name, c := range map[string]struct{ result, own, stage, refused string }{
		"in its place":          {"d", "d/", "", nested + "d"},
		"below it":              {"d/a", "d/", "", nested + "d"},
		"above it":              {"d", "d/e/", "", nested + "d/e"},
		"staged, in its place":  {"d", "d/", "d", nested + "d"},
		"staged, below it":      {"d/a", "d/", "d", nested + "d"},
		"staged, above it":      {"d", "d/e/", "d/e", nested + "d/e"},
		"a staged file, below":  {"d/a", "d", "d", plain + "d"},
		"a staged file, above":  {"d", "d/a", "d/a", plain + "d/a"},
		"a staged file, far up": {"d", "d/e/f/a", "d/e/f/a", plain + "d/e/f/a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := landStage(t)
			base := s.rev("main")
			s.achieved(base, s.instead("d", c.result, "new\n"))
			dir, folder := strings.CutSuffix(c.own, "/")
			if folder {
				s.git("clone", "-q", ".", dir)
				s.write(dir+"/a", "mine\n")
			} else {
				s.Must(os.MkdirAll(filepath.Dir(filepath.Join(s.root, dir)), 0o755))
				s.write(dir, "mine\n")
			}
			if c.stage != "" {
				s.git("add", c.stage)
			}
			s.inWay(c.refused)
		})
	}
}

// git's undo of a folder in the place of a file asks for nothing that is staged there: that is said.
func TestLandAFolderForAFile(t *testing.T) {
	s := landStage(t)
	base := s.commitFile("d", "old\n")
	s.achieved(base, s.instead("d", "d/a", "new\n"))
	_, stderr, err := s.run("land")
	s.Must(err)
	has(t, stderr, "sett: note: 1 file is a folder now: d; with the undo git removes files that are staged there")
}

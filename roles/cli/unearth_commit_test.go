package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/cli/commit"
	"sett/roles/role"
	"sett/roles/role/git"
)

// gitIn runs git in a directory and returns what it prints.
func gitIn(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commits makes two commits as an agent might: a binary file, a rename, a message
// that clears the screen. It returns their hashes.
func (s *stage) commits() (first, second string) {
	s.t.Helper()
	s.write("kept.txt", "one\ntwo\nthree\nfour\nfive\n")
	s.write("data", "\x00\x01\x02binary")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "add what there is")
	first = gitIn(s.t, s.root, "", "rev-parse", "HEAD")
	s.git("mv", "kept.txt", "moved.txt")
	s.write("moved.txt", "one\ntwo\nthree\nfour\n\x1b[2Jsix\n")
	s.write("data", "\x00\x03")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "move it\x1b[2J\n\nBecause of \x1b]0;title\x07 this.")
	return first, gitIn(s.t, s.root, "", "rev-parse", "HEAD")
}

// codeCommit puts an artefact on the board that says it is a commit.
func (s *stage) codeCommit(payload string) string {
	s.t.Helper()
	_, id := s.work(s.Goal("a commit"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: blackboard.TypeCodeCommit, Payload: payload})
	return id
}

func TestUnearthCommit(t *testing.T) {
	s := newStage(t)
	first, second := s.commits()
	id := s.codeCommit(second + "\n")
	stdout, stderr, err := s.run("unearth", id)
	s.Must(err)
	has(t, stdout, "commit "+second+"\nAuthor: t <t@example.org>\nDate:   ", "\n    move it\\x1b[2J\n\n    Because of \\x1b]0;title\\a this.\n",
		" data                  | Bin\n", " kept.txt => moved.txt | 2 +-\n", " 2 files changed, 1 insertion(+), 1 deletion(-)\n")
	if stderr != "" || strings.Contains(stdout, "\x1b") {
		t.Errorf("it says %q and prints %q", stderr, stdout)
	}
	if stdout, _, err = s.run("unearth", id, "--raw"); err != nil || stdout != second+"\n" {
		t.Errorf("--raw: %q, %v", stdout, err)
	}
	stdout, _, err = s.run("unearth", id, "-o", "json")
	s.Must(err)
	var v struct {
		ID      string
		Payload string
		Commit  commit.Commit
	}
	s.Must(json.Unmarshal([]byte(stdout), &v))
	if v.ID != id || v.Payload != second+"\n" || v.Commit.Hash != second || len(v.Commit.Parents) != 1 || v.Commit.Parents[0] != first ||
		v.Commit.Subject != "move it\x1b[2J" || !strings.HasPrefix(v.Commit.Body, "Because") || v.Commit.Date.IsZero() || v.Commit.Patch != "" {
		t.Errorf("got %+v", v)
	}
	if f := v.Commit.Files; len(f) != 2 || !f[0].Binary || f[1] != (commit.File{Path: "moved.txt", From: "kept.txt", Added: 1, Deleted: 1}) {
		t.Errorf("files %+v", f)
	}
	stdout, _, err = s.run("unearth", id, "-o", "json", "--diff")
	s.Must(err)
	has(t, stdout, `"patch": "diff --git a/data b/data\n`)
	stdout, _, err = s.run("unearth", s.codeCommit(strings.ToUpper(first[:12])), "-o", "table")
	s.Must(err)
	has(t, stdout, "payload            12 bytes", "\ncommit "+first+"\n", " data     | Bin\n", " kept.txt | 5 +++++\n")
}

// What --diff writes into a pipe is what git apply needs, whatever the user likes
// diffs to look like; where people read it, it is harmless.
func TestUnearthDiff(t *testing.T) {
	s := newStage(t)
	first, second := s.commits()
	for name, value := range map[string]string{"diff.noprefix": "true", "diff.mnemonicPrefix": "true", "color.ui": "always", "diff.renames": "copies", "core.quotePath": "false", "diff.context": "0"} {
		s.git("config", name, value)
	}
	id := s.codeCommit(second)
	patch, _, err := s.run("unearth", id, "--diff")
	s.Must(err)
	clone := filepath.Join(t.TempDir(), "clone")
	s.git("branch", "before", first)
	gitIn(t, s.root, "", "clone", "-q", "--single-branch", "--branch", "before", "file://"+s.root, clone) // without what came later
	gitIn(t, clone, patch, "apply", "--index")
	if got, want := gitIn(t, clone, "", "write-tree"), gitIn(t, s.root, "", "rev-parse", second+"^{tree}"); got != want {
		t.Errorf("applied, the patch makes tree %s, want %s:\n%s", got, want, patch)
	}
	stdout, _, err := s.run("unearth", id, "--diff", "--color", "always")
	s.Must(err)
	has(t, stdout, "\x1b[1mdiff --git a/data b/data\x1b[0m\n", "\x1b[31m-five\x1b[0m\n", "\x1b[32m+\\x1b[2Jsix\x1b[0m\n")

	root := s.codeCommit(gitIn(t, s.root, "", "rev-list", "--max-parents=0", "HEAD"))
	stdout, _, err = s.run("unearth", root, "--diff")
	s.Must(err)
	has(t, stdout, "diff --git a/sett.yml b/sett.yml\nnew file mode 100644\n")
}

// A rework can be compared with what it reworked.
func TestUnearthPrevious(t *testing.T) {
	s := newStage(t)
	first, _ := s.commits()
	s.write("third", "3\n")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "third")
	_, v1 := s.work(s.Goal("goal"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: blackboard.TypeCodeCommit, Payload: first})
	_, v2 := s.work(s.Goal("goal"), blackboard.Artefact{LogicalID: v1, StructuralType: blackboard.Standard, Type: blackboard.TypeCodeCommit, Payload: gitIn(t, s.root, "", "rev-parse", "HEAD")})
	stdout, _, err := s.run("unearth", v2, "--previous")
	s.Must(err)
	has(t, stdout, "rename to moved.txt", "+++ b/third")
	stdout, _, err = s.run("unearth", v2, "--diff")
	s.Must(err)
	if strings.Contains(stdout, "moved.txt") {
		t.Errorf("the commit's own patch has more than it changed:\n%s", stdout)
	}
	_, _, err = s.run("unearth", v1, "--previous")
	if role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "first version") {
		t.Errorf("a first version: %v", err)
	}
}

// Whatever an artefact says its commit is, git is asked about nothing but a hash,
// and a commit that is not there is an error that says so.
func TestUnearthNoCommit(t *testing.T) {
	s := newStage(t)
	first, _ := s.commits()
	tree := gitIn(t, s.root, "", "rev-parse", "HEAD^{tree}")
	s.git("branch", "deadbeef")
	s.git("branch", "0123456789012345678901234567890123456789")
	for payload, code := range map[string]role.Code{
		"--output=" + filepath.Join(s.root, "made"): role.Failed,
		"--ext-diff":                           role.Failed,
		"HEAD":                                 role.Failed,
		first + " --output=made":               role.Failed,
		first + "\n--output=made":              role.Failed,
		"$(touch made)":                        role.Failed,
		"":                                     role.Failed,
		"\x1b[2J" + strings.Repeat("x", 1<<20): role.Failed,
		"deadbeef":                             role.NotFound, // a branch
		"0123456789012345678901234567890123456789": role.NotFound,
		tree:                    role.NotFound,
		strings.Repeat("a", 40): role.NotFound,
		first + "00":            role.NotFound,
	} {
		id := s.codeCommit(payload)
		for _, flags := range [][]string{{}, {"--diff"}, {"-o", "json", "--diff"}} {
			stdout, _, err := s.run(append([]string{"unearth", id}, flags...)...)
			if role.CodeOf(err) != code || stdout != "" {
				t.Errorf("%.60q %v: code %d, %v; it prints %q", payload, flags, role.CodeOf(err), err, stdout)
				continue
			}
			if code != role.Failed {
				has(t, hint(err), "--raw")
			}
			if len(err.Error()) > 300 || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%.60q: %q", payload, err)
			}
		}
		if stdout, _, err := s.run("unearth", id, "--raw"); err != nil || stdout != payload {
			t.Errorf("%.60q --raw: %.60q, %v", payload, stdout, err)
		}
		stdout, _, err := s.run("unearth", id, "-o", "json")
		s.Must(err)
		has(t, stdout, `"commit": null,`, `"commit_error": "`)
	}
	if _, err := os.Stat(filepath.Join(s.root, "made")); err == nil {
		t.Error("a payload made a file")
	}
	_, note := s.work(s.Goal("goal"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Note", Payload: first})
	if stdout, _, err := s.run("unearth", note); err != nil || stdout != first {
		t.Errorf("a hash of another type: %q, %v", stdout, err)
	}
	for _, args := range [][]string{{"unearth", note, "--diff"}, {"unearth", note, "--raw", "-o", "json"}, {"unearth", note, "--raw", "--diff"}} {
		if _, _, err := s.run(args...); role.CodeOf(err) != role.Usage {
			t.Errorf("%v: code %d, %v", args, role.CodeOf(err), err)
		}
	}
}

// What an agent wrote into the repository's configuration and attributes is not
// run, when a commit is shown, though git by itself would.
func TestUnearthRunsNothing(t *testing.T) {
	s := newStage(t)
	ran, script := filepath.Join(s.home, "ran"), filepath.Join(s.home, "script")
	s.Must(os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\ncat \"$1\" 2>/dev/null\nexit 0\n"), 0o755)) //nolint:gosec // it has to be a program
	for name, value := range map[string]string{"diff.external": script, "diff.mine.textconv": script, "diff.mine.command": script, "core.fsmonitor": script,
		"core.pager": script, "pager.show": script, "log.showSignature": "true", "gpg.program": script, "core.hooksPath": s.home, "alias.show": "!" + script} {
		s.git("config", name, value)
	}
	s.write(".gitattributes", "* diff=mine\n")
	_, second := s.commits()
	object := strings.Replace(gitIn(t, s.root, "", "cat-file", "commit", second), "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1)
	signed := gitIn(t, s.root, object+"\n", "hash-object", "-t", "commit", "-w", "--stdin")
	_ = os.Remove(ran)
	gitIn(t, s.root, "", "show", signed)
	if err := os.Remove(ran); err != nil {
		t.Fatalf("git does not run it anyway: %v", err)
	}
	id := s.codeCommit(signed)
	for _, flags := range [][]string{{}, {"--diff"}, {"-o", "json"}} {
		_, _, err := s.run(append([]string{"unearth", id}, flags...)...)
		s.Must(err)
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("unearth %v ran it", flags)
		}
	}
}

// Without git, or outside a repository, that is what is missing.
func TestUnearthWithoutGit(t *testing.T) {
	artefact := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Standard, Type: blackboard.TypeCodeCommit, Payload: strings.Repeat("a", 40)}
	g := commit.Repository{Repository: git.Repository{Dir: t.TempDir(), Environ: os.Environ()}, Hint: func(args string) string { return args }}
	_, err := g.HashOf(t.Context(), artefact)
	if role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("outside a repository: code %d, %v", role.CodeOf(err), err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = g.HashOf(t.Context(), artefact)
	if role.CodeOf(err) != role.Environment || hint(err) != "install git" {
		t.Errorf("without git: code %d, %v", role.CodeOf(err), err)
	}
}

// An artefact of any type may name a commit, beside its payload or as its payload; every
// command that shows artefacts shows it.
func TestCommitOfAnyType(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	commit := s.aside("a", "1\n")
	goal := s.Goal("plan it")
	claim, plan := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Plan", Payload: "the plan\n", Summary: "planned", Commit: commit})
	s.Complete(claim)
	claim = s.open(plan, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer")
	code := s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "TerraformCode", Payload: commit, Commit: commit})
	s.Complete(claim)
	short := blackboard.ShortID(plan)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"unearth " + plan, []string{"the plan\n"}},
		{"unearth " + plan + " --diff", []string{"diff --git a/a b/a\n", "+1\n"}},
		{"unearth " + plan + " -o json", []string{`"payload": "the plan\n"`, `"hash": "` + commit + `"`, `"subject": "write a"`}},
		{"unearth " + plan + " --meta", []string{"commit             " + commit + "\n"}},
		{"unearth " + code, []string{"commit " + commit + "\n", " a | 1 +\n"}},
		{"unearth " + code + " --raw", []string{commit}},
		{"show " + plan, []string{"  commit ", commit}},
		{"show " + plan + " -o json", []string{`"commit": "` + commit + `"`}},
		{"hoard", []string{short, "commit " + commit[:10] + ": planned"}},
		{"hoard -o json", []string{`"commit": "` + commit + `"`}},
		{"why " + code, []string{"commit " + commit[:10] + ": planned"}},
		{"why " + code + " -o json", []string{`"commit": "` + commit + `"`}},
		{"graph " + goal, []string{"commit " + commit[:10] + ": planned"}},
		{"graph " + goal + " -o json", []string{`"commit": "` + commit + `"`}},
		{"watch --since all --exit-when-done -o json", []string{`"commit": "` + commit + `"`}},
		{"ledger export", []string{`"commit":"` + commit + `"`}},
		{"land " + plan, []string{"main: " + base[:10] + ".." + commit[:10]}},
		{"land " + goal, []string{"is already there"}},
	} {
		stdout, stderr, err := s.run(strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%s: %v\n%s", c.args, err, stderr)
		}
		has(t, stdout, c.want...)
		if strings.Count(stdout, `"commit":`) > 1 && strings.HasPrefix(c.args, "unearth") {
			t.Errorf("%s: two commits\n%s", c.args, stdout)
		}
	}
}

package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/roles/role/hosttest"
)

func TestMain(m *testing.M) {
	hosttest.PlainGit()
	os.Exit(m.Run())
}

// What an agent wrote into the repository's configuration is not run when people
// use sett there.
func TestGitRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755); err != nil { //nolint:gosec // it has to be a program
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("config", "core.fsmonitor", script)
	git("status", "--porcelain")
	if _, err := os.Stat(ran); err != nil {
		t.Fatalf("git does not run it anyway: %v", err)
	}
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	if _, err := (Repository{dir, os.Environ()}).Dirt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("sett ran it")
	}
}

// repository makes one with a commit on main and two beside it, one of them merged.
func repository(t *testing.T) (g Repository, run func(args ...string) string) {
	t.Helper()
	dir := t.TempDir()
	run = func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "-b", "main")
	run("commit", "-q", "--allow-empty", "-m", "first")
	return Repository{dir, os.Environ()}, run
}

// A ref goes with its ledger, unless its commit would go with it.
func TestLetGo(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	if left, err := g.LetGo(t.Context(), "x"); left != 0 || err != nil {
		t.Errorf("without any: %d left, error %v", left, err)
	}
	merged := run("rev-parse", "HEAD")
	alone := run("commit-tree", "-m", "alone", "HEAD^{tree}")
	for ref, commit := range map[string]string{HeldRef("x", "1"): merged, HeldRef("x", "2"): merged, HeldRef("x", "3"): alone, HeldRef("xy", "4"): merged} {
		run("update-ref", ref, commit)
	}
	left, err := g.LetGo(t.Context(), "x")
	if err != nil || left != 1 {
		t.Errorf("%d left, error %v", left, err)
	}
	if refs := run("for-each-ref", "--format=%(refname)", "refs/sett"); refs != HeldRef("x", "3")+"\n"+HeldRef("xy", "4") {
		t.Errorf("refs:\n%s", refs)
	}
	run("update-ref", "-d", HeldRef("x", "3"))
	run("update-ref", HeldRef("x", "5"), merged)
	if left, err := g.LetGo(t.Context(), "x"); left != 0 || err != nil {
		t.Errorf("all merged: %d left, error %v", left, err)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	commit, tree, none := run("rev-parse", "HEAD"), run("rev-parse", "HEAD^{tree}"), strings.Repeat("ab", 20)
	missing, err := g.Missing(t.Context(), []string{none, commit, tree, commit[:8]})
	if err != nil || strings.Join(missing, " ") != none+" "+tree {
		t.Errorf("missing %v, error %v", missing, err)
	}
}

// An object that is not there is not fetched from where an agent says.
func TestNothingIsFetched(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	ran := filepath.Join(g.Dir, "ran")
	for key, value := range map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "evil", "remote.evil.promisor": "true", "remote.evil.url": g.Dir,
		"remote.evil.uploadpack": "touch " + ran + ";", "protocol.file.allow": "always",
	} {
		run("config", key, value)
	}
	none := strings.Repeat("ab", 20)
	cmd := exec.Command("git", "cat-file", "-t", none)
	cmd.Dir = g.Dir
	_ = cmd.Run()
	if _, err := os.Stat(ran); err != nil {
		t.Fatalf("git does not run it anyway: %v", err)
	}
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	if missing, err := g.Missing(t.Context(), []string{none}); len(missing) != 1 && err == nil {
		t.Errorf("missing %v", missing)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("sett ran it")
	}
}

// A commit that git may remove any day is not reached; one below a branch, a tag or HEAD is.
func TestUnreached(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	first := run("rev-parse", "HEAD")
	tree := run("rev-parse", "HEAD^{tree}")
	dangling := run("commit-tree", "-p", first, "-m", "dangling", tree)
	tagged := run("commit-tree", "-p", first, "-m", "tagged", tree)
	run("tag", "t", tagged)
	run("commit", "-q", "--allow-empty", "-m", "second")
	none := strings.Repeat("1", 40)
	got, err := Unreached(t.Context(), g, []string{first, dangling, tagged, none, run("rev-parse", "HEAD")})
	if err != nil || !slices.Equal(got, []string{none, dangling}) {
		t.Errorf("%q %v", got, err)
	}
	run("checkout", "-q", "--detach", dangling)
	if got, err := Unreached(t.Context(), g, []string{dangling}); err != nil || len(got) > 0 {
		t.Errorf("at HEAD: %q %v", got, err)
	}
}

// A file that was written without its filter is taken for changed, however old the index is, and git checkout writes it.
func TestDistrust(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	run("config", "filter.rot.clean", "tr a-z n-za-m")
	run("config", "filter.rot.smudge", "tr a-z n-za-m")
	write := func(name, text string) {
		t.Helper()
		path, old := filepath.Join(g.Dir, name), time.Now().Add(-time.Hour)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	write(".gitattributes", "*.dat filter=rot\n")
	write("a.dat", "secret\n")
	run("add", "-A")
	run("commit", "-q", "-m", "a")
	write("a.dat", "frperg\n")
	run("-c", "filter.rot.clean=", "update-index", "--refresh") // Sett's, which takes it to be as committed
	if out := run("status", "--short"); out != "" {
		t.Fatalf("git sees %q anyway", out)
	}
	if err := Distrust(t.Context(), g, g.Dir, []string{"a.dat", "not there"}); err != nil {
		t.Fatal(err)
	}
	if out := run("status", "--short"); strings.TrimSpace(out) != "M a.dat" {
		t.Errorf("git sees %q", out)
	}
	run("checkout", "--", "a.dat")
	if text, err := os.ReadFile(filepath.Join(g.Dir, "a.dat")); err != nil || string(text) != "secret\n" {
		t.Errorf("%q, %v", text, err)
	}
}

package e2e

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard/boardtest"
	"sett/roles/role/repository"
	"sett/roles/role/store"
)

// TestRepositoryInAContainer: the role in a container of its own prepares a tree for a tool
// in another one, which has no network and cannot write the store, and takes its commit; also
// after the role was killed.
func TestRepositoryInAContainer(t *testing.T) {
	needEngine(t)
	const user, key = "1234:1234", "secret"
	dir := t.TempDir()
	person, trees := filepath.Join(dir, "person"), filepath.Join(dir, "trees")
	base := shell(t, dir, `git init -q -b main person && cd person && echo one > file && git add -A && git commit -qm first && git rev-parse HEAD`)
	s, err := store.Create(t.Context(), filepath.Join(dir, "store"), "sha1", []string{filepath.Join(person, ".git", "objects")})
	if err == nil {
		err = s.Hold(t.Context(), store.Goal("goal"), base)
	}
	tree := s.Tree(trees, "writer", store.Seen{Objects: "/objects"})
	if err = errors.Join(err, tree.Make()); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, "chown -R "+user+" store trees && chmod 0711 .")
	t.Cleanup(func() { shell(t, dir, "chown -R 0:0 store trees") })

	walls := []string{"--user", user, "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--tmpfs", "/tmp"}
	name := "sett-test-repository-" + strings.ToLower(filepath.Base(filepath.Dir(dir))) + "-" + filepath.Base(dir)
	start := func() *repository.Client {
		t.Helper()
		args := append([]string{"run", "--detach", "--rm", "--name", name, "--publish", "127.0.0.1::7070"}, walls...)
		for _, v := range []string{"SETT_INSTANCE_NAME=test", "SETT_REPOSITORY_ADDR=:7070", "SETT_REPOSITORY_KEY=" + key, "SETT_STORE=/store",
			"SETT_TREES=/trees", "SETT_OBJECTS=/objects", "SETT_HEALTH_ADDR=off"} {
			args = append(args, "--env", v)
		}
		args = append(args, "--volume", s.Dir+":/store", "--volume", trees+":/trees", "--volume", static.path+":/sett:ro", "--entrypoint", "/sett", baseImage, "repository")
		if _, err := dockerSays(args...); err != nil {
			t.Fatal(err)
		}
		at, err := dockerSays("port", name, "7070/tcp")
		if err != nil {
			t.Fatal(err)
		}
		return &repository.Client{URL: "http://" + strings.Fields(at)[0], Agent: "writer", Slot: "writer", Token: repository.Token(key, "writer"),
			HTTP: &http.Client{Timeout: time.Minute}}
	}
	client := start()
	t.Cleanup(func() { _, _ = dockerSays("kill", name) })
	grant := repository.Grant{Claim: "claim", Attempt: 1}
	var w repository.Prepared
	boardtest.Until(t, "the role's answer", func() bool {
		w, err = client.Prepare(t.Context(), repository.Prepare{Grant: grant, Goal: "goal", Branch: "main"})
		return err == nil
	})
	if err != nil || w.Commit != base {
		t.Fatalf("%+v %v", w, err)
	}

	tool := append([]string{"run", "--rm", "--network", "none", "--volume", tree.Dir() + ":/workspace", "--volume", s.Objects() + ":/objects:ro", "--workdir", "/workspace",
		"--env", "HOME=/tmp", "--env", "GIT_AUTHOR_NAME=tool", "--env", "GIT_AUTHOR_EMAIL=t@x", "--env", "GIT_COMMITTER_NAME=tool", "--env", "GIT_COMMITTER_EMAIL=t@x"}, walls...)
	made, err := dockerSays(append(tool, baseImage, "sh", "-ec", `[ "$(git log --format=%s)" = first ]; git status --porcelain; ! touch /objects/x 2>/dev/null
		echo two > file; git commit -qam second; printf '[core]\n\thooksPath = /workspace\n' >> .git/config; git rev-parse HEAD`)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dockerSays("kill", name); err != nil {
		t.Fatal(err)
	}
	boardtest.Until(t, "the name to be free", func() bool {
		_, err := dockerSays("inspect", name)
		return err != nil
	})
	client = start()
	var held repository.Held
	boardtest.Until(t, "the next role's answer", func() bool {
		held, err = client.Take(t.Context(), repository.Take{Grant: grant, Hash: made, Artefact: "result"})
		return err == nil || errors.Is(err, repository.ErrTool)
	})
	if err != nil || held.Commit != made {
		t.Fatalf("%+v %v", held, err)
	}
	if got := shell(t, s.Dir, "git --git-dir=. -c safe.directory='*' show refs/sett/artefacts/result:file"); got != "two" {
		t.Errorf("the store has %q", got)
	}
	if got := shell(t, person, "git status --porcelain && git log --format=%s"); got != "first" {
		t.Errorf("the person's repository: %q", got)
	}
}

// shell runs a script as a person, without a configuration of git.
func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=p", "GIT_AUTHOR_EMAIL=p@x", "GIT_COMMITTER_NAME=p", "GIT_COMMITTER_EMAIL=p@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

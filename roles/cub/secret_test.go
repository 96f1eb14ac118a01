package cub

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

const password = "the-blackboards-password"

// The tool gets what it is about and what sett.yml gives it; the credentials are
// not there.
func TestToolEnvironment(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Command: shell("cat >/dev/null; env >env; pwd >pwd; echo '" + good + "'"), "API_KEY": "k",
		env.Token: password, env.PromptExecution: "be brief"})
	claim := c.work("worker", blackboard.PhaseReview, "the goal")
	a := c.result(claim, "worker")
	b, err := os.ReadFile(filepath.Join(r.dir, "env"))
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	for _, want := range []string{"API_KEY=k", "SETT_INSTANCE_NAME=" + instance, "SETT_AGENT_NAME=worker", "SETT_PROMPT_EXECUTION=be brief",
		"SETT_CLAIM_ID=" + claim, "SETT_ATTEMPT=1", "SETT_CLAIM_TYPE=review", "SETT_TARGET_ID=" + a.SourceArtefacts[0],
		"SETT_TARGET_TYPE=GoalDefined", "SETT_TARGET_VERSION=1", "SETT_TARGET_PAYLOAD=the goal"} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, line := range lines {
		if strings.HasPrefix(line, env.RedisURL+"=") || strings.HasPrefix(line, env.Token+"=") || strings.Contains(line, c.server.Addr()) {
			t.Errorf("the tool sees %s", line)
		}
	}
	if dir, err := os.ReadFile(filepath.Join(r.dir, "pwd")); err != nil || strings.TrimSpace(string(dir)) != r.dir {
		t.Errorf("the tool runs in %q, error %v", dir, err)
	}
}

// looking is a tool that writes down what it can get at.
const looking = `cat >/dev/null
{ env; tr '\0' '\n' <"/proc/$PPID/environ"; tr '\0' '\n' <"/proc/$PPID/cmdline"; } >found 2>denied
echo '` + good + `'`

// A cub in a process of its own: its tool cannot read the credentials from the
// environment that the kernel gave the cub. As the cub's own user it may not read
// it at all; as root, whom the kernel denies nothing, it does not find them there.
func TestCredentialsStayInTheCub(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"cub", "cub of nobody"} {
		if who == "cub of nobody" && os.Getuid() != 0 {
			continue // it is somebody already
		}
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			checkCredentials(t, who)
		})
	}
}

func checkCredentials(t *testing.T, who string) {
	c := redisClan(t)
	c.do("ACL", "SETUSER", "cub", "on", ">"+password, "~*", "&*", "+@all")
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	dir := filepath.Join(t.TempDir(), "open")
	must(t, os.Mkdir(dir, 0o700))
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o777)) //nolint:gosec // nobody has to get in
	}
	url := "redis://cub:" + password + "@" + c.server.Addr()
	all := environment(t, url, "worker", vars{env.Command: shell(looking), env.Workspace: dir, "HOME": dir,
		roleVariable: who, claimVariable: claim, env.Token: password})
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = world(all, nil).Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if a := c.result(claim, "worker"); a.Payload != "done" {
		t.Errorf("got %+v", a)
	}
	found, err := os.ReadFile(filepath.Join(dir, "found"))
	must(t, err)
	denied, err := os.ReadFile(filepath.Join(dir, "denied"))
	must(t, err)
	if strings.Contains(string(found), password) || strings.Contains("\n"+string(found), "\n"+env.RedisURL+"=") {
		t.Errorf("the tool found credentials: %s", found)
	}
	if !strings.Contains(string(found), "SETT_CLAIM_ID="+claim) {
		t.Errorf("the tool did not look: %s", found)
	}
	if root := os.Getuid() == 0 && who == "cub"; !root && !strings.Contains(string(denied), "ermission denied") {
		t.Errorf("the tool could read the cub's environment: %s", denied)
	}
	if strings.Contains(string(out), "less protected") || strings.Contains(string(out), password) {
		t.Errorf("the cub says %s", out)
	}
}

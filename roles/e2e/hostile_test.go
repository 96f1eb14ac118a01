package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"crypto/rand"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role/repository"
)

// TestHostile has agents whose tool tries to get at what it must not have. Each
// attempt is refused, and shown to work where it is not forbidden.
func TestHostile(t *testing.T) {
	t.Parallel()
	needEngine(t)
	image := hostileImage(t)
	for name, f := range map[string]func(*testing.T, string){
		"as the workspace's owner, root":   func(t *testing.T, image string) { hostileTools(t, image, possible(0)) },
		"as the workspace's owner, a user": func(t *testing.T, image string) { hostileTools(t, image, possible(1000)) },
		"network":                          hostileNetwork,
		"models":                           hostileModels,
		"greed":                            func(t *testing.T, image string) { hostileGreed(t, image, "hostile", "") },
		"greed of a worker":                func(t *testing.T, image string) { hostileGreed(t, image, "worker", "strategy: fresh_per_call\n") },
		"without hardening":                withoutHardening,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); f(t, image) })
	}
}

// hostileImage makes the image of the tool, testdata/hostile, with programs in it
// that have more rights than who starts them.
func hostileImage(t *testing.T) string {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "hostile"), "./testdata/hostile")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tool: %v\n%s", err, out)
	}
	file(t, filepath.Join(dir, "Dockerfile"), "FROM "+baseImage+`
COPY hostile /usr/local/bin/hostile
RUN cd /usr/local/bin && cp hostile hostile-root && chmod 4755 hostile-root && cp hostile hostile-caps && hostile setcap \
 && mkdir -p /opt/everybody && chmod 1777 /opt/everybody
`, 0o644)
	image := "sett-e2e-hostile:" + strings.ToLower(rand.Text()[:8])
	if out, err := dockerSays("build", "--quiet", "--force-rm", "--tag", image, dir); err != nil {
		t.Fatal(out, err)
	}
	t.Cleanup(func() {
		if _, err := dockerSays("image", "rm", image); err != nil {
			t.Error(err)
		}
	})
	return image
}

// hostile is an instance with such agents.
type hostile struct {
	*instance
	said strings.Builder // all that the tools reported
}

// tried is what came of one attempt.
type tried struct{ Kind, Name, Answer string }

// hostileAgent works on the goals that begin with its name.
func hostileAgent(image, name, more string) agent {
	return agent{name: name, image: image, more: more, tool: `exec hostile $SETT_TARGET_PAYLOAD`,
		script: `case "$(printf %s "$in" | jq -r .payload)" in "${me%-bids} "*) echo exclusive ;; *) echo ignore ;; esac`}
}

// possible is the owner that the test can give a workspace to: only root can give
// one to others.
func possible(owner int) int {
	if self := os.Getuid(); self != 0 {
		return self
	}
	return owner
}

// groupOf is the group of a workspace's owner here.
func groupOf(owner int) int {
	if owner == os.Getuid() {
		return os.Getgid()
	}
	return owner
}

// hostileInstance starts an instance whose workspace belongs to a user.
func hostileInstance(t *testing.T, owner int, agents ...agent) *hostile {
	t.Helper()
	in := prepare(t, inContainers(clan{agents: agents}))
	if owner != os.Getuid() {
		file(t, filepath.Join(in.root, "home", ".gitconfig"), "[safe]\n\tdirectory = *\n", 0o644)
		if out, err := exec.Command("chown", "-R", fmt.Sprintf("%d:%d", owner, owner), in.repo).CombinedOutput(); err != nil {
			t.Fatalf("chown: %v\n%s", err, out)
		}
	}
	in.up()
	return &hostile{instance: in}
}

// goal posts a goal for an agent, which it is alone in wanting, as a person does whose
// store may belong to another user.
func (h *hostile) goal(words ...string) string {
	h.t.Helper()
	return h.forage(strings.Join(words, " "))
}

// ask has an agent's tool try a group of things, and returns what came of them.
func (h *hostile) ask(words ...string) []tried {
	h.t.Helper()
	goal := h.goal(words...)
	h.await(goal, enough)
	return h.reported(goal)
}

// reported is what the tool of a goal that has ended found.
func (h *hostile) reported(goal string) []tried {
	h.t.Helper()
	w, err := h.board.Records.Workflow(context.Background(), goal)
	if err != nil || w.Status != blackboard.WorkflowAchieved {
		_, shown := h.sett("show", goal)
		h.t.Fatalf("the tool did not report: %+v %v\n%s", w, err, shown)
	}
	a, err := h.board.Records.Artefact(context.Background(), w.TerminalID)
	if err != nil {
		h.t.Fatal(err)
	}
	h.said.WriteString(a.Payload + "\n")
	var all []tried
	if err := json.Unmarshal([]byte(a.Payload), &all); err != nil {
		h.t.Fatalf("%v: %s", err, a.Payload)
	}
	return all
}

// failure has an agent's tool do what ends in a Failure.
func (h *hostile) failure(words ...string) (string, blackboard.FailureReport) {
	h.t.Helper()
	goal := h.goal(words...)
	h.await(goal, 4*enough) // who is ended again and again is started later each time
	w, err := h.board.Records.Workflow(context.Background(), goal)
	if err != nil || w.Status != blackboard.WorkflowFailed {
		h.t.Fatalf("%s did not fail: %+v %v", words, w, err)
	}
	a, err := h.board.Records.Artefact(context.Background(), w.FailureID)
	if err != nil {
		h.t.Fatal(err)
	}
	var r blackboard.FailureReport
	if err := json.Unmarshal([]byte(a.Payload), &r); err != nil {
		h.t.Fatal(err)
	}
	h.said.WriteString(a.Payload + "\n")
	return a.Type, r
}

// refused checks that all attempts failed, but those named, and that what has to
// work did.
func refused(t *testing.T, least int, all []tried, but ...string) {
	t.Helper()
	judge(t, least, all, func(string) bool { return false }, but)
}

// allowed checks that all attempts went well, but those named.
func allowed(t *testing.T, least int, all []tried, but ...string) {
	t.Helper()
	judge(t, least, all, func(string) bool { return true }, but)
}

func judge(t *testing.T, least int, all []tried, want func(string) bool, but []string) {
	t.Helper()
	attempts := 0
	for _, a := range all {
		if want("") && strings.Contains(a.Answer, "function not implemented") {
			t.Logf("this kernel has nothing to refuse: %s", a.Name)
			continue
		}
		ok, should := a.Answer == "ok", true
		switch a.Kind {
		case "attempt":
			attempts++
			should = want(a.Name)
			for _, b := range but {
				if b == a.Name {
					should = !should
				}
			}
		case "control":
		default:
			continue
		}
		if ok != should {
			t.Errorf("%s %q: %s", a.Kind, a.Name, a.Answer)
		}
	}
	if attempts < least {
		t.Errorf("only %d attempts: %+v", attempts, all)
	}
}

// fact returns what a tool found.
func fact(t *testing.T, all []tried, name string) string {
	t.Helper()
	for _, a := range all {
		if a.Kind == "fact" && a.Name == name {
			return a.Answer
		}
	}
	t.Errorf("nothing found about %q", name)
	return ""
}

// admin is the administrator's password on the instance's Redis.
func (h *hostile) admin() string {
	h.t.Helper()
	u, err := url.Parse(h.boardURL())
	if err != nil {
		h.t.Fatal(err)
	}
	password, _ := u.User.Password()
	return password
}

// keptQuiet checks that no password is in anything that was said or logged.
func (h *hostile) keptQuiet() {
	h.t.Helper()
	said := map[string]string{"a report": h.said.String(), "sett logs": h.must("logs"), "the ledger": fmt.Sprint(h.artefactTexts())}
	for _, name := range strings.Fields(h.docker("ps", "--all", "--format", "{{.Names}}", "--filter", "label=sett.instance="+h.name)) {
		said[name] = h.docker("logs", name)
	}
	var state struct {
		Key string `json:"repository_key"`
	}
	if text, err := os.ReadFile(filepath.Join(h.stateDir(), "instance.json")); err != nil || json.Unmarshal(text, &state) != nil || state.Key == "" {
		h.t.Fatalf("no key of the repository: %v\n%s", err, text)
	}
	secrets := []string{h.admin(), state.Key}
	for _, a := range h.clan.agents {
		secrets = append(secrets, redis.AgentPassword(h.admin(), a.name), repository.Token(state.Key, a.name))
	}
	for where, text := range said {
		for _, secret := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				h.t.Errorf("%s tells a password: …%s", where, text[max(0, at-80):at+len(secret)])
			}
		}
	}
}

func (h *hostile) artefactTexts() (all []string) {
	for _, goal := range h.goals() {
		artefacts, err := h.artefacts(goal)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, a := range artefacts {
			all = append(all, a.Payload)
		}
	}
	return all
}

// lives describes the containers that nothing may have happened to.
func (h *hostile) lives(units ...string) string {
	h.t.Helper()
	var names []string
	for _, u := range units {
		names = append(names, h.container(u))
	}
	return h.docker(append([]string{"inspect", "--format", "{{.Name}} {{.Id}} {{.State.StartedAt}} {{.State.Running}} {{.RestartCount}}"}, names...)...)
}

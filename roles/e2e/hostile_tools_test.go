package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role/repository"
)

// hostileTools has a hostile agent, one of workers, one that may write, and a
// neighbour who is at work meanwhile.
func hostileTools(t *testing.T, image string, owner int) {
	h := hostileInstance(t, owner,
		hostileAgent(image, "hostile", "retries: 0\n"),
		hostileAgent(image, "worker", "strategy: fresh_per_call\nwarm: 1\n"),
		hostileAgent(image, "writer", "workspace: {mode: rw}\nread_only: false\n"),
		hostileAgent(image, "neighbour", "environment: [NEIGHBOURS_OWN=a-secret-of-its-environment]\n"))
	home := h.goal("neighbour", "live", objectsInside+"/leave")
	h.logged("agent-neighbour", "the neighbour is at home")
	pillars := []string{"blackboard", "orchestrator", "repository", "agent-neighbour"}
	before := h.lives(pillars...)

	hashes := []string{hashOf(h.admin()), ""}
	for _, who := range []string{"hostile", "worker"} {
		hashes[1] = hashOf(redis.AgentPassword(h.admin(), who))
		h.credentials(owner, append([]string{who, "credentials"}, hashes...)...)
		refused(t, 9, h.ask(who, "sockets"))
		h.privileges(owner, who)
	}
	if got := fact(t, h.ask("hostile", "sockets"), "abstract sockets"); got != "[]" {
		t.Errorf("abstract sockets: %s", got)
	}
	refused(t, 45, h.ask("hostile", "redis", "sett-"+h.name+"-redis:6379", hashes[0], hashes[1], h.name))
	h.neighbourhood()
	for _, who := range []string{"hostile", "worker", "writer"} {
		h.elsewhere(who)
	}
	h.allow("")
	h.await(home, enough)
	allowed(t, 0, h.reported(home))

	h.workspaces(owner)
	h.onProcessOne()
	h.thief()
	if after := h.lives(pillars...); after != before {
		t.Errorf("not undisturbed:\n%s\n%s", before, after)
	}
	h.sound("hostile", "worker", "writer", "neighbour")
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (h *hostile) credentials(owner int, words ...string) {
	t := h.t.(*testing.T)
	t.Helper()
	got := h.ask(words...)
	refused(t, 29, got)
	for _, a := range got {
		if a.Kind == "child" && a.Answer != "ok" {
			t.Logf("the engine forbids it in any case: %s: %s", a.Name, a.Answer)
		}
	}
	status := fact(t, got, "status")
	for _, want := range []string{
		"CapEff=0000000000000000", "CapPrm=0000000000000000", "CapInh=0000000000000000", "CapBnd=0000000000000000", "CapAmb=0000000000000000",
		"NoNewPrivs=1", "Seccomp=2", fmt.Sprintf("Uid=%d %d %d %d", owner, owner, owner, owner), fmt.Sprintf("Gid=%[1]d %[1]d %[1]d %[1]d", groupOf(owner)),
	} {
		if !strings.Contains(status, want) {
			t.Errorf("%s: no %s", status, want)
		}
	}
	if got := fact(t, got, "other processes"); got != "[]" {
		t.Errorf("other processes: %s", got)
	}
}

func (h *hostile) privileges(owner int, who string) {
	t := h.t.(*testing.T)
	t.Helper()
	refused(t, 35, h.ask(who, "privileges"))
	refused(t, 2, h.ask(who, "gain"))
}

// neighbourhood shows what of a neighbour is within reach: its port for health, and
// through that nothing that it would not tell anybody.
func (h *hostile) neighbourhood() {
	t := h.t.(*testing.T)
	t.Helper()
	hosts := map[string]string{h.container("agent-neighbour"): "[8080]", h.container("orchestrator"): "[8080]", h.container("repository"): "[7070]", "sett-" + h.name + "-redis": "[6379]"}
	words := []string{"hostile", "neighbour"}
	for host := range hosts {
		words = append(words, host)
	}
	got := h.ask(words...)
	refused(t, 5, got)
	for host, open := range hosts {
		if ports := fact(t, got, "ports of "+host); ports != open {
			t.Errorf("open at %s: %s, want %s", host, ports, open)
		}
		if !strings.Contains(open, "8080") {
			continue
		}
		for path, want := range map[string]string{"/healthz": "200 OK\nok", "/metrics": "200 OK\n", "/debug/pprof/": "404 "} {
			text := fact(t, got, "http "+host+path)
			if !strings.HasPrefix(text, want) {
				t.Errorf("%s%s: %.200s", host, path, text)
			}
			for _, secret := range []string{"a-secret-of-its-environment", "redis://", h.repo} {
				if strings.Contains(text, secret) {
					t.Errorf("%s%s tells %s", host, path, secret)
				}
			}
		}
	}
}

// elsewhere shows that a tool has its own tree and the store's objects, which it cannot
// change, and nothing else of the person's, the instance's or its neighbours'.
func (h *hostile) elsewhere(who string) {
	t := h.t.(*testing.T)
	t.Helper()
	trees := filepath.Join(h.stateDir(), "trees")
	got := h.ask(who, "elsewhere", repository.Host(h.name)+":"+fmt.Sprint(repository.Port),
		h.repo, h.stateDir(), h.storeDir(), trees, "/.sett-store", "/.sett-trees", filepath.Join(objectsInside, "..", "refs"), "/workspace/../index",
		"/proc/1/root/store", "/proc/1/root"+h.repo)
	refused(t, 28, got)
	if refs := fact(t, got, "refs"); refs != "[refs/heads/main]" {
		t.Errorf("%s sees the refs %s", who, refs)
	}
	if vars := fact(t, got, "environment"); strings.Contains(vars, "TOKEN") {
		t.Errorf("%s has the variables %s", who, vars)
	}
	places := map[string]string{"/workspace": "/trees/" + who, "/.sett-git": "/trees/" + who, objectsInside: "/store/objects", "/.sett-pin": "/pins/"}
	seen := 0
	for mount := range strings.Lines(fact(t, got, "mounts")) {
		from, at, _ := strings.Cut(strings.TrimSpace(mount), " ")
		own, known := places[at]
		if known {
			seen++
		}
		if host := filepath.Base(filepath.Dir(h.root)); strings.Contains(from, host) && !(known && strings.Contains(from, "/sett/"+h.name+own)) {
			t.Errorf("%s sees %s at %s", who, from, at)
		}
	}
	if seen < 3 {
		t.Errorf("%s has %d of the mounts %v", who, seen, places)
	}
}

// workspaces shows that one who may only read cannot write, and one who may can. Both
// have a repository of their own; nothing of it reaches the person's.
func (h *hostile) workspaces(owner int) {
	t := h.t.(*testing.T)
	t.Helper()
	head := h.git("rev-parse", "HEAD")
	got := h.ask("hostile", "workspace")
	refused(t, 24, got, "git commit", "git tag", "git config", "git update-ref")
	if readOnly := fact(t, got, "read-only"); readOnly != "true" {
		t.Errorf("read-only: %s", readOnly)
	}
	refused(t, 2, h.ask("hostile", "root"))
	if after := h.git("rev-parse", "HEAD"); after != head {
		t.Errorf("HEAD moved from %s to %s", head, after)
	}
	allowed(t, 24, h.ask("writer", "workspace"))
	allowed(t, 2, h.ask("writer", "root"), "a device in /tmp")
	if after := h.git("rev-parse", "HEAD"); after != head {
		t.Errorf("the writer moved the person's HEAD from %s to %s", head, after)
	}
	for _, dir := range []string{h.repo, h.storeDir(), filepath.Join(h.stateDir(), "trees")} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() == "leave" {
				return err
			}
			if info, err := d.Info(); err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(owner) { //nolint:forcetypeassert // on Linux it is
				t.Errorf("not the owner's any more: %s %v", path, err)
			}
			return nil
		})
	}
}

// onProcessOne shows that a tool can end its cub at most, and with it its grant.
func (h *hostile) onProcessOne() {
	t := h.t.(*testing.T)
	t.Helper()
	first := h.lives("agent-hostile")
	h.ask("hostile", "signals")
	if after := h.lives("agent-hostile"); after != first {
		t.Errorf("a signal ended process 1: %s", after)
	}
	h.ask("hostile", "fault")
	goal := h.goal("hostile", "end")
	h.await(goal, enough)
	if g := h.grant(goal, "hostile"); g.Attempt != 2 || h.status(goal) != blackboard.WorkflowAchieved {
		t.Errorf("a cub that was told to end by its tool: %s %+v", h.status(goal), g)
	}
}

// thief has a cub's real credentials, and gets no further than its instance.
func (h *hostile) thief() {
	t := h.t.(*testing.T)
	t.Helper()
	at, err := url.Parse(h.boardURL())
	if err != nil {
		t.Fatal(err)
	}
	admin := dialRedis(t, at.Host, redis.AdminUser, h.admin())
	admin.ok("SET", "sett:{other}:epoch", "1")
	defer admin.ok("DEL", "sett:{other}:epoch")
	var stolen *url.URL
	for line := range strings.Lines(h.docker("inspect", "--format", "{{range .Config.Env}}{{println .}}{{end}}", h.container("agent-hostile"))) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "REDIS_URL="); ok {
			stolen, err = url.Parse(value)
		}
	}
	if stolen == nil || err != nil {
		t.Fatalf("the cub has no credentials: %v", err)
	}
	password, _ := stolen.User.Password()
	c := dialRedis(t, at.Host, stolen.User.Username(), password)
	c.ok("GET", "sett:{"+h.name+"}:epoch")
	own := "sett:{" + h.name + "}:epoch"
	for _, command := range [][]string{
		{"GET", "sett:{other}:epoch"}, {"SET", "sett:{other}:epoch", "2"}, {"SUBSCRIBE", "sett:{other}:claim_events"}, {"PUBLISH", "sett:{other}:claim_events", "x"},
		{"EVAL", "return redis.call('GET', 'sett:{other}:epoch')", "0"}, {"EVAL", "return redis.call('FLUSHALL')", "0"},
		{"FLUSHALL"}, {"FLUSHDB"}, {"CONFIG", "GET", "*"}, {"CONFIG", "SET", "dir", "/tmp"}, {"KEYS", "*"}, {"SCAN", "0"}, {"ACL", "LIST"}, {"ACL", "WHOAMI"},
		{"ACL", "SETUSER", stolen.User.Username(), "+@all"}, {"SCRIPT", "FLUSH"}, {"SHUTDOWN", "NOSAVE"}, {"MONITOR"},
		{"CLIENT", "LIST"}, {"CLIENT", "KILL", "TYPE", "normal"}, {"REPLICAOF", "127.0.0.1", "1"}, {"MODULE", "LIST"}, {"RENAME", own, "sett:{other}:e"},
		{"SELECT", "1"}, {"SAVE"}, {"BGREWRITEAOF"}, {"INFO"}, {"PSUBSCRIBE", "*"}, {"MIGRATE", "127.0.0.1", "1", own, "0", "1"},
	} {
		if got := c.say(command...); !strings.HasPrefix(got, "-NOPERM ") && !strings.HasPrefix(got, "-ERR The user executing the script can't") &&
			!strings.HasPrefix(got, "-ERR ACL failure in script") {
			t.Errorf("%q with a cub's credentials: %s", command, got)
		}
	}
	if got := admin.say("GET", "sett:{other}:epoch"); got != "1" {
		t.Errorf("the other instance's key is %q", got)
	}
}

// sound checks that after everything the instance is well: its agents work, and
// nobody has told a password.
func (h *hostile) sound(agents ...string) {
	t := h.t.(*testing.T)
	t.Helper()
	for _, a := range agents {
		goal := h.goal(a, "well")
		h.await(goal, enough)
		if s := h.status(goal); s != blackboard.WorkflowAchieved {
			t.Errorf("afterwards, a goal for %s is %s", a, s)
		}
	}
	eventually(t, enough, "a healthy instance", func() bool {
		_, out := h.sett("list", "-o", "json")
		return strings.Contains(out, `"running"`) || strings.Contains(out, `"healthy"`)
	})
	h.keptQuiet()
	h.atRest()
}

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

// hostileNetwork shows what tools reach with each kind of network.
func hostileNetwork(t *testing.T, image string) {
	host := engineHost(t)
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	h := hostileInstance(t, possible(0),
		hostileAgent(image, "hostile", "network: full\n"),
		hostileAgent(image, "inside", "network: internal\n"),
		hostileAgent(image, "insider", "network: internal\nstrategy: fresh_per_call\n"),
		hostileAgent(image, "offline", "network: none\n"),
		hostileAgent(image, "outsider", "network: none\nstrategy: fresh_per_call\nwarm: 1\n"))
	words := []string{"network", "sett-" + h.name + "-redis:6379", port, host}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs { // the instance's bridges among them
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			words = append(words, n.IP.String())
		}
	}
	sockets := []string{"a socket: tcp", "a socket: udp", "a socket: tcp6"}
	for _, who := range []string{"inside", "insider"} {
		got := h.ask(append([]string{who}, words...)...)
		refused(t, 9, got, append(sockets, "redis", "the name of redis")...)
		if at := fact(t, got, "addresses"); strings.Contains(at, "fe80") {
			t.Errorf("%s is on IPv6: %s", who, at)
		}
		refused(t, 40, h.ask(who, "redis", "sett-"+h.name+"-redis:6379"))
	}
	for _, who := range []string{"offline", "outsider"} {
		refused(t, 9, h.ask(append([]string{who}, words...)...))
	}
	got := h.ask(append([]string{"hostile"}, words...)...)
	reached := func(a tried) bool { return a.Name == "the host" && a.Answer == "ok" }
	if !slices.ContainsFunc(got, reached) {
		t.Errorf("a full network does not reach the host: %+v", got)
	}
	h.sound("hostile", "inside", "insider", "offline", "outsider")
}

// hostileGreed takes all that there is: of processes, memory, room, the log.
func hostileGreed(t *testing.T, image, who, strategy string) {
	// The bomb alone takes the whole time; a flood of 100 MB and more must end by itself, on a slow machine, too.
	const limits = "timeout: 20s\nresources: {limits: {memory: 96m, pids: 64, cpus: 0.5}}\n"
	h := hostileInstance(t, possible(1000), hostileAgent(image, who, limits+strategy), hostileAgent(image, "neighbour", ""))
	pillars := []string{"blackboard", "orchestrator", "agent-neighbour", "agent-" + who}
	before := h.lives(pillars...)
	well := func() {
		t.Helper()
		for _, name := range []string{who, "neighbour"} {
			allowed(t, 0, h.ask(name, "well"))
		}
		if after := h.lives(pillars...); after != before {
			t.Errorf("not undisturbed:\n%s\n%s", before, after)
			before = after
		}
	}
	got := h.ask(who, "crowd")
	allowed(t, 0, got)
	var n int
	if _, err := fmt.Sscan(fact(t, got, "processes"), &n); err != nil || n < 20 || n >= 64 {
		t.Errorf("%d processes: %v", n, got)
	}
	well()
	if kind, r := h.failure(who, "bomb"); kind != blackboard.TypeToolExecutionFailure || !r.TimedOut {
		t.Errorf("a fork bomb: %s %+v", kind, r)
	}
	well()
	if kind, r := h.failure(who, "memory"); kind != blackboard.TypeToolExecutionFailure || !strings.Contains(r.Reason, "out of memory") {
		t.Errorf("memory: %s %+v", kind, r)
	}
	well()
	h.floods(who)
	well()
	h.tmp(who)
	well()
	if left := h.docker("top", h.container("agent-"+who), "-eo", "pid,args"); strings.Count(left, "\n") != 1 {
		t.Errorf("left in the container:\n%s", left)
	}
	if kind, r := h.failure(who, "end", "again"); kind != blackboard.TypeAgentCrashed || !strings.Contains(r.Reason, "for the 11th time") {
		t.Errorf("a cub whose tool ends it again and again: %s %+v", kind, r)
	}
	h.sound(who, "neighbour")
}

// floods writes more than anybody wants to keep.
func (h *hostile) floods(who string) {
	t := h.t.(*testing.T)
	t.Helper()
	kind, r := h.failure(who, "stdout")
	if kind != blackboard.TypeToolExecutionFailure || r.StdoutSize < 100_000_000 || len(r.Stdout) > blackboard.MaxCapture || !strings.Contains(r.Reason, "bytes to stdout") {
		t.Errorf("a flood on stdout: %s %.200s %d %d", kind, r.Reason, r.StdoutSize, len(r.Stdout))
	}
	h.ask(who, "stderr")
	if kind, r := h.failure(who, "zeroes"); kind != blackboard.TypeToolExecutionFailure || r.StdoutSize != 12<<20 || len(r.Stdout) < 3<<20 || r.StderrSize != 12<<20 || len(r.Stderr) < 3<<20 {
		t.Errorf("zeroes: %s %.200s %d %d", kind, r.Reason, r.StdoutSize, len(r.Stdout))
	}
	if who != "hostile" {
		return // a worker's log goes with it
	}
	path := h.docker("inspect", "--format", "{{.LogPath}}", h.container("agent-hostile"))
	files, _ := filepath.Glob(path + "*")
	size := int64(0)
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			size += info.Size()
		}
	}
	t.Logf("%s's log: %d files, %d bytes", who, len(files), size)
	if size > 31<<20 {
		t.Errorf("the log takes %d bytes", size)
	}
	if config := h.docker("inspect", "--format", "{{json .HostConfig.LogConfig}}", h.container("agent-hostile")); !strings.Contains(config, `"max-size":"10m"`) {
		t.Errorf("the log is not bounded: %s", config)
	}
}

// tmp fills /tmp, which counts as memory.
func (h *hostile) tmp(who string) {
	t := h.t.(*testing.T)
	t.Helper()
	goal := h.goal(who, "tmp")
	h.await(goal, enough)
	_, shown := h.sett("show", goal)
	if h.status(goal) == blackboard.WorkflowAchieved {
		t.Logf("%s: %s", who, fact(t, h.reported(goal), "full"))
		return
	}
	if !strings.Contains(shown, "out of memory") {
		t.Errorf("filling /tmp: %s", shown)
	}
}

// withoutHardening shows that what is refused elsewhere works where it is not
// forbidden, in a container of our own making.
func withoutHardening(t *testing.T, image string) {
	run := func(more ...string) []tried {
		t.Helper()
		args := append([]string{"run", "--rm", "--network", "none", "--label", "sett.test=hostile"}, more[:len(more)-1]...)
		out, err := dockerSays(append(args, image, "hostile", "hostile", more[len(more)-1])...)
		var said struct {
			Payload []tried `json:"artefact_payload"`
		}
		if err != nil || json.Unmarshal([]byte(out), &said) != nil {
			t.Fatal(out, err)
		}
		return said.Payload
	}
	capable := []string{"--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"}
	for _, c := range []string{"SYS_ADMIN", "SYS_TIME", "SYS_MODULE", "SYS_NICE", "SYSLOG", "SYS_PTRACE"} {
		capable = append(capable, "--cap-add", c)
	}
	allowed(t, 35, run(append(capable, "privileges")...))
	allowed(t, 2, run("--user", "1000:1000", "gain"))
	allowed(t, 0, run("--security-opt", "seccomp=unconfined", "--user", "1000:1000", "intrusions"))
}

// redisTalker speaks to a Redis by hand.
type redisTalker struct {
	testing.TB
	net.Conn
	in *bufio.Reader
}

func dialRedis(t testing.TB, addr, user, password string) *redisTalker {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(enough))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := &redisTalker{t, c, bufio.NewReader(c)}
	r.ok("AUTH", user, password)
	return r
}

// say returns what the server answers: a string, or a line that begins with a minus
// sign for an error.
func (r *redisTalker) say(words ...string) string {
	r.Helper()
	if _, err := r.Write(writeMessage(words...)); err != nil {
		r.Fatal(err)
	}
	raw, got, err := readMessage(r.in)
	if err != nil {
		r.Fatal(err)
	}
	if raw[0] == '-' {
		return strings.TrimSpace(string(raw))
	}
	return strings.Join(got, " ")
}

func (r *redisTalker) ok(words ...string) {
	r.Helper()
	if got := r.say(words...); strings.HasPrefix(got, "-") {
		r.Fatalf("%s: %s", words[0], got)
	}
}

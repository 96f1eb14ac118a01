package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sett/blackboard/redis/redistest"
	"sett/roles/cli/doctor"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/store"
)

// doctorChecks is the number of the checks.
const doctorChecks = 16

// findings are what a doctor found.
type findings []doctor.Finding

// about returns the finding of a check about a subject.
func (fs findings) about(t *testing.T, check, subject string) doctor.Finding {
	t.Helper()
	for _, f := range fs {
		if f.Check == check && f.Subject == subject {
			return f
		}
	}
	t.Errorf("nothing found by %s about %q: %+v", check, subject, fs)
	return doctor.Finding{}
}

// expect is about, which has to be of this status, with these words in what it says
// and in what it tells to do.
func (fs findings) expect(t *testing.T, check, subject, status, says, do string) {
	t.Helper()
	f := fs.about(t, check, subject)
	if f.Status != status || !strings.Contains(f.Finding, says) || !strings.Contains(f.Do, do) || do == "" && f.Do != "" {
		t.Errorf("%s %s: got %+v, want %s %q %q", check, subject, f, status, says, do)
	}
}

// doctored runs the doctor, and holds its exit code to what it found.
func doctored(t *testing.T, e role.Env, args ...string) findings {
	t.Helper()
	out, err := invoke(context.Background(), e, append([]string{"doctor", "-o", "json"}, args...)...)
	return readFindings(t, out, err)
}

func readFindings(t *testing.T, out string, err error) findings {
	t.Helper()
	var got struct {
		OK       bool     `json:"ok"`
		Problems int      `json:"problems"`
		Checks   findings `json:"checks"`
	}
	if jsonErr := json.Unmarshal([]byte(out), &got); jsonErr != nil {
		t.Fatalf("%v: %v\n%s", err, jsonErr, out)
	}
	want := role.OK
	if got.Problems > 0 {
		want = role.Environment
	}
	if role.CodeOf(err) != want || got.OK != (want == role.OK) {
		t.Errorf("exit code %d, want %d: %v\n%s", role.CodeOf(err), want, err, out)
	}
	return got.Checks
}

// with is an environment with a variable more.
func with(e role.Env, name, value string) role.Env {
	lookup := e.Lookup
	e.Lookup = func(v string) (string, bool) {
		if v == name {
			return value, true
		}
		return lookup(v)
	}
	return e
}

// TestDoctorNoEngine: how bad a missing engine is depends on who wants one.
func TestDoctorNoEngine(t *testing.T) {
	e, _ := workspace(t)
	e = with(e, "DOCKER_HOST", "unix:///nonexistent")
	home := e.Getenv("HOME")
	before := tree(t, home)
	fs := doctored(t, e)
	fs.expect(t, "engine", "", doctor.Skipped, "none is needed with runtime process; container engine at unix:///nonexistent", "")
	fs.expect(t, "images", "", doctor.Skipped, "no container engine", "")
	fs.expect(t, "repository", "", doctor.Warning, "no commit yet", "git commit")
	equal(t, "files", tree(t, home), before)

	agents := "agents:\n  one:\n    image: x\n    command: [/bin/cat]\n"
	rewrite(t, e, agents)
	doctored(t, e).expect(t, "engine", "", doctor.Warning, "there is no such socket", "sett up --runtime process")
	rewrite(t, e, "runtime: docker\n"+agents)
	fs = doctored(t, e)
	fs.expect(t, "engine", "", doctor.Problem, "there is no such socket", "sett up --runtime process")
	fs.expect(t, "configuration", "", doctor.OK, "1 agent, runtime docker", "")
}

// TestDoctorSilentEngine: an engine that takes connections and says nothing holds up
// nothing but what is about it.
func TestDoctorSilentEngine(t *testing.T) {
	e, _ := workspace(t)
	rewrite(t, e, "runtime: docker\nagents:\n  one:\n    image: x\n    command: [/bin/cat]\n")
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	fs := doctored(t, with(e, "DOCKER_HOST", "unix://"+socket))
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("took %s", took)
	}
	fs.expect(t, "engine", "", doctor.Problem, "does not answer: nothing within 3s", "restart it")
	fs.expect(t, "disk", "state, workspace", doctor.OK, "free at", "")
	if len(fs) < doctorChecks {
		t.Errorf("%d findings of %d checks: %+v", len(fs), doctorChecks, fs)
	}
}

// TestDoctorState: the state holds passwords, and is nobody else's.
func TestDoctorState(t *testing.T) {
	e, dir := workspace(t)
	root := filepath.Dir(dir)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	fs := doctored(t, e)
	fs.expect(t, "state", "", doctor.OK, root+", which sett up makes", "")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(root, "gone")
	in := &instance.Instance{Dir: dir, State: instance.State{Name: "clan", Workspace: e.Args[1], Runtime: "process"}}
	if err := errors.Join(os.MkdirAll(gone, 0o700), in.Save()); err != nil {
		t.Fatal(err)
	}
	left := &instance.Instance{Dir: gone, State: instance.State{Name: "gone", Workspace: "/no/such/place", Runtime: "process"}}
	if err := left.Save(); err != nil {
		t.Fatal(err)
	}
	fs = doctored(t, e)
	fs.expect(t, "state", "", doctor.OK, "2 instances, yours alone", "")
	fs.expect(t, "instance", "clan", doctor.Skipped, "stopped", "")
	fs.expect(t, "leftovers", "gone", doctor.Warning, "/no/such/place is gone", "sett down --purge --name gone")
	if err := errors.Join(os.Chmod(in.StatePath(), 0o644), os.Chmod(root, 0o777)); err != nil { //nolint:gosec // what is to be found
		t.Fatal(err)
	}
	fs = doctored(t, e)
	fs.expect(t, "state", "clan", doctor.Problem, "is open to others", "chmod -R go= ")
	fs.expect(t, "state", "", doctor.Problem, "others can write", "chmod go-w "+root)

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	doctored(t, with(e, "XDG_STATE_HOME", file), "--name", "x").expect(t, "state", "", doctor.Problem, "is no directory", "XDG_STATE_HOME")
}

// TestDoctorDurability: a Redis of the user's own is asked how it keeps things.
func TestDoctorDurability(t *testing.T) {
	for _, c := range []struct {
		args             []string
		status, says, do string
	}{
		{redistest.Durable, doctor.OK, "it fsyncs what it acknowledges, and drops no keys", ""},
		{[]string{"--appendonly", "no"}, doctor.Warning, "keeps no append-only file", "CONFIG SET appendonly yes"},
		{[]string{"--appendonly", "yes", "--appendfsync", "everysec"}, doctor.Warning, `fsyncs "everysec"`, "CONFIG SET appendfsync always"},
		{append([]string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, redistest.Durable...), doctor.Warning, "will, when its memory is full, forget", "maxmemory-policy noeviction"},
		{append([]string{"--rename-command", "CONFIG", ""}, redistest.Durable...), doctor.Warning, "does not say how durable", "ask who runs it"},
	} {
		t.Run(c.status+" "+c.do, func(t *testing.T) {
			s := newStage(t, c.args...)
			out, _, err := s.run("doctor", "-o", "json")
			fs := readFindings(t, out, err)
			fs.expect(t, "blackboard", "stage", c.status, c.says, c.do)
			fs.expect(t, "clock", "blackboard of stage", doctor.OK, "is right", "")
		})
	}
}

// TestDoctorMayNotAsk: where the user of a Redis may not ask how it keeps things, that was not checked, and the remedy is named.
func TestDoctorMayNotAsk(t *testing.T) {
	s := newStage(t, redistest.Durable...)
	s.Send("ACL", "SETUSER", "default", "-info")
	out, _, err := s.run("doctor", "-o", "json")
	readFindings(t, out, err).expect(t, "blackboard", "stage", doctor.Warning, "fsyncs it, drops keys when its memory is full and waits for replicas was not checked", "ACL SETUSER default +info +config|get")
}

// TestDoctorClockSetBack: where the blackboard's clock was set back, the ledger's times are not to be trusted.
func TestDoctorClockSetBack(t *testing.T) {
	s := newStage(t)
	s.Send("XADD", "sett:{stage}:events", strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)+"-0", "kind", "models", "to", "running")
	out, _, err := s.run("doctor", "-o", "json")
	readFindings(t, out, err).expect(t, "clock", "ledger of stage", doctor.Warning, "was set back", "kind clock")
}

// TestDoctorRemovedEntries: an entry that was removed from the ledger, and made up for by another one, is told of.
func TestDoctorRemovedEntries(t *testing.T) {
	s := newStage(t, redistest.Durable...)
	s.Goal("one")
	doctored := func() findings {
		out, _, err := s.run("doctor", "-o", "json")
		return readFindings(t, out, err)
	}
	for _, f := range doctored() {
		if f.Subject == "ledger of stage" {
			t.Errorf("before: %+v", f)
		}
	}
	last, err := s.board.Ledger.Last(t.Context())
	s.Must(err)
	s.Send("XDEL", "sett:{stage}:events", last)
	s.Send("XADD", "sett:{stage}:events", "*", "kind", "models", "to", "running")
	doctored().expect(t, "blackboard", "ledger of stage", doctor.Problem, "1 entry was removed from the ledger, the latest at "+last, "an export from before")
	_, stderr, err := s.run("ledger", "export", "--file", "rest.jsonl")
	if role.CodeOf(err) != role.Failed || !strings.Contains(stderr, "warning: 1 entry was removed from the ledger, the latest at "+last+": not by Sett") {
		t.Errorf("the export says %q: %v", stderr, err)
	}
}

// TestDoctorFailover: where another server takes over, replicas have to be demanded.
func TestDoctorFailover(t *testing.T) {
	all := redistest.Cluster(t, 1, 1, redistest.Durable...)
	e, _ := workspace(t)
	rewrite(t, e, "runtime: process\nredis: {url: \""+all[0].URL+"\"}\nagents:\n  one: {command: [/bin/cat]}\n")
	doctored(t, e).expect(t, "blackboard", "redis.url", doctor.Warning, "what no replica has", "on every server of "+all[0].URL+": CONFIG SET min-replicas-to-write 1")
	all[0].Send("CONFIG", "SET", "min-replicas-to-write", "1")
	doctored(t, e).expect(t, "blackboard", "redis.url", doctor.OK, "it fsyncs what it acknowledges", "")
}

// TestDoctorSheet: a Redis that sett.yml names and that is not there is a problem.
func TestDoctorSheet(t *testing.T) {
	e, _ := workspace(t)
	rewrite(t, e, "runtime: process\nredis: {url: \"redis://:secret@127.0.0.1:1/0\"}\nagents:\n  one: {command: [no/such], environment: [NOT_HERE]}\n")
	fs := doctored(t, e)
	fs.expect(t, "blackboard", "redis.url", doctor.Problem, "127.0.0.1:1", "is that server up")
	if strings.Contains(fs.about(t, "blackboard", "redis.url").Finding, "secret") {
		t.Error("the password is shown")
	}
	var said []string
	for _, f := range fs {
		if f.Check == "commands" {
			said = append(said, f.Finding)
		}
	}
	if len(said) != 2 || !strings.Contains(said[0], "NOT_HERE is not set") || !strings.Contains(said[1], "no/such cannot be run") {
		t.Errorf("commands: %q", said)
	}
}

// machine replaces what differs between machines in what the doctor prints.
var machine = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9.]+ [GM]iB free at [^"]*`), "<space> free at <directory>"},
	{regexp.MustCompile(`git version [^"]*`), "git version <version>"},
	{regexp.MustCompile(`(commit \w+, )\w+/\w+\), [^"]*`), "${1}<platform>), <file>"},
	{regexp.MustCompile(`Redis [0-9.]+`), "Redis <version>"},
	{regexp.MustCompile(`clean at [0-9a-f]{12}`), "clean at <commit>"},
	{regexp.MustCompile(`export PATH=[^"]*`), "export PATH=<directory>:$$PATH"},
}

// TestDoctorGolden: what the doctor prints for programs is an interface.
func TestDoctorGolden(t *testing.T) {
	s := newStage(t, redistest.Durable...)
	s.write("sett.yml", "runtime: process\nagents:\n  one: {command: [/bin/cat]}\n")
	s.git("commit", "-q", "-a", "-m", "second")
	for _, form := range []string{"json", "jsonl", "yaml"} {
		c := s.startWith(map[string]string{"DOCKER_HOST": "unix:///nonexistent", "PATH": "/nonexistent",
			"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@example.org"}, "doctor", "-o", form)
		if err := c.wait(); err != nil {
			t.Errorf("%v\n%s", err, c.out.String())
		}
		out := strings.NewReplacer(s.root, "<workspace>", s.home, "<home>").Replace(c.out.String())
		for _, m := range machine {
			out = m.pattern.ReplaceAllString(out, m.with)
		}
		golden(t, "golden/doctor."+form, out)
	}
}

// startWith is start with other variables in its environment.
func (s *stage) startWith(more map[string]string, args ...string) *call {
	vars := map[string]string{"XDG_STATE_HOME": s.home, "HOME": s.home}
	for name, v := range more {
		vars[name] = v
	}
	ctx, stop := context.WithCancel(s.t.Context())
	c := &call{s: s, stop: stop, done: make(chan error, 1)}
	e := role.OS(append([]string{"-C", s.root}, args...), role.Build{Version: testVersion, Commit: "0123456789ab"})
	e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), &c.out, &c.err
	e.Lookup = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	e.Environ = func() []string {
		var all []string
		for name, v := range vars {
			all = append(all, name+"="+v)
		}
		return all
	}
	go func() { c.done <- Run(ctx, e) }()
	s.t.Cleanup(stop)
	return c
}

// TestDoctorNamesRemnants: the doctor names what lies beside a tree, and the command that removes it.
func TestDoctorNamesRemnants(t *testing.T) {
	s := newStage(t)
	tree := filepath.Join(s.home, "sett", "stage", "trees", "coder", "tree")
	s.Must(os.MkdirAll(tree, 0o700))
	aside, err := store.Aside(tree, os.ErrPermission)
	s.Must(err)
	stdout, _, _ := s.run("doctor")
	has(t, stdout, "1 remnant of trees cannot be removed", "rm -rf "+aside)
}

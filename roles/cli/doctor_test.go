package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sett/blackboard/redis/redistest"
	"sett/roles/role"
)

// findings are what a doctor found.
type findings []finding

// about returns the finding of a check about a subject.
func (fs findings) about(t *testing.T, check, subject string) finding {
	t.Helper()
	for _, f := range fs {
		if f.Check == check && f.Subject == subject {
			return f
		}
	}
	t.Errorf("nothing found by %s about %q: %+v", check, subject, fs)
	return finding{}
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
	fs.expect(t, "engine", "", findSkipped, "none is needed with runtime process; container engine at unix:///nonexistent", "")
	fs.expect(t, "images", "", findSkipped, "no container engine", "")
	fs.expect(t, "repository", "", findWarning, "no commit yet", "git commit")
	equal(t, "files", tree(t, home), before)

	agents := "agents:\n  one:\n    image: x\n    command: [/bin/cat]\n"
	rewrite(t, e, agents)
	doctored(t, e).expect(t, "engine", "", findWarning, "there is no such socket", "sett up --runtime process")
	rewrite(t, e, "runtime: docker\n"+agents)
	fs = doctored(t, e)
	fs.expect(t, "engine", "", findProblem, "there is no such socket", "sett up --runtime process")
	fs.expect(t, "configuration", "", findOK, "1 agent, runtime docker", "")
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
	fs.expect(t, "engine", "", findProblem, "does not answer: nothing within 3s", "restart it")
	fs.expect(t, "disk", "state, workspace", findOK, "free at", "")
	if len(fs) < len(checks) {
		t.Errorf("%d findings of %d checks: %+v", len(fs), len(checks), fs)
	}
}

// TestDoctorHangs: a check that does not end is said to be one.
func TestDoctorHangs(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got := await(over, make(chan []finding)); len(got) != 1 || got[0].Status != findWarning || !strings.Contains(got[0].Finding, "no answer within") {
		t.Errorf("got %+v", got)
	}
}

// TestDoctorDisk: too little room, and too few files, by file system.
func TestDoctorDisk(t *testing.T) {
	e, _ := workspace(t)
	for _, c := range []struct {
		space        space
		status, says string
	}{
		{space{1, 5 << 30, 0, 0}, findOK, "5.0 GiB free"},
		{space{1, fewBytes - 1, 1 << 20, 1 << 21}, findWarning, "1023 MiB free"},
		{space{1, noBytes - 1, 1 << 20, 1 << 21}, findProblem, "99 MiB free"},
		{space{1, 5 << 30, fewFiles - 1, 1 << 21}, findWarning, "9999 files more"},
		{space{1, fewBytes - 1, 0, 1 << 21}, findProblem, "0 files more"},
	} {
		x := examOf(t, e)
		x.space = func(string) (space, error) { return c.space, nil }
		got := x.disk(t.Context())
		if len(got) != 1 || got[0].Status != c.status || !strings.Contains(got[0].Finding, c.says) || !strings.HasPrefix(got[0].Subject, "state, workspace") {
			t.Errorf("%+v: got %+v", c.space, got)
		}
	}
	x := examOf(t, e)
	x.space = func(string) (space, error) { return space{}, errors.New("gone") }
	if got := x.disk(t.Context()); got[0].Status != findWarning {
		t.Errorf("unreadable: %+v", got)
	}
}

// examOf is an exam without an engine.
func examOf(t *testing.T, e role.Env) *exam {
	t.Helper()
	a := &app{Env: with(e, "DOCKER_HOST", "unix:///nonexistent"), ctx: t.Context(), flags: globals{Directory: e.Args[1]}, engines: &engine{}}
	x := newExam(t.Context(), a)
	<-x.engines.done
	return x
}

// TestDoctorState: the state holds passwords, and is nobody else's.
func TestDoctorState(t *testing.T) {
	e, dir := workspace(t)
	root := filepath.Dir(dir)
	fs := doctored(t, e)
	fs.expect(t, "state", "", findOK, root+", which sett up makes", "")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(root, "gone")
	in := &instance{dir: dir, State: State{Name: "clan", Workspace: e.Args[1], Runtime: "process"}}
	if err := errors.Join(os.MkdirAll(gone, 0o700), in.save()); err != nil {
		t.Fatal(err)
	}
	left := &instance{dir: gone, State: State{Name: "gone", Workspace: "/no/such/place", Runtime: "process"}}
	if err := left.save(); err != nil {
		t.Fatal(err)
	}
	fs = doctored(t, e)
	fs.expect(t, "state", "", findOK, "2 instances, yours alone", "")
	fs.expect(t, "instance", "clan", findSkipped, "stopped", "")
	fs.expect(t, "leftovers", "gone", findWarning, "/no/such/place is gone", "sett down --purge --name gone")
	if err := errors.Join(os.Chmod(in.statePath(), 0o644), os.Chmod(root, 0o777)); err != nil { //nolint:gosec // what is to be found
		t.Fatal(err)
	}
	fs = doctored(t, e)
	fs.expect(t, "state", "clan", findProblem, "is open to others", "chmod -R go= ")
	fs.expect(t, "state", "", findProblem, "others can write", "chmod go-w "+root)

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	doctored(t, with(e, "XDG_STATE_HOME", file), "--name", "x").expect(t, "state", "", findProblem, "is no directory", "XDG_STATE_HOME")
}

// TestDoctorDurability: a Redis of the user's own is asked how it keeps things.
func TestDoctorDurability(t *testing.T) {
	for _, c := range []struct {
		args             []string
		status, says, do string
	}{
		{redistest.Durable, findOK, "it fsyncs what it acknowledges, and forgets nothing", ""},
		{[]string{"--appendonly", "no"}, findWarning, "keeps no append-only file", "CONFIG SET appendonly yes"},
		{[]string{"--appendonly", "yes", "--appendfsync", "everysec"}, findWarning, `fsyncs "everysec"`, "CONFIG SET appendfsync always"},
		{append([]string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, redistest.Durable...), findWarning, "will, when its memory is full, forget", "maxmemory-policy noeviction"},
		{append([]string{"--rename-command", "CONFIG", ""}, redistest.Durable...), findWarning, "does not say how durable", "ask who runs it"},
	} {
		t.Run(c.status+" "+c.do, func(t *testing.T) {
			s := newStage(t, c.args...)
			out, _, err := s.run("doctor", "-o", "json")
			fs := readFindings(t, out, err)
			fs.expect(t, "blackboard", "stage", c.status, c.says, c.do)
			fs.expect(t, "clock", "blackboard of stage", findOK, "is right", "")
		})
	}
}

// TestDoctorSheet: a Redis that sett.yml names and that is not there is a problem.
func TestDoctorSheet(t *testing.T) {
	e, _ := workspace(t)
	rewrite(t, e, "runtime: process\nredis: {url: \"redis://:secret@127.0.0.1:1/0\"}\nagents:\n  one: {command: [no/such], environment: [NOT_HERE]}\n")
	fs := doctored(t, e)
	fs.expect(t, "blackboard", "redis.url", findProblem, "127.0.0.1:1", "is that server up")
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

func TestDoctorJudges(t *testing.T) {
	for says, want := range map[string]bool{
		"git version 2.30.9": true, "git version 2.31.0": false, "git version 2.39.5 (Apple Git-154)": false, "git version 3.0": false,
		"git version 1.99": true, "git version unknown": false,
	} {
		if got := old(says); got != want {
			t.Errorf("%s: old is %v", says, got)
		}
	}
	for d, want := range map[time.Duration]string{0: findOK, time.Second: findOK, 1100 * time.Millisecond: findWarning, -90 * time.Second: findWarning} {
		if got := skewed("engine", d); got.Status != want {
			t.Errorf("skew of %s: %+v", d, got)
		}
	}
	if f := skewed("engine", -90*time.Second); !strings.Contains(f.Finding, "1m30s behind") {
		t.Errorf("%+v", f)
	}
	if few, enough := filesLimit(wantFiles-1), filesLimit(wantFiles); few.Status != findWarning || enough.Status != findOK {
		t.Errorf("%+v %+v", few, enough)
	}
}

// TestDoctorPath: which sett a shell would run.
func TestDoctorPath(t *testing.T) {
	here, there := realPath(t, t.TempDir()), realPath(t, t.TempDir())
	for _, dir := range []string{here, there} {
		if err := os.WriteFile(filepath.Join(dir, "sett"), nil, 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	own := filepath.Join(here, "sett")
	for path, says := range map[string]string{
		here: "", "/nowhere": "not on the PATH", there + ":" + here: "typing sett runs another one: " + there, here + ":" + there: "there are others on the PATH: " + there,
	} {
		got := onPath(own, path)
		if says == "" && len(got) > 0 || says != "" && (len(got) != 1 || !strings.Contains(got[0].Finding, says)) {
			t.Errorf("PATH=%s: %+v, want %q", path, got, says)
		}
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

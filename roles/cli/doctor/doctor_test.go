package doctor

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// TestDoctorHangs: a check that does not end is said to be one.
func TestDoctorHangs(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got := await(over, make(chan []Finding)); len(got) != 1 || got[0].Status != Warning || !strings.Contains(got[0].Finding, "no answer within") {
		t.Errorf("got %+v", got)
	}
}

// TestDoctorDisk: too little room, and too few files, by file system.
func TestDoctorDisk(t *testing.T) {
	at := workspace(t)
	for _, c := range []struct {
		space        space
		status, says string
	}{
		{space{1, 5 << 30, 0, 0}, OK, "5.0 GiB free"},
		{space{1, fewBytes - 1, 1 << 20, 1 << 21}, Warning, "1023 MiB free"},
		{space{1, noBytes - 1, 1 << 20, 1 << 21}, Problem, "99 MiB free"},
		{space{1, 5 << 30, fewFiles - 1, 1 << 21}, Warning, "9999 files more"},
		{space{1, fewBytes - 1, 0, 1 << 21}, Problem, "0 files more"},
	} {
		x := examOf(t, at)
		x.space = func(string) (space, error) { return c.space, nil }
		got := x.disk(t.Context())
		if len(got) != 1 || got[0].Status != c.status || !strings.Contains(got[0].Finding, c.says) || !strings.HasPrefix(got[0].Subject, "state, workspace") {
			t.Errorf("%+v: got %+v", c.space, got)
		}
	}
	x := examOf(t, at)
	x.space = func(string) (space, error) { return space{}, errors.New("gone") }
	if got := x.disk(t.Context()); got[0].Status != Warning {
		t.Errorf("unreadable: %+v", got)
	}
}

func realPath(t *testing.T, dir string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// workspace is a git repository with a sett.yml, on a machine without an engine.
func workspace(t *testing.T) *instance.Locator {
	t.Helper()
	home := t.TempDir()
	repo := filepath.Join(home, "clan")
	if err := errors.Join(os.MkdirAll(filepath.Join(repo, ".git"), 0o700),
		os.WriteFile(filepath.Join(repo, instance.ConfigName), []byte("agents:\n  one: {image: x, command: [/bin/cat]}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"HOME": home, "DOCKER_HOST": "unix:///nonexistent"}
	e := role.OS(nil, role.Build{})
	e.Stdout, e.Stderr = io.Discard, io.Discard
	e.Lookup = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	on := term.New(e)
	return instance.New(&on, instance.Flags{Directory: repo})
}

// examOf is an exam that has asked for the engine.
func examOf(t *testing.T, at *instance.Locator) *exam {
	t.Helper()
	x := newExam(t.Context(), at)
	<-x.engines.done
	return x
}

// TestPlannedAsStarted: an instance is judged by where it was started, where sett.yml does
// not say it.
func TestPlannedAsStarted(t *testing.T) {
	at := workspace(t)
	if examOf(t, at).planned() == nil {
		t.Error("no containers are planned where nothing was started")
	}
	root, err := at.Root()
	if err != nil {
		t.Fatal(err)
	}
	in := &instance.Instance{Dir: filepath.Join(root, "clan"), State: instance.State{Name: "clan", Runtime: "process"}}
	if in.Workspace, err = at.Workspace(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(in.Dir, 0o700), in.Save()); err != nil {
		t.Fatal(err)
	}
	if examOf(t, at).planned() != nil {
		t.Error("images are judged as if for containers")
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
	for d, want := range map[time.Duration]string{0: OK, time.Second: OK, 1100 * time.Millisecond: Warning, -90 * time.Second: Warning} {
		if got := skewed("engine", d); got.Status != want {
			t.Errorf("skew of %s: %+v", d, got)
		}
	}
	if f := skewed("engine", -90*time.Second); !strings.Contains(f.Finding, "1m30s behind") {
		t.Errorf("%+v", f)
	}
	if few, enough := filesLimit(wantFiles-1), filesLimit(wantFiles); few.Status != Warning || enough.Status != OK {
		t.Errorf("%+v %+v", few, enough)
	}
	if few, enough := threadsLimit(60, 1, 105), threadsLimit(106, 1, 105); few.Status != Warning || enough.Status != OK {
		t.Errorf("%+v %+v", few, enough)
	}
	proc := fstest.MapFS{
		"1/status":  {Data: []byte("Name:\ta\nUid:\t7\t7\t7\t7\nThreads:\t4\n")},
		"22/status": {Data: []byte("Name:\tb\nUid:\t7\t7\t7\t7\nThreads:\t2\n")},
		"3/status":  {Data: []byte("Name:\tc\nUid:\t0\t0\t0\t0\nThreads:\t9\n")},
	}
	if n, err := threadsOf(proc, 7); n != 6 || err != nil {
		t.Errorf("%d threads: %v", n, err)
	}
	if _, err := threadsOf(fstest.MapFS{}, 7); err == nil {
		t.Error("threads where nothing tells of them")
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

// TestDoctorPartsOnEngine: an instance without containers is told of by its other parts.
func TestDoctorPartsOnEngine(t *testing.T) {
	for _, c := range []struct {
		containers int
		ledger     bool
		want       string
	}{{1, true, "1 container"}, {4, false, "4 containers"}, {0, true, "the ledger, and no container,"}, {0, false, "a network or a volume, and no container,"}} {
		if got := partsOf(c.containers, c.ledger); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

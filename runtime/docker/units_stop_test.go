package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

func TestStop(t *testing.T) {
	p := newPlace(t)
	p.startUp(p.spec("polite", "wait"))
	p.startUp(p.spec("stubborn", "stubborn"))
	p.startUp(p.with(p.spec("kept", "wait"), func(c *runtime.Container) { c.Restart = true }))
	for name, grace := range map[string]time.Duration{"polite": time.Minute, "stubborn": 300 * time.Millisecond, "kept": time.Minute} {
		began := time.Now()
		if err := p.Stop(t.Context(), name, grace); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: stopped after %s", name, took)
		}
	}
	if left, err := p.List(t.Context(), nil); err != nil || len(left) != 0 {
		t.Errorf("left %+v, %v", left, err)
	}
	if log := p.logText("polite", -1); log != "up\nbye\n" {
		t.Errorf("log %q", log)
	}
	for _, name := range []string{"polite", "none", "../x"} {
		if err := p.Stop(t.Context(), name, 0); err != nil {
			t.Errorf("stop of what is not there: %v", err)
		}
	}
}

func TestStopPaused(t *testing.T) {
	p := newPlace(t)
	exits := p.exits()
	for name, c := range map[string]struct {
		does string
		code int
	}{"polite": {"wait", 3}, "stubborn": {"stubborn", -1}} {
		u := p.startUp(p.spec(name, c.does))
		if err := p.api.ContainerPause(t.Context(), u.ID); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		if err := p.Stop(ctx, name, time.Second); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if e := next(t, exits); e.Unit.ID != u.ID || e.Code != c.code {
			t.Errorf("%s: exit %+v", name, e)
		}
	}
	if left, err := p.List(t.Context(), nil); err != nil || len(left) != 0 {
		t.Errorf("left %+v, %v", left, err)
	}
}

func TestStopTogether(t *testing.T) {
	p := newPlace(t)
	q := New(p.e, p.o)
	p.startUp(p.spec("x", "wait"))
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if err := []*Runtime{p.Runtime, q}[i%2].Stop(t.Context(), "x", time.Second); err != nil {
				t.Error(err)
			}
			if left, err := p.List(t.Context(), nil); err != nil || len(left) != 0 {
				t.Errorf("stopped, and there: %+v, %v", left, err)
			}
		})
	}
	wg.Wait()
}

func TestStopInterrupted(t *testing.T) {
	p := newPlace(t)
	p.startUp(p.spec("x", "stubborn"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx, "x", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: %v", err)
	}
	if c := p.inspect("x"); !c.State.Running {
		t.Error("it was killed before the grace was over")
	}
}

func TestRevive(t *testing.T) {
	p := newPlace(t)
	s := p.with(p.spec("x", "fail-once", "/data/mark"), func(c *runtime.Container) {
		c.User = "4321:4322"
		c.Mounts = []runtime.Mount{{Source: p.LedgerVolume(), Volume: true, Target: "/data"}}
	})
	u := p.start(s)
	p.await(u)
	if err := p.Revive(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	p.until("up", func() bool { return strings.Contains(p.logText("x", -1), "up\n") })
	units, err := p.List(t.Context(), nil)
	if err != nil || len(units) != 1 || units[0].ID != u.ID || !units[0].Running || !units[0].StartedAt.After(u.StartedAt) {
		t.Errorf("revived %+v, %v; was %+v", units, err, u)
	}
	if err := p.Revive(t.Context(), "x"); err != nil {
		t.Errorf("revive what runs: %v", err)
	}
	if err := p.Revive(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("revive nobody: %v", err)
	}
}

// TestFiles has files where nothing else can be written, for a user who is not
// root, before the unit starts and while it runs.
func TestFiles(t *testing.T) {
	p := newPlace(t)
	s := p.with(p.spec("x", "look", "/data", "/data/a/b/secret", "/data/open", "/empty"), func(c *runtime.Container) {
		c.User, c.Tmp = "4321:4322", 1<<20
		c.Mounts = []runtime.Mount{{Source: p.ControlVolume(), Volume: true, Target: "/data/"}, {Source: p.LedgerVolume(), Volume: true, Target: "/empty"}}
		c.Files = []runtime.File{{Path: "/data/a/b/secret", Mode: 0o600, Data: []byte("s3cret")}, {Path: "/data/open", Mode: 0o644, Data: []byte("hello")}}
	})
	out := p.ran(s)
	for _, want := range []string{
		"file /data drwx------ 4321:4322", "write /data ok", `file /data/a/b/secret -rw------- 4321:4322 "s3cret"`,
		`file /data/open -rw-r--r-- 4321:4322 "hello"`, "file /empty drwx------ 4321:4322", "write /empty ok", "write / error",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if err := p.Write(t.Context(), "x", []runtime.File{{Path: "/data/open", Mode: 0o640, Data: []byte("ended")}}); err != nil {
		t.Errorf("write to what has ended: %v", err)
	}
	s.Name, s.Args, s.Container.Files = "y", []string{"wait"}, nil
	p.startUp(s)
	if err := p.Write(t.Context(), "y", []runtime.File{{Path: "/empty/new/f", Mode: 0o400, Data: []byte("runs")}}); err != nil {
		t.Fatal(err)
	}
	s.Name, s.Args = "z", []string{"look", "/data/open", "/data/a/b/secret", "/empty/new/f"}
	out = p.ran(s)
	for _, want := range []string{`file /data/open -rw-r----- 4321:4322 "ended"`, `4321:4322 "s3cret"`, `file /empty/new/f -r-------- 4321:4322 "runs"`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, path := range []string{"/etc/x", "/data", "/data/../etc/x", "/tmp/x", "/database"} {
		if err := p.Write(t.Context(), "y", []runtime.File{{Path: path}}); err == nil || !strings.Contains(err.Error(), "not below a writable volume") {
			t.Errorf("write %s: %v", path, err)
		}
	}
	if err := p.Write(t.Context(), "none", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write to nobody: %v", err)
	}
}

func TestVolumeOf(t *testing.T) {
	mounts := []runtime.Mount{{Volume: true, Target: "/data"}, {Volume: true, Target: "/data/ro", ReadOnly: true},
		{Target: "/data/bind"}, {Volume: true, Target: "/data/ro/rw/"}}
	for path, want := range map[string]string{
		"/data/x": "/data", "/data/ro/x": "", "/data/bind/x": "", "/data/ro/rw/x": "/data/ro/rw", "/data/ro/rw": "", "/x": "", "/data/rose": "/data",
	} {
		got, ok := volumeOf(mounts, path)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s is in %q, %v; want %q", path, got, ok, want)
		}
	}
}

func TestArchive(t *testing.T) {
	p := newPlace(t)
	s := p.with(p.spec("x", "exit", "0"), func(c *runtime.Container) {
		c.Mounts = []runtime.Mount{{Source: p.ControlVolume(), Volume: true, Target: "/control"}}
		c.Files = []runtime.File{{Path: "/control/logs/a.log", Mode: 0o600, Data: []byte("A")}}
	})
	p.await(p.start(s))
	rc, err := p.Archive(t.Context(), "x", "/control/logs")
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	var got []string
	for r := tar.NewReader(rc); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(r)
		got = append(got, fmt.Sprint(h.Name, " ", string(data)))
	}
	if s := strings.Join(got, ", "); s != "logs/ , logs/a.log A" {
		t.Errorf("archive: %s", s)
	}
	for _, c := range [][2]string{{"x", "/control/none"}, {"none", "/control"}} {
		if _, err := p.Archive(t.Context(), c[0], c[1]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("archive of %v: %v", c, err)
		}
	}
}

// TestEngineGone has no engine, and one that answers with nonsense.
func TestEngineGone(t *testing.T) {
	p := newPlace(t)
	w, wired := newWire(t, p.e)
	r := New(wired, p.o)
	w.setCut(true)
	_, startErr := r.Start(t.Context(), p.spec("x", "wait"))
	_, listErr := r.List(t.Context(), nil)
	_, exitsErr := r.Exits(t.Context())
	_, logsErr := r.Logs(t.Context(), "x", runtime.LogOptions{})
	for what, err := range map[string]error{"start": startErr, "list": listErr, "exits": exitsErr, "logs": logsErr, "stop": r.Stop(t.Context(), "x", 0)} {
		if !errors.Is(err, engine.ErrEngine) || strings.Contains(err.Error(), "http://") || len(err.Error()) > 200 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

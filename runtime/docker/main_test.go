package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"

	"sett/blackboard/redis/redistest"
	"sett/runtime"

	"sett/runtime/docker/engine"
)

const deadline = 5 * time.Minute // the machine may be busy with other things

// opened is the engine that all tests share.
var opened = sync.OnceValues(func() (*engine.Engine, error) {
	ep, err := engine.Find(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return engine.Open(context.Background(), ep)
})

// machineEngine returns the machine's container engine. Without one, the test cannot run.
func machineEngine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := opened()
	if errors.Is(err, engine.ErrEngine) {
		t.Skip(redistest.Unreached(err))
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestMain(m *testing.M) {
	code := m.Run()
	if made := unitImage.made; made != "" {
		if e, err := opened(); err == nil {
			_, _ = e.API().ImageRemove(context.Background(), made, image.RemoveOptions{Force: true})
		}
	}
	os.Exit(code)
}

// unitImage is FROM scratch with testdata/unit, which has to be built: the test
// binary itself is not static where it looks for races.
var unitImage struct {
	once sync.Once
	made string
	err  error
}

func imageOf(t testing.TB, e *engine.Engine) string {
	t.Helper()
	u := &unitImage
	u.once.Do(func() { u.made, u.err = makeUnitImage(t, e) })
	if u.err != nil {
		t.Fatal(u.err)
	}
	return u.made
}

func makeUnitImage(t testing.TB, e *engine.Engine) (string, error) {
	path := filepath.Join(t.TempDir(), "unit")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./testdata/unit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+e.Facts().Arch, "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, h := range []tar.Header{{Typeflag: tar.TypeReg, Name: "unit", Mode: 0o755, Size: int64(len(data))},
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}} {
		if err := w.WriteHeader(&h); err != nil {
			return "", err
		}
		if h.Size > 0 {
			if _, err := w.Write(data); err != nil {
				return "", err
			}
		}
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	ref := "sett-test-unit:" + strings.ToLower(rand.Text())
	rc, err := e.API().ImageImport(t.Context(), image.ImportSource{Source: &layer, SourceName: "-"}, ref, image.ImportOptions{
		// A hostile image might have these labels, and these variables.
		Changes: []string{`ENTRYPOINT ["/unit"]`, `ENV FROM_IMAGE=yes SETT_COURSES=planted SETT_AGENT_NAME=planted REDIS_URL=planted`, `LABEL sett.claim=stolen sett.test=unit`}})
	if err != nil {
		return "", err
	}
	defer rc.Close()
	_, err = io.Copy(io.Discard, rc)
	return ref, err
}

// place is a Runtime of a test's own instance, of which nothing is left when the
// test ends.
type place struct {
	*Runtime
	t     testing.TB
	image string
}

func newPlace(t testing.TB, change ...func(*Options)) *place {
	t.Helper()
	e := machineEngine(t)
	o := Options{Instance: "t" + strings.ToLower(rand.Text()[:10]), Logs: t.TempDir(),
		Labels: runtime.Labels{runtime.LabelWorkspace: "/the/workspace", runtime.LabelRun: "run"},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, c := range change {
		c(&o)
	}
	image := imageOf(t, e)
	t.Cleanup(func() { removeInstance(t, e, o.Instance) })
	return &place{New(e, o), t, image}
}

// removeInstance removes everything with the instance's label.
func removeInstance(t testing.TB, e *engine.Engine, instance string) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	mine := filters.NewArgs(filters.Arg("label", runtime.LabelInstance+"="+instance))
	containers, err := e.API().ContainerList(ctx, container.ListOptions{All: true, Filters: mine})
	if err != nil {
		t.Error(err)
	}
	for _, c := range containers {
		if err := e.API().ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			t.Error(err)
		}
	}
	networks, err := e.API().NetworkList(ctx, network.ListOptions{Filters: mine})
	if err != nil {
		t.Error(err)
	}
	for _, n := range networks {
		if err := e.API().NetworkRemove(ctx, n.ID); err != nil {
			t.Error(err)
		}
	}
	volumes, err := e.API().VolumeList(ctx, volume.ListOptions{Filters: mine})
	if err != nil {
		t.Error(err)
	}
	for _, v := range volumes.Volumes {
		if err := e.API().VolumeRemove(ctx, v.Name, true); err != nil {
			t.Error(err)
		}
	}
}

// spec is a unit of the test image, without a network, which makes it start fast.
func (p *place) spec(name string, args ...string) runtime.Spec {
	return runtime.Spec{Name: name, Args: args, Env: []string{"SECRET=hunter2"},
		Labels:    runtime.Labels{runtime.LabelComponent: runtime.ComponentAgent, runtime.LabelAgent: name},
		Container: runtime.Container{Image: p.image}}
}

// with is spec with some of its container changed.
func (p *place) with(s runtime.Spec, change func(*runtime.Container)) runtime.Spec {
	s.Labels = maps.Clone(s.Labels)
	change(&s.Container)
	return s
}

func (p *place) start(s runtime.Spec) runtime.Unit {
	p.t.Helper()
	u, err := p.Start(p.t.Context(), s)
	if err != nil {
		p.t.Fatal(err)
	}
	return u
}

// startUp is start for units that say when they are ready.
func (p *place) startUp(s runtime.Spec) runtime.Unit {
	p.t.Helper()
	u := p.start(s)
	p.until("unit up", func() bool { return strings.Contains(p.logText(s.Name, -1), "up\n") })
	return u
}

// ran runs a unit to its end and returns its output.
func (p *place) ran(s runtime.Spec) string {
	p.t.Helper()
	u := p.start(s)
	p.await(u)
	return p.logText(s.Name, -1)
}

// await waits for a container's end.
func (p *place) await(u runtime.Unit) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), deadline)
	defer cancel()
	ended, errs := p.api.ContainerWait(ctx, u.ID, container.WaitConditionNotRunning)
	select {
	case <-ended:
	case err := <-errs:
		p.t.Fatal(err)
	}
}

func (p *place) inspect(name string) container.InspectResponse {
	p.t.Helper()
	c, err := p.api.ContainerInspect(p.t.Context(), p.names.container(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *place) logText(name string, lines int) string {
	p.t.Helper()
	rc, err := p.Logs(p.t.Context(), name, runtime.LogOptions{Lines: lines})
	if err != nil {
		p.t.Fatal(err)
	}
	defer rc.Close()
	data, err := io.ReadAll(rc)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func (p *place) signal(name, signal string) {
	p.t.Helper()
	if err := p.api.ContainerKill(p.t.Context(), p.names.container(name), signal); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for a condition that no channel tells of.
func (p *place) until(what string, cond func() bool) {
	p.t.Helper()
	for began := time.Now(); !cond(); <-time.After(min(max(10*time.Millisecond, time.Since(began)/20), 100*time.Millisecond)) {
		if time.Since(began) > deadline { // looks take time from the engine, so they get rarer
			p.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (p *place) exits() <-chan runtime.Exit {
	p.t.Helper()
	ch, err := p.Exits(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return ch
}

func next(t testing.TB, ch <-chan runtime.Exit) runtime.Exit {
	t.Helper()
	select {
	case e, ok := <-ch:
		if !ok {
			t.Fatal("exits ended")
		}
		return e
	case <-time.After(deadline):
		t.Fatal("no exit")
	}
	panic("unreachable")
}

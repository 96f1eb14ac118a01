package image

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/pkg/stdcopy"

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

// store returns the images of the machine's container engine. Without one, the test
// cannot run.
func store(t testing.TB) *Store {
	t.Helper()
	e, err := opened()
	if errors.Is(err, engine.ErrEngine) {
		t.Skip(redistest.Unreached(err))
	}
	if err != nil {
		t.Fatal(err)
	}
	return New(e)
}

// newInstance returns the name of an instance of the test's own.
func newInstance() string { return "t" + strings.ToLower(rand.Text()[:10]) }

// empty is an image with nothing in it, gone when the test ends.
func (s *Store) empty(t *testing.T) (ref string) {
	t.Helper()
	ref = "sett-test-empty:" + strings.ToLower(rand.Text())
	rc, err := s.api.ImageImport(t.Context(), image.ImportSource{Source: bytes.NewReader(make([]byte, 1024)), SourceName: "-"}, ref, image.ImportOptions{Changes: []string{`CMD ["/none"]`}})
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	if _, err := io.Copy(io.Discard, rc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.api.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true}) })
	return ref
}

// ran runs a program of an image and returns its output. The volume, if any, is
// mounted at BinaryDir.
func (s *Store) ran(t *testing.T, image, volume string, command ...string) string {
	t.Helper()
	var mounts []mount.Mount
	if volume != "" {
		mounts = append(mounts, mount.Mount{Type: mount.TypeVolume, Source: volume, Target: BinaryDir, ReadOnly: true})
	}
	c, err := s.api.ContainerCreate(t.Context(), &container.Config{Image: image, Entrypoint: command[:1], Cmd: command[1:],
		Labels: map[string]string{runtime.LabelInstance: newInstance()}}, &container.HostConfig{Mounts: mounts}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.api.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{Force: true})
	if err := s.api.ContainerStart(t.Context(), c.ID, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	ended, errs := s.api.ContainerWait(ctx, c.ID, container.WaitConditionNotRunning)
	select {
	case <-ended:
	case err := <-errs:
		t.Fatal(err)
	}
	logs, err := s.api.ContainerLogs(ctx, c.ID, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &out, logs); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

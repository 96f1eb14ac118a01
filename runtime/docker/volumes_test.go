package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"sett/runtime"
)

// TestVolumesOfImage: what an image declares as volumes is there to read, and can be written
// only where the whole root can. It goes with its container.
func TestVolumesOfImage(t *testing.T) {
	p := newPlace(t)
	binary := p.binaryVolume(t)
	ref := p.withVolumes(t)
	tree := t.TempDir()
	unit := func(name string, args ...string) runtime.Spec {
		return p.with(p.spec(name, args...), func(c *runtime.Container) {
			c.Image, c.Binary, c.Tmp = ref, binary, 1<<20
			c.Mounts = []runtime.Mount{{Source: tree, Target: "/data/deep/1"}, {Source: tree, Target: "/covered"}}
		})
	}
	look := []string{"look", "/cache", "/cache/state", "/data", "/data/deep", "/data/deep/1", "/covered"}
	out := p.ran(unit("x", look...))
	for _, want := range []string{`file /cache/state -rw-rw-rw- 0:0 "kept"`, "write /cache error: open /cache/probe: read-only file system",
		"write /data error: open /data/probe: read-only file system", "write /data/deep error: ", "write /data/deep/1 ok\n", "write /covered ok\n", "write /tmp ok\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	p.startUp(unit("stays", "wait"))
	writable := unit("writable", look...)
	writable.Container.Writable = true
	if out := p.ran(writable); !strings.Contains(out, "write /cache ok\n") || !strings.Contains(out, `"kept"`) {
		t.Errorf("with a writable root:\n%s", out)
	}
	for _, name := range []string{"x", "stays", "writable"} {
		var nameless []string
		for _, m := range p.inspect(name).Mounts {
			if m.Type == mount.TypeVolume && m.Name != binary {
				nameless = append(nameless, m.Name)
			}
		}
		if len(nameless) < 2 { // /cache and /data
			t.Errorf("%s has the volumes %q", name, nameless)
		}
		if err := p.Stop(t.Context(), name, 0); err != nil {
			t.Error(err)
		}
		for _, v := range nameless {
			if _, err := p.api.VolumeInspect(t.Context(), v); !errdefs.IsNotFound(err) {
				t.Errorf("%s leaves the volume %s: %v", name, v, err)
			}
		}
	}
	mine, err := p.api.ContainerList(t.Context(), container.ListOptions{All: true, Filters: p.names.labelled()})
	if len(mine) > 0 || err != nil {
		t.Errorf("containers left: %+v, %v", mine, err)
	}
}

// binaryVolume is a volume that has the test's unit in place of the sett binary.
func (p *place) binaryVolume(t *testing.T) (name string) {
	t.Helper()
	name = p.ControlVolume()
	made, err := p.api.ContainerCreate(t.Context(), &container.Config{Image: p.image, Labels: p.o.probes()}, &container.HostConfig{NetworkMode: "none",
		Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: name, Target: "/.sett", VolumeOptions: &mount.VolumeOptions{Labels: p.o.owned()}}}}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.units.remove(context.Background(), made.ID, true) }()
	from, _, err := p.api.CopyFromContainer(t.Context(), made.ID, "/unit")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	r := tar.NewReader(from)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	to := tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "sett", Mode: 0o755}, string(data))
	if err := p.api.CopyToContainer(t.Context(), made.ID, "/.sett", to, container.CopyToContainerOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// withVolumes makes an image with volumes, which is gone when the test ends.
func (p *place) withVolumes(t *testing.T) (ref string) {
	t.Helper()
	ref = "sett-test-volumes:" + strings.ToLower(rand.Text())
	layer := tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "cache/state", Mode: 0o666}, "kept")
	p.imported(t, ref, layer, `ENTRYPOINT ["/none"]`, `VOLUME /cache /data/ /covered /tmp`)
	return ref
}

// tarOf is an archive with one file.
func tarOf(t *testing.T, h tar.Header, data string) io.Reader {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	h.Size = int64(len(data))
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &text
}

package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"

	"sett/runtime"
)

// An image that leads a mount to the sett binary by a link is refused before it runs, and
// leaves no container; other links are let be.
func TestLinksOverTheBinary(t *testing.T) {
	p := newPlace(t)
	tree := t.TempDir()
	for name, c := range map[string]struct {
		links  map[string]string
		volume string
		fault  string
	}{
		"workspace":         {map[string]string{"workspace": "/.sett"}, "", "/workspace is a link to /.sett"},
		"its own volume":    {map[string]string{"a": ".sett"}, "/a", "/a is a link to"},
		"below a directory": {map[string]string{"a": "/.sett"}, "/a/b/c", "/a is a link to"},
		"through another":   {map[string]string{"a": "/b", "b": "/.sett"}, "/a", "/a is a link to"},
		"the root":          {map[string]string{"workspace": "/"}, "", "/workspace is a link to"},
		"the binary":        {map[string]string{".sett": "/workspace"}, "", "/.sett is a link to"},
		"harmless":          {map[string]string{"workspace": "/srv", "a": "/srv"}, "/a", "/.sett/sett"}, // the volume of this test is empty
	} {
		t.Run(name, func(t *testing.T) {
			ref := p.linked(t, c.links, c.volume)
			s := p.with(p.spec("x", "wait"), func(to *runtime.Container) {
				to.Image, to.Binary = ref, p.LedgerVolume()
				to.Mounts = []runtime.Mount{{Source: tree, Target: "/workspace"}}
			})
			_, err := p.Start(t.Context(), s)
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%v, want %q", err, c.fault)
			}
			if left, err := p.List(t.Context(), nil); len(left) > 0 || err != nil {
				t.Errorf("left: %+v, %v", left, err)
			}
		})
	}
}

// linked makes an image with links alone, which is gone when the test ends.
func (p *place) linked(t *testing.T, links map[string]string, volume string) (ref string) {
	t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for name, to := range links {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	changes := []string{`ENTRYPOINT ["/none"]`}
	if volume != "" {
		changes = append(changes, "VOLUME "+volume)
	}
	ref = "sett-test-links:" + strings.ToLower(rand.Text())
	p.imported(t, ref, &layer, changes...)
	return ref
}

// imported makes an image of one layer, which is gone when the test ends.
func (p *place) imported(t *testing.T, ref string, layer io.Reader, changes ...string) {
	t.Helper()
	rc, err := p.api.ImageImport(t.Context(), image.ImportSource{Source: layer, SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	if _, err := io.Copy(io.Discard, rc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.api.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true}) })
}

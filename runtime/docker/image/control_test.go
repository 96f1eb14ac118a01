package image

import (
	"bytes"
	"context"
	"crypto/rand"
	"debug/elf"
	endian "encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/quick"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

// ownControl is the engine with control images of the test's own: their names, and
// what becomes of them, are none of another test's business.
func ownControl(t *testing.T) *Store {
	t.Helper()
	s := *store(t)
	s.repository = "sett-test-" + strings.ToLower(rand.Text()[:10])
	t.Cleanup(func() {
		list, err := s.api.ImageList(context.Background(), image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("reference", s.repository))})
		if err != nil {
			t.Error(err)
		}
		for _, i := range list {
			if _, err := s.api.ImageRemove(context.Background(), i.ID, image.RemoveOptions{Force: true}); err != nil {
				t.Error(err)
			}
		}
	})
	return &s
}

var staticUnit = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "unit")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "../testdata/unit")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		os.Stderr.Write(out)
		return nil, err
	}
	return os.ReadFile(path)
})

// executable is a binary as no other test has it.
func executable(t *testing.T) Executable {
	t.Helper()
	data, err := staticUnit()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sett")
	if err := os.WriteFile(path, append(bytes.Clone(data), rand.Text()...), 0o755); err != nil {
		t.Fatal(err)
	}
	return Executable{Path: path, Version: "v1.2+test"}
}

func control(t *testing.T, s *Store, x Executable) Image {
	t.Helper()
	i, err := s.Control(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestControl(t *testing.T) {
	s := ownControl(t)
	x := executable(t)
	i := control(t, s, x)
	if !regexp.MustCompile(`^` + s.repository + `:v1\.2-test-[0-9a-f]{12}$`).MatchString(i.Ref) {
		t.Error("ref", i.Ref)
	}
	if i.OS != "linux" || i.Arch != s.facts.Arch {
		t.Errorf("%+v", i)
	}
	got, err := s.api.ImageInspect(t.Context(), s.repository+":latest")
	if err != nil || got.ID != i.ID {
		t.Fatalf("latest is %s, %v", got.ID, err)
	}
	if len(got.RootFS.Layers) != 1 || len(got.Config.Labels[labelControl]) != 64 {
		t.Errorf("%+v %v", got.RootFS, got.Config.Labels)
	}
	tagged := got.Metadata.LastTagTime
	if again := control(t, s, x); again.ID != i.ID || again.Ref != i.Ref {
		t.Errorf("the second time %+v, the first %+v", again, i)
	}
	if got, err = s.api.ImageInspect(t.Context(), i.ID); err != nil || !got.Metadata.LastTagTime.Equal(tagged) {
		t.Error("it was not used as it is")
	}
	if out := s.ran(t, i.ID, "", controlProgram, "exit", "0"); !strings.Contains(out, "last words") {
		t.Errorf("run, it printed %q", out)
	}
}

// A newer build takes over the name latest, and one that was there before takes it
// back.
func TestControlLatest(t *testing.T) {
	s := ownControl(t)
	x, y := executable(t), executable(t)
	first, second := control(t, s, x), control(t, s, y)
	for _, tt := range []struct {
		x    Executable
		want Image
	}{{y, second}, {x, first}} {
		control(t, s, tt.x)
		if got, _, err := s.image(t.Context(), s.repository+":latest"); err != nil || got.ID != tt.want.ID {
			t.Errorf("latest is %s, want %s", got.ID, tt.want.ID)
		}
	}
	s.facts.Arch = "other"
	control(t, s, y)
	if got, _, err := s.image(t.Context(), s.repository+":latest"); err != nil || got.ID != first.ID {
		t.Errorf("an image for another machine became latest: %v", err)
	}
}

func TestControlAtOnce(t *testing.T) {
	s := ownControl(t)
	x := executable(t)
	images := make([]Image, 5)
	var wg sync.WaitGroup
	for n := range images {
		wg.Go(func() {
			i, err := s.Control(t.Context(), x)
			if err != nil {
				t.Error(err)
			}
			images[n] = i
		})
	}
	wg.Wait()
	_, got, err := s.image(t.Context(), images[0].Ref)
	if err != nil {
		t.Fatal(err)
	}
	label := labelControl + "=" + imageLabels(got)[labelControl]
	list, err := s.api.ImageList(t.Context(), image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil || len(list) != 1 {
		t.Errorf("%d images, %v", len(list), err)
	}
	for _, i := range images {
		if i.ID != got.ID {
			t.Errorf("one got %s, another %s", i.ID, got.ID)
		}
	}
}

func TestControlRefuses(t *testing.T) {
	s := ownControl(t)
	data, err := staticUnit()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// The first entry of its program header becomes the one that names a loader.
	dynamic := bytes.Clone(data)
	endian.LittleEndian.PutUint32(dynamic[endian.LittleEndian.Uint64(dynamic[0x20:]):], uint32(elf.PT_INTERP))
	for path, want := range map[string]string{
		write("script", []byte("#!/bin/sh\n")): "no executable for Linux",
		filepath.Join(dir, "gone"):             "no such file",
		write("dynamic", dynamic):              "not statically linked",
	} {
		if _, err := s.Control(t.Context(), Executable{Path: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

func TestTag(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "": "dev", "(devel)": "devel", "1.0+dirty": "1.0-dirty", "..": "dev", "ü": "dev"} {
		if got := tagOf(version); got != want {
			t.Errorf("%q becomes %q, want %q", version, got, want)
		}
	}
	if err := quick.Check(func(version string) bool {
		ref := "sett:" + tagOf(version) + "-0123456789ab"
		got, err := normalReference(ref)
		return err == nil && got == ref
	}, nil); err != nil {
		t.Error(err)
	}
}

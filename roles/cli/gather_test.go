package cli

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sett/roles/cli/instance"
)

// logArchive is a tar stream of the directory logs.
func logArchive(t *testing.T, files map[string]string) *tar.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "logs/", Mode: 0o700}); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "logs/" + name, Size: int64(len(text)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return tar.NewReader(&b)
}

// TestGathered: what is new comes home once, whole after a log was begun anew, and
// nowhere but into the directory.
func TestGathered(t *testing.T) {
	dir := t.TempDir()
	g := instance.Gathered{Sizes: map[string]int64{}}
	for _, files := range []map[string]string{
		{"a.log": "1\n", "../../b.log": "b\n", "c.txt": "c\n", ".log": "d\n"},
		{"a.log": "1\n2\n"},
		{"a.log": "1\n2\n"},
		{"a.log": "3\n"},
	} {
		if err := g.Take(logArchive(t, files), dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a.log": "1\n2\n3\n", "b.log": "b\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("the directory has %v", all)
	}
}

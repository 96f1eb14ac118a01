package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sett/roles/role/lfs"
)

func TestPointers(t *testing.T) {
	dir := t.TempDir()
	at := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const pointer = lfs.Begins + "v1\noid sha256:00\nsize 1\n"
	at("init", "-q")
	put("a ü.bin", pointer)
	put("text", "version https://example.org/\n")
	at("add", "-A")
	at("update-index", "--add", "--cacheinfo", fmt.Sprintf("160000,%040d,deep/sub", 1))
	at("commit", "-q", "-m", "one")
	g := At(os.Environ(), dir)
	check := func(submodules, large []string) {
		t.Helper()
		p, err := FindPointers(t.Context(), g, "HEAD")
		if err != nil || !slices.Equal(p.Submodules, submodules) || !slices.Equal(p.LFS, large) {
			t.Errorf("found %q and %q, want %q and %q: %v", p.Submodules, p.LFS, submodules, large, err)
		}
	}
	check([]string{"deep/sub"}, nil) // no attribute says so: the text is just a text
	if err := os.MkdirAll(filepath.Join(dir, "deep/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	put("dir/.gitattributes", "*.bin filter=lfs\n")
	put("dir/b.bin", pointer)
	at("add", "-A")
	at("commit", "-q", "-m", "two")
	check([]string{"deep/sub"}, []string{"a ü.bin", "dir/b.bin"})
}

package role

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildOf builds two programs of one version, one of them twice: only those of other
// sources differ, with the linker's id and without it.
func TestBuildOf(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "-buildid="} {
		dir := t.TempDir()
		build := func(name, says string) string {
			t.Helper()
			source := filepath.Join(dir, name+".go")
			if err := os.WriteFile(source, []byte("package main\n\nfunc main() { print(\""+says+"\") }\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(dir, name)
			if text, err := exec.Command("go", "build", "-trimpath", "-ldflags", id, "-o", out, source).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			return buildOf(out)
		}
		one, other := build("one", "1"), build("other", "2")
		if one == other || one == build("one", "2") || one != build("one", "1") || len(one) != 12 {
			t.Errorf("ids %q: one is %s, other is %s", id, one, other)
		}
	}
	if got := buildOf(filepath.Join(t.TempDir(), "none")); got != "unknown" {
		t.Error(got)
	}
}

func TestBuildName(t *testing.T) {
	t.Parallel()
	if got := (Build{Version: "v1.2.3", Commit: "abc"}).Name(); got != "v1.2.3 (commit abc)" {
		t.Error(got)
	}
	if got := (Build{Version: "v1.2.3"}).Name(); !strings.HasPrefix(got, "v1.2.3 (commit ") { // that of go build, if there is one
		t.Error(got)
	}
	for _, version := range []string{"dev", "v1.2.3-4-gabc-dirty"} {
		if got := (Build{Version: version, Commit: "abc"}).Name(); !strings.HasPrefix(got, version+" (commit abc, build ") || strings.Contains(got, "unknown") {
			t.Error(got)
		}
	}
}

package role

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// TestBuildOfReplaced: a program whose file was replaced while it runs is the build that it was.
func TestBuildOfReplaced(t *testing.T) {
	const replace = "SETT_TEST_REPLACE"
	if other := os.Getenv(replace); other != "" {
		own, err := os.Executable()
		if err == nil {
			err = os.Rename(other, own)
		}
		fmt.Println(ownBuild(), err)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the file of a running program after it was replaced")
	}
	dir := t.TempDir()
	program, other := filepath.Join(dir, "program"), filepath.Join(dir, "other")
	text, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.WriteFile(program, text, 0o700), os.WriteFile(other, []byte("another build"), 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "^TestBuildOfReplaced$")
	cmd.Env = append(os.Environ(), replace+"="+other)
	out, err := cmd.CombinedOutput()
	if want := buildOf(os.Args[0]) + " <nil>\n"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v: %s, want %s", err, out, want)
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

package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Every action of the workflows is named by the digest of a commit, since a tag can be
// moved, and no checkout leaves the token behind for what runs after it.
func TestActionsPinned(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, breach := range unpinned(string(text)) {
			t.Errorf("%s: %s", name, breach)
		}
	}
}

// The rule is not void: each way to break it is found.
func TestActionsPinnedFinds(t *testing.T) {
	t.Parallel()
	const digest = "0123456789012345678901234567890123456789"
	for text, want := range map[string]int{
		"      - uses: a/b@v1\n":                                                   1,
		"      - uses: a/b@" + digest[:12] + "\n":                                  1,
		"      - uses: a/b@" + digest + "\n":                                       1, // of which version?
		"      - uses: a/b@" + digest + " # v1.2.3\n":                              0,
		"      - uses: ./of/our/own\n":                                             0,
		"      - uses: actions/checkout@" + digest + " # v4.2.2\n      - run: x\n": 1,
		"      - uses: actions/checkout@" + digest + " # v4.2.2\n        with:\n          fetch-depth: 0\n      - run: x\n": 1,
		"      - uses: actions/checkout@" + digest + " # v4.2.2\n        with:\n          persist-credentials: false\n":     0,
	} {
		if got := unpinned(text); len(got) != want {
			t.Errorf("%q: %d breaches, not %d: %v", text, len(got), want, got)
		}
	}
}

var (
	uses   = regexp.MustCompile(`(?m)^\s*-? *uses: *(.*)$`)
	pinned = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

func unpinned(workflow string) (breaches []string) {
	for _, at := range uses.FindAllStringSubmatchIndex(workflow, -1) {
		action := workflow[at[2]:at[3]]
		if strings.HasPrefix(action, "./") {
			continue
		}
		if !pinned.MatchString(action) {
			breaches = append(breaches, action+": not pinned as OWNER/NAME@DIGEST # vX.Y.Z")
		}
		step, _, _ := strings.Cut(workflow[at[1]:], "\n      - ")
		if strings.HasPrefix(action, "actions/checkout@") && !strings.Contains(step, "persist-credentials: false") {
			breaches = append(breaches, action+": leaves the token behind: persist-credentials: false")
		}
	}
	return breaches
}

// Two builds of the same sources in two places give the same bytes, and say nothing of
// the place. `make reproducible` does it with empty build caches.
func TestReproducible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make test runs it") // two builds take their time
	}
	tracked, err := exec.Command("git", "ls-files", "-z", "*.go", "*.lua", "go.mod", "go.sum", "Makefile", "agents", "roles", "contract").Output()
	if err != nil {
		t.Fatal(err)
	}
	var built [2][]byte
	var binary string
	for i, place := range []string{"one", "two/deeper"} {
		dir := filepath.Join(t.TempDir(), place)
		for _, name := range strings.Split(strings.TrimSuffix(string(tracked), "\x00"), "\x00") {
			if !strings.HasSuffix(name, "_test.go") {
				copyFile(t, name, filepath.Join(dir, name))
			}
		}
		build := exec.Command("make", "build", "VERSION=v0.0.0", "COMMIT=0")
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		binary = filepath.Join(dir, "bin", "sett")
		if built[i], err = os.ReadFile(binary); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(built[i], []byte(dir)) {
			t.Errorf("the binary names %s", dir)
		}
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("two builds, and not the same bytes")
	}
	if size := len(built[0]); size > mostBytes {
		t.Errorf("the binary has %d bytes, at most %d", size, mostBytes)
	}
	startsFast(t, binary)
}

const (
	mostBytes = 28 << 20 // it is copied into every agent; calling methods by names made at run time doubles it
	mostStart = 12       // times the time that the smallest Go program takes
)

// startsFast compares the whole of `sett version` with the smallest Go program: the best
// of many runs, in turn, so that a busy machine slows both.
func startsFast(t *testing.T, binary string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	smallest := filepath.Join(dir, "smallest")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", smallest, filepath.Join(dir, "main.go"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	best := map[string]time.Duration{}
	for range 60 {
		for _, path := range []string{smallest, binary} {
			began := time.Now()
			if out, err := exec.Command(path, "version").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if took := time.Since(began); best[path] == 0 || took < best[path] {
				best[path] = took
			}
		}
	}
	t.Logf("sett version: %s, the smallest Go program: %s", best[binary], best[smallest])
	if best[binary] > mostStart*best[smallest] {
		t.Errorf("sett version takes %s, the smallest Go program %s: at most %d times as long", best[binary], best[smallest], mostStart)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if os.IsNotExist(err) {
		return // removed, and not yet committed
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

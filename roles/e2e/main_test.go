package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// binary is the sett under test: the file that SETT_TEST_BINARY names, or built once
// per run. Units start their own executable again, so it has to be the real one.
// TestMain sets it.
var binary string

// full says whether every crash point is tried before and after the write; else
// they alternate.
func full() bool { return os.Getenv("SETT_E2E_FULL") != "" }

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("4"); err != nil { // they often wait; six made it no faster, and others slower
			panic(err)
		}
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "sett-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if binary = os.Getenv("SETT_TEST_BINARY"); binary != "" {
		return m.Run(), forgetEngine()
	}
	binary = filepath.Join(dir, "sett")
	args := append(append([]string{"build", "-ldflags=-s -w"}, buildFlags...), "-o", binary, "sett")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build sett: %w\n%s", err, out)
	}
	code = m.Run()
	return code, forgetEngine()
}

// eventually waits for a condition and fails the test when it does not come true
// in time.
func eventually(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); <-again(began) {
		if time.Since(began) > limit {
			t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

// again says when to look again for what has been awaited since began: after a
// twentieth of that time. Looking takes the processor from what is awaited, above all
// where the engine has to answer.
func again(began time.Time) <-chan time.Time {
	return time.After(min(max(time.Since(began)/20, 10*time.Millisecond), 100*time.Millisecond))
}

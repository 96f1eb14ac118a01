package cli

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sett/blackboard/redis/redistest"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/confine"
	"sett/roles/role/hosttest"
	"sett/runtime/process"
)

// TestMain makes the test binary serve as `sett` in scripts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && isRole(os.Args[1]) {
		sett() // started by a test that called Run itself
	}
	testscript.Main(tests{m}, map[string]func(){"sett": sett, "staff": staff})
}

// later is why the long tests and those of the real binary are skipped with -short.
const later = redistest.Later

// tests has a directory for the real binary as long as they run.
type tests struct{ m *testing.M }

var buildDir string

// Run runs the tests.
func (t tests) Run() int {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("4"); err != nil { // they often wait; the end-to-end tests run beside them, and take longer
			panic(err)
		}
	}
	dir, err := os.MkdirTemp("", "sett-cli-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	buildDir = dir
	defer os.RemoveAll(dir)
	for _, v := range os.Environ() { // the developer's own author or repository must not reach the tests' commits
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") {
			if err := os.Unsetenv(name); err != nil {
				panic(err)
			}
		}
	}
	hosttest.PlainGit()
	defer removeTestImages()
	return t.m.Run()
}

// realSett is where, below HOME, scripts have the real binary.
const realSett = ".real-sett"

// sett is the command line. What it starts in another role is the real binary:
// roles do not know each other, not in tests either.
func sett() {
	if len(os.Args) > 1 && isRole(os.Args[1]) {
		binary, err := filepath.EvalSymlinks(filepath.Join(os.Getenv("HOME"), realSett))
		if err == nil {
			err = syscall.Exec(binary, os.Args, os.Environ())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	e := role.OS(os.Args[1:], role.Build{Version: testVersion, Commit: "0123456789ab"})
	compare := lookAtMine(e.Args)
	err := Run(ctx, e)
	compare()
	stop()
	if err != nil {
		role.Report(os.Stderr, err)
	}
	os.Exit(int(role.CodeOf(err)))
}

func isRole(s string) bool {
	return slices.Contains([]string{"orchestrator", "cub", "blackboard", "keeper", "notifier", "repository", "pause"}, s)
}

// buildSett builds the real binary, once.
var buildSett = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "sett")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "sett") // as make does: what is compiled is kept for it
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build sett: %w\n%s", err, out)
	}
	return path, nil
})

// TestScripts runs each command's success, failures and help.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	binary, err := buildSett()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: func(e *testscript.Env) error { return setup(e, binary) },
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(name string) (bool, error) {
			switch name {
			case "landlock":
				return confine.Level() > 0, nil
			case "mounts":
				return exec.Command("unshare", "-m", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
	})
}

// goCache is where Go keeps what it has compiled: a script's own home would have it compile
// the standard library again. Empty: there is no Go.
var goCache = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out))
})

// setup gives each script directories and an identity of its own, and ends what
// it started.
func setup(env *testscript.Env, binary string) error {
	state := filepath.Join(env.WorkDir, ".state")
	env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
	env.Setenv("XDG_STATE_HOME", state)
	if compiled := goCache(); compiled != "" {
		env.Setenv("GOCACHE", compiled)
	}
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("NAME", "repo") // of a script that also runs with an engine
	env.Setenv("UP", "--runtime process --yes")
	// What these scripts do needs no engine, and so must not look for one.
	env.Setenv("DOCKER_HOST", "unix://"+filepath.Join(env.WorkDir, "no-engine.sock"))
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		env.Setenv("GIT_"+who+"_NAME", "Test")
		env.Setenv("GIT_"+who+"_EMAIL", "test@example.org")
	}
	home := filepath.Join(env.WorkDir, ".home")
	env.Defer(func() {
		if text, err := os.ReadFile(filepath.Join(home, changedFile)); err == nil {
			env.T().Log(string(text))
			env.T().FailNow()
		}
	})
	env.Defer(func() { endAll(filepath.Join(state, "sett")) })
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	return os.Symlink(binary, filepath.Join(home, realSett))
}

// endAll kills the units of every instance below a state directory, until none
// comes back.
func endAll(root string) {
	dirs, _ := filepath.Glob(filepath.Join(root, "*"))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, dir := range dirs {
		_ = os.WriteFile(filepath.Join(dir, "stopping"), nil, 0o600)
		rt := process.New(process.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
		for range 10 {
			units, _ := rt.List(ctx, nil)
			if len(units) == 0 {
				break
			}
			for _, u := range units {
				_ = rt.Stop(ctx, u.Name, 0)
			}
		}
		_ = (&instance.Instance{Dir: dir}).Pins().Keep() // the user of these tests may not remove read-only directories
	}
}

// exits is the script command `exits CODE COMMAND…`: the command ends with
// exactly this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	if got := exitCode(err); got != want {
		ts.Fatalf("%v ended with %d, want %d", args[1:], got, want)
	}
}

func exitCode(err error) int {
	type coder interface{ ExitCode() int }
	if err == nil {
		return 0
	}
	if c, ok := err.(coder); ok {
		return c.ExitCode()
	}
	return -1
}

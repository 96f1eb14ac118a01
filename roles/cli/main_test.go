package cli

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sett/roles/role"
	"sett/runtime/process"
)

// TestMain makes the test binary serve as `sett` in scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sett": sett})
}

// sett is the command line.
func sett() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	e := role.OS(os.Args[1:], role.Build{Version: "v0.0.0-test", Commit: "0123456789ab"})
	err := Run(ctx, e)
	stop()
	if err != nil {
		role.Report(os.Stderr, err)
	}
	os.Exit(int(role.CodeOf(err)))
}

// TestScripts runs each command's success, failures and help.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: setup,
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// setup gives each script directories and an identity of its own, and ends what
// it started.
func setup(env *testscript.Env) error {
	state := filepath.Join(env.WorkDir, ".state")
	env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
	env.Setenv("XDG_STATE_HOME", state)
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		env.Setenv("GIT_"+who+"_NAME", "Test")
		env.Setenv("GIT_"+who+"_EMAIL", "test@example.org")
	}
	env.Defer(func() { endAll(filepath.Join(state, "sett")) })
	return os.Mkdir(filepath.Join(env.WorkDir, ".home"), 0o755)
}

// endAll kills the units of every instance below a state directory, until none
// comes back.
func endAll(root string) {
	dirs, _ := filepath.Glob(filepath.Join(root, "*"))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, dir := range dirs {
		_ = os.WriteFile(filepath.Join(dir, "stopping"), nil, 0o600)
		rt := process.New(process.Options{Dir: dir, Logger: quiet()})
		for range 10 {
			units, _ := rt.List(ctx, nil)
			if len(units) == 0 {
				break
			}
			for _, u := range units {
				_ = rt.Stop(ctx, u.Name, 0)
			}
		}
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

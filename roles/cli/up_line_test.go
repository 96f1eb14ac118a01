package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// TestDownWithOwnRedis: an instance that was brought down is not running, also where the
// blackboard is the user's own and goes on answering: for who reads, writes and waits.
func TestDownWithOwnRedis(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	s.Must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "sett down"}))
	for _, args := range [][]string{
		{"goals"}, {"wait", "@last"}, {"forage", "--goal", "x"}, {"retry", goal}, {"questions", "--wait"}, {"answer", goal, "x"}, {"watch"},
	} {
		s.refuses(role.NotFound, "instance stage is not running", args...)
	}
	s.Must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "sett up"}))
	_, _, err := s.run("goals")
	s.Must(err)
	// All is dead, and nothing is left that would bring it back.
	units := s.staff()
	for _, unit := range []string{"keeper", "orchestrator"} {
		s.Must(units.Stop(t.Context(), unit, 0))
	}
	s.refuses(role.NotFound, "instance stage is not running", "goals")
}

// TestUpLine: what the hint of an instance that does not run says starts that one, with
// its file, its name and its place, from wherever it is typed.
func TestUpLine(t *testing.T) {
	e, dir := workspace(t)
	repo := e.Args[1]
	yml := "agents:\n  two:\n    image: x\n    command: [\"/bin/cat\"]\n"
	for file, text := range map[string]string{"other.yml": "runtime: docker\n" + yml, "third.yml": yml} {
		if err := os.WriteFile(filepath.Join(repo, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := invoke(t.Context(), e, "up"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"other", "third"} {
		if _, err := invoke(t.Context(), e, "-f", name+".yml", "up", "--name", name, "--runtime", "process"); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Dir(dir)
	for _, name := range []string{"clan", "other", "third"} {
		if _, err := invoke(t.Context(), e, "down", "--name", name); err != nil {
			t.Fatal(err)
		}
	}
	outside := e
	outside.Args = nil
	for _, at := range []struct {
		name string
		want string
	}{
		{"clan", "sett -C " + repo + " up"},
		{"other", "sett -C " + repo + " -f " + filepath.Join(repo, "other.yml") + " up --name other --runtime process"},
		{"third", "sett -C " + repo + " -f " + filepath.Join(repo, "third.yml") + " up --name third"},
	} {
		_, err := invoke(t.Context(), outside, "goals", "--name", at.name)
		var failed *role.Error
		if !errors.As(err, &failed) || failed.Code != role.NotFound || failed.Hint != at.want {
			t.Fatalf("%v\n got %q\nwant %q", err, failed.Hint, at.want)
		}
		if _, err := invoke(t.Context(), outside, strings.Fields(failed.Hint)[1:]...); err != nil {
			t.Fatal(err)
		}
		in, err := instance.LoadInstance(filepath.Join(state, at.name))
		if err != nil || !slices.Contains(runningUnits(t, in.Dir), "orchestrator") {
			t.Errorf("%s does not run: %v", at.name, err)
		}
	}
}

// TestDownWithoutLock: a down that cannot write the state directory says that nothing was stopped, and where to look.
func TestDownWithoutLock(t *testing.T) {
	s := newStage(t)
	dir := filepath.Join(s.home, "sett", "stage")
	s.Must(os.Mkdir(filepath.Join(dir, instance.UpLock+".lock"), 0o700)) // root may write everywhere else
	_, _, err := s.run("down")
	if role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "lock instance stage, so nothing was stopped: open lock: ") || !strings.HasPrefix(hint(err), "make "+dir+" writable, ") {
		t.Errorf("%v, hint %s", err, hint(err))
	}
}

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/roles/role"
	"sett/roles/role/words"
)

// boardCommands read what a blackboard holds, as they are typed where there is
// nothing yet, with the list that they then print as empty.
var boardCommands = map[string]string{
	"goals": "goals",
	"hoard": "artefacts",

	"questions": "questions",
}

// TestNothingThere: where there is nothing, programs get an empty list and people a
// word on stderr, unless they want none.
func TestNothingThere(t *testing.T) {
	s := newStage(t)
	for command, list := range boardCommands {
		stdout, stderr, err := s.run(command)
		s.Must(err)
		if stdout != "" || stderr == "" {
			t.Errorf("%s: %q, %q", command, stdout, stderr)
		}
		if stdout, stderr, err = s.run(command, "--quiet"); err != nil || stdout+stderr != "" {
			t.Errorf("%s --quiet: %q, %q, %v", command, stdout, stderr, err)
		}
		stdout, stderr, err = s.run(command, "-o", "json")
		s.Must(err)
		var whole map[string]json.RawMessage
		s.Must(json.Unmarshal([]byte(stdout), &whole))
		if string(whole[list]) != "[]" || stderr != "" {
			t.Errorf("%s -o json: %s, %q", command, stdout, stderr)
		}
		if stdout, stderr, err = s.run(command, "-o", "jsonl"); err != nil || stdout+stderr != "" {
			t.Errorf("%s -o jsonl: %q, %q, %v", command, stdout, stderr, err)
		}
		stdout, _, err = s.run(command, "-o", "yaml")
		s.Must(err)
		has(t, stdout, list+": []\n")
	}
}

// TestExitCodes: what can go wrong for a command that reads has its exit code, and
// leaves nothing on stdout that a program could take for data.
func TestExitCodes(t *testing.T) {
	s := newStage(t)
	s.agree()
	const nobody = "7ZZZZZZZ"
	reading := []string{"goals", "hoard", "show @last", "unearth @last", "watch", "logs", "list"}
	cases := map[string]role.Code{
		"show " + nobody: role.NotFound, "unearth " + nobody: role.NotFound, "hoard --workflow " + nobody: role.NotFound,
		"watch --workflow " + nobody: role.NotFound, "hoard --agent nobody": role.NotFound, "logs nobody": role.NotFound,
		"try nobody --goal x": role.NotFound, "try lint --artefact " + nobody: role.NotFound,
		"hoard --since soon": role.Usage, "watch --since soon": role.Usage, "logs --since soon": role.Usage, "try lint": role.Usage,
		"unearth": role.Usage, "gaols": role.Usage, "goals --color pink": role.Usage, "version -o xml": role.Usage, "try lint --goal x -o xml": role.Usage,
		"try lint --goal x": role.Failed, "forage --wait=30ms x": role.TimedOut,
	}
	for _, command := range reading {
		cases[command+" -o xml"], cases[command+" --nonsense"] = role.Usage, role.Usage
		if command != "list" {
			cases["--name nobody "+command] = role.NotFound
		}
	}
	s.ends("show @last", role.NotFound) // before forage posts a goal
	s.ends("unearth @last", role.NotFound)
	for _, command := range slices.Sorted(maps.Keys(cases)) {
		s.ends(command, cases[command])
	}
	s.Server.Kill()
	var all sync.WaitGroup
	for _, command := range []string{"goals", "hoard", "show @last", "unearth @last", "watch", "watch --exit-when-done", "forage x", "try lint --artefact " + nobody} {
		all.Go(func() { s.ends(command, role.Environment) }) // each tries again for seconds
	}
	all.Wait()
	s.ends("list", role.OK) // it says so in the list
}

// ends checks with which exit code a command ends, and that stdout holds no half of
// anything where it failed.
func (s *stage) ends(command string, want role.Code) {
	s.t.Helper()
	stdout, stderr, err := s.runLong(strings.Fields(command)...)
	if got := role.CodeOf(err); got != want {
		s.t.Errorf("%s ends with %d, want %d: %v", command, got, want, err)
	}
	if forage := strings.HasPrefix(command, "forage --wait"); err != nil && !forage && !strings.HasPrefix(command, "try lint --goal") && stdout != "" {
		s.t.Errorf("%s fails, with stdout %q; stderr %q", command, stdout, stderr)
	}
}

// TestInterrupted: who is stopped before the end says so; what has no end does not
// fail for being ended.
func TestInterrupted(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("never done")
	for command, want := range map[string]role.Code{
		"watch --since all": role.OK, "watch --since all --exit-when-done": role.Interrupted, "watch --since all --workflow " + goal + " --exit-when-done -o json": role.Interrupted,
	} {
		c := s.start(strings.Fields(command)...)
		s.Until("the goal in "+command, func() bool { return strings.Contains(c.out.String(), words.Short(goal)) })
		c.stop()
		if err := c.wait(); role.CodeOf(err) != want {
			t.Errorf("%s, interrupted: %v", command, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, command := range []string{"goals", "hoard", "list", "show @last"} {
		e := s.world(strings.Fields(command)...)
		if err := Run(ctx, e); role.CodeOf(err) != role.Interrupted {
			t.Errorf("%s, interrupted: %v", command, err)
		}
	}
}

// world is what a command runs in whose output nobody looks at.
func (s *stage) world(args ...string) role.Env {
	vars := map[string]string{"XDG_STATE_HOME": s.home, "HOME": s.home}
	return role.Env{
		Args: append([]string{"-C", s.root}, args...), Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
		Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, Environ: func() []string { return nil },
		Now: time.Now, Entropy: entropy{},
	}
}

// TestQuiet: with --quiet there is data and nothing else, and an error is still one.
func TestQuiet(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("do it")
	s.Goal("do that")
	for _, command := range []string{"goals --limit 1", "hoard --limit 1", "unearth @last", "list", "forage x"} {
		stdout, stderr, err := s.run(strings.Fields(command)...)
		s.Must(err)
		if command != "list" && stderr == "" {
			t.Errorf("%s does not talk at all", command)
		}
		if forms := [][]string{{"-q"}, {"--quiet"}}; stdout != "" {
			for _, flag := range forms {
				stdout, stderr, err := s.run(append(flag, strings.Fields(command)...)...)
				if err != nil || stderr != "" || stdout == "" {
					t.Errorf("%s %v: %q, %q, %v", command, flag, stdout, stderr, err)
				}
			}
		}
	}
	_, stderr, err := s.run("-q", "forage", "--wait=50ms", "x")
	if role.CodeOf(err) != role.TimedOut || stderr != "" {
		t.Errorf("forage -q --wait: %v, %q", err, stderr)
	}
	_, _, err = s.run("-q", "show", "7ZZZZZZZ")
	if role.CodeOf(err) != role.NotFound || hint(err) == "" {
		t.Errorf("an error with --quiet: %v", err)
	}
	stdout, _, err := s.run("-q", "show", goal)
	s.Must(err)
	has(t, stdout, "do it")
}

// TestColourFlag: --color decides, over NO_COLOR too.
func TestColourFlag(t *testing.T) {
	s := newStage(t)
	s.Goal("do it")
	for _, c := range []struct {
		args    string
		noColor string
		want    bool
	}{
		{"goals", "", false}, {"goals --color always", "", true}, {"--color=always goals", "1", true}, {"--color never goals", "", false},
		{"--color always goals -o json", "", false}, {"--color always show @last", "", true}, {"--color always logs -f --raw --help", "", false},
	} {
		e := s.world(strings.Fields(c.args)...)
		lookup := e.Lookup
		e.Lookup = func(name string) (string, bool) {
			if name == "NO_COLOR" {
				return c.noColor, c.noColor != ""
			}
			return lookup(name)
		}
		var out bytes.Buffer
		e.Stdout = &out
		s.Must(Run(t.Context(), e))
		if got := strings.Contains(out.String(), "\x1b["); got != c.want || out.Len() == 0 {
			t.Errorf("%s, NO_COLOR %q: colour %v in %q", c.args, c.noColor, got, out.String())
		}
	}
}

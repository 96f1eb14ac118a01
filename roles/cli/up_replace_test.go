package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
)

// otherVersion is what the other binary says of itself.
const otherVersion = testVersion + "-other"

// buildOther builds sett with another version's name.
var buildOther = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "sett-other")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+otherVersion, "-o", path, "sett")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build sett: %w\n%s", err, out)
	}
	return path, nil
})

// TestUpReplacesOtherSett: an up with another sett has that one run everything that is
// sett's, and a question that was asked before is answered after.
func TestUpReplacesOtherSett(t *testing.T) {
	t.Run("process", func(t *testing.T) {
		e, dir := workspace(t)
		replaceSett(t, e, dir, func(other string) role.Env {
			link := filepath.Join(e.Getenv("HOME"), realSett)
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(other, link); err != nil {
				t.Fatal(err)
			}
			return e
		}, "keeper", "blackboard", "orchestrator", "agent-one")
	})
	for kind, replaced := range map[string][]string{"docker": {"orchestrator", "agent-one"}, "embedded": {"blackboard", "orchestrator", "agent-one"}} {
		t.Run(kind, func(t *testing.T) {
			e, _, _, dir := containerWorkspace(t)
			if kind == "embedded" {
				clanWith(t, e.Args[1], "services: {redis: {embedded: true}}\n")
			}
			replaceSett(t, e, dir, func(other string) role.Env {
				now, lookup := e, e.Lookup
				now.Lookup = func(v string) (string, bool) {
					if v == deploy.LinuxBinary {
						return other, true
					}
					return lookup(v)
				}
				return now
			}, replaced...)
		})
	}
}

func replaceSett(t *testing.T, e role.Env, dir string, swap func(other string) role.Env, replaced ...string) {
	t.Helper()
	e.Build.Version = testVersion
	other, err := buildOther()
	if err != nil {
		t.Fatal(err)
	}
	repo := e.Args[1]
	writeAsking(t, repo)
	must := func(args ...string) string {
		t.Helper()
		out, err := invoke(t.Context(), e, args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	must("up")
	if _, err := invoke(t.Context(), e, "forage", "--wait", "--goal", "Paint"); role.CodeOf(err) != role.Waiting {
		t.Fatal(err)
	}
	before := liveUnits(t, e, dir)
	in, err := instance.LoadInstance(dir)
	if err != nil {
		t.Fatal(err)
	}
	e = swap(other)
	e.Build.Version = otherVersion
	if out, _ := invoke(t.Context(), e, "doctor"); !strings.Contains(out, "it was started by sett "+testVersion+" ") {
		t.Errorf("doctor does not say it:\n%s", out)
	}
	if in.Embedded {
		leftBoard(t, e, in)
	}
	if out := must("up"); !strings.Contains(out, "its parts are restarted with this one, sett "+otherVersion) ||
		!strings.Contains(out, "one: as before, is restarted with this sett") || strings.Contains(out, "one: changed") ||
		!strings.Contains(out, "repository: as before, is started anew with this sett") || strings.Contains(out, "repository: changed") ||
		strings.Contains(out, "blackboard: of another version, is replaced") != (in.Embedded) {
		t.Errorf("up does not say it:\n%s", out)
	}
	after := liveUnits(t, e, dir)
	for _, unit := range replaced {
		if before[unit] == "" || after[unit] == "" || before[unit] == after[unit] {
			t.Errorf("%s was not replaced: %q %q", unit, before[unit], after[unit])
		}
	}
	if out, _ := invoke(t.Context(), e, "logs", "keeper"); after["keeper"] != "" && !strings.Contains(out, otherVersion) {
		t.Errorf("no keeper of the other sett:\n%s", out)
	}
	if now, err := instance.LoadInstance(dir); err != nil || now.Control != "" && now.Control == in.Control || !strings.Contains(now.Sett, otherVersion) {
		t.Errorf("%v %+v", err, now)
	}
	if out := must("up"); !strings.Contains(out, "runs already, nothing changed") {
		t.Errorf("a second up:\n%s", out)
	}
	must("answer", question(t, e), "Green.")
	must("wait", "@last", "--timeout", "60s")
	must("down")
}

// writeAsking commits a clan of one agent that asks before it does anything.
func writeAsking(t *testing.T, repo string) {
	t.Helper()
	yml, err := os.ReadFile(filepath.Join(repo, instance.ConfigName))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{instance.ConfigName: strings.Replace(string(yml), "/bin/cat", "./ask.sh", 1), "ask.sh": asks} {
		if err := os.WriteFile(filepath.Join(repo, file), []byte(text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	gitIn(t, repo, "", "add", "-A")
	gitIn(t, repo, "", "commit", "-q", "-m", "first")
}

// leftBoard has the instance say that this sett started it, as after an up that left its blackboard on the one of before.
func leftBoard(t *testing.T, e role.Env, in *instance.Instance) {
	t.Helper()
	was := in.Sett
	for _, sett := range []string{e.Build.Name(), was} {
		in.Sett = sett
		if err := in.Save(); err != nil {
			t.Fatal(err)
		}
		out, _ := invoke(t.Context(), e, "doctor")
		if strings.Contains(strings.Join(strings.Fields(out), " "), "its blackboard runs sett "+testVersion) != (sett != was) {
			t.Errorf("%s: doctor says\n%s", sett, out)
		}
	}
}

// clanWith adds lines to sett.yml.
func clanWith(t *testing.T, repo, lines string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(repo, instance.ConfigName), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(lines)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// question is the one that is open.
func question(t *testing.T, e role.Env) string {
	t.Helper()
	out, err := invoke(t.Context(), e, "questions", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var open struct {
		Questions []struct {
			ID string `json:"id"`
		} `json:"questions"`
	}
	if err := json.Unmarshal([]byte(out), &open); err != nil || len(open.Questions) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	return open.Questions[0].ID
}

// liveUnits are those of the units that run, by name.
func liveUnits(t *testing.T, e role.Env, dir string) map[string]string {
	t.Helper()
	in, err := instance.LoadInstance(dir)
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(t.Context(), e)
	defer a.at.Close()
	place, err := a.at.Place(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	units, err := place.List(t.Context(), runtime.Labels{})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, u := range units {
		if u.Running {
			ids[u.Name] = u.ID
		}
	}
	return ids
}

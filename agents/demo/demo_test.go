package demo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/agents/demo"
	"sett/contract/config"
)

func write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := demo.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The clan is valid, and what its agents run is there and can be run.
func TestClan(t *testing.T) {
	dir := write(t)
	src, err := os.ReadFile(filepath.Join(dir, "sett.yml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("sett.yml", src)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range c.Agents {
		info, err := os.Stat(filepath.Join(dir, a.Command[0]))
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("agent %s: %v, %v", a.Name, info, err)
		}
	}
	if err := demo.Write(dir); err == nil {
		t.Error("writing over what is there worked")
	}
}

// Every script is valid sh, and both goals name programs that the writer knows.
func TestScripts(t *testing.T) {
	dir := write(t)
	var scripts []string
	for _, pattern := range []string{"bin/*", "clan/*.sh", "clan/drafts/*[a-z]", "test/run"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		scripts = append(scripts, found...)
	}
	for _, script := range scripts {
		if strings.HasSuffix(script, ".sed") {
			continue
		}
		if out, err := exec.Command("sh", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	for _, goal := range []string{demo.Goal, demo.Another} {
		program := strings.TrimRight(strings.TrimPrefix(strings.Fields(goal)[1], "bin/"), ",")
		if _, err := os.Stat(filepath.Join(dir, "clan", "drafts", program)); err != nil {
			t.Errorf("goal %q: %v", goal, err)
		}
	}
}

// The tests pass as the repository is. A draft fails one, and its change mends it.
func TestDrafts(t *testing.T) {
	dir := write(t)
	run := func() (string, error) {
		cmd := exec.Command("test/run")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err != nil || !strings.Contains(out, "none topwords") {
		t.Fatalf("%v: %s", err, out)
	}
	for program, fault := range map[string]string{"topwords": "mixed-case", "slugify": "punctuation"} {
		draft := filepath.Join(dir, "clan", "drafts", program)
		text, err := os.ReadFile(draft)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "bin", program)
		if err := os.WriteFile(file, text, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := run(); err == nil || !strings.Contains(out, "FAIL "+program+"/"+fault) || !strings.Contains(out, " 1 failed") {
			t.Errorf("the draft of %s: %v: %s", program, err, out)
		}
		mended, err := exec.Command("sed", "-f", draft+"."+fault+".sed", draft).Output()
		if err == nil {
			err = os.WriteFile(file, mended, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		if out, err := run(); err != nil {
			t.Errorf("mended %s: %v: %s", program, err, out)
		}
	}
}

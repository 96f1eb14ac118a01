package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// toolsClan is the clan of the guide about tools, without the agents whose programs this
// machine lacks.
func toolsClan(t *testing.T) (yaml string, checks []string) {
	t.Helper()
	page, err := os.ReadFile("../../agents/guides/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	agent := regexp.MustCompile(`^  ([a-z]+): \{.*command: \[([a-z]+)`)
	for line := range strings.Lines(block) {
		m := agent.FindStringSubmatch(line)
		if m == nil {
			yaml += line
			continue
		}
		if _, err := exec.LookPath(m[2]); err != nil {
			t.Logf("skipped: %s, since %s is not on this machine", m[1], m[2])
			continue
		}
		if yaml += line; !strings.Contains(line, "adapter:") {
			checks = append(checks, m[1])
		}
	}
	for _, name := range []string{"gofmt", "vet", "tests", "syntax", "spaces"} {
		if !slices.Contains(checks, name) {
			t.Errorf("the guide's %s cannot run here", name)
		}
	}
	return yaml, checks
}

// TestToolsAsTheyAre: each tool of the guide is an agent by its one line. All approve a
// sound commit, and each names the fault that is its own.
func TestToolsAsTheyAre(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	binary, err := buildSett()
	if err != nil {
		t.Fatal(err)
	}
	yaml, checks := toolsClan(t)
	dir, state := t.TempDir(), t.TempDir()
	t.Cleanup(func() { endAll(filepath.Join(state, "sett")) })
	run := func(want int, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
		out, err := cmd.CombinedOutput()
		if got := exitCode(err); got != want {
			t.Fatalf("%s %v ended with %d, want %d:\n%s", name, args, got, want, out)
		}
		return string(out)
	}
	verdicts := func(goal string) map[string]string {
		t.Helper()
		var out struct {
			Artefacts []struct {
				Payload string `json:"payload"`
				Agent   string `json:"produced_by_agent"`
			} `json:"artefacts"`
		}
		text := run(0, binary, "hoard", "--type", "Review", "--workflow", goal, "--limit", "0", "-o", "json")
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		all := map[string]string{}
		for _, a := range out.Artefacts {
			all[a.Agent] = a.Payload
		}
		return all
	}
	for name, text := range map[string]string{
		"sett.yml": yaml + "orchestrator: {max_review_iterations: 1}\n",
		"go.mod":   "module example\n\ngo 1.22\n", "main.go": "package main\n\nfunc main() {}\n",
		"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestMain1(t *testing.T) {}\n",
		"run.sh":       "#!/bin/sh\necho hello\n", "main.tf": "variable \"x\" {\n  type = string\n}\n", "main.py": "print(1)\n",
		"Makefile": "docs:\n\t@date +%s%N > docs.txt\n\t@echo made the docs\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(0, "git", "init", "-q", "-b", "main")
	run(0, "git", "add", "-A")
	run(0, "git", "commit", "-q", "-m", "first")
	run(0, binary, "up", "--yes", "--runtime", "process")
	run(0, binary, "forage", "--wait", "--goal", "Write the docs")
	got := verdicts("@last")
	for _, name := range checks {
		if got[name] != "{}" {
			t.Errorf("%s says %q of a sound commit", name, got[name])
		}
	}
	if result := run(0, binary, "result"); !strings.Contains(result, "[sett-agent: docs] made the docs") || !strings.Contains(result, "docs.txt") {
		t.Errorf("the result:\n%s", result)
	}

	bad := "docs:\n\t@printf 'package main\\n\\nimport \"fmt\"\\nfunc main() { fmt.Printf(\"%%d\\\\n\", \"x\") }\\n' >main.go\n\t@printf 'if then \\n' >run.sh\n" +
		"\t@printf 'import os\\n' >main.py\n\t@printf 'variable \"x\" {\\n type=string\\n}\\n' >main.tf\n" +
		"\t@printf 'package main\\n\\nimport \"testing\"\\n\\nfunc TestIt(t *testing.T) { t.Error(\"no luck\") }\\n' >main_test.go\n"
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	run(0, "git", "commit", "-q", "-a", "-m", "worse")
	run(1, binary, "forage", "--wait", "--goal", "Write worse docs")
	got = verdicts("@last")
	for name, want := range map[string]string{
		"gofmt": "main.go", "vet": "wrong type", "tests": "FAIL", "syntax": "run.sh", "spaces": "trailing whitespace",
		"terraform": "main.tf", "ruff": "F401", "shellcheck": "run.sh",
	} {
		if slices.Contains(checks, name) && !strings.Contains(got[name], want) {
			t.Errorf("%s says %q of a bad commit, want a word of %s", name, got[name], want)
		}
	}
	run(0, binary, "down", "--purge", "--yes")
}

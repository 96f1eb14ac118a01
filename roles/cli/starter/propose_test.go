package starter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/contract/config"
)

// TestPropose: the files in a repository's root decide, and each proposal is a sound line of
// sett.yml.
func TestPropose(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string // name: command, or name? where the program is missing
	}{
		"nothing":          {map[string]string{"README.md": "x"}, ""},
		"go":               {map[string]string{"go.mod": "module x\n\ngo 1.24.1\n"}, "gofmt: gofmt -l .; go-vet: go vet ./...; go-test: go test ./..."},
		"go and make":      {map[string]string{"go.mod": "module x\n", "Makefile": "build:\nlint: x\ntest:\n\t@x\n"}, "gofmt: gofmt -l .; go-vet: go vet ./...; go-test: go test ./...; make-lint: make --silent lint; make-test: make --silent test"},
		"make, no target":  {map[string]string{"Makefile": "test := 1\nlint-all: x\n.PHONY: test\n# test: no\n"}, ""},
		"node":             {map[string]string{"package.json": `{"scripts": {"test": "node t.js", "lint": "x"}}`}, "npm-test: npm test; npm-lint: npm run lint"},
		"node, locked":     {map[string]string{"package.json": `{"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "1"}}`, "package-lock.json": "{}", "eslint.config.js": ""}, "npm-test: sh -c npm ci --silent && npm test; eslint: sh -c npm ci --silent && npx --no-install eslint ."},
		"node, unlocked":   {map[string]string{"package.json": `{"scripts": {"test": "x"}, "dependencies": {"x": "1"}}`}, "npm-test: sh -c npm install --silent --no-package-lock && npm test"},
		"node, no test":    {map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, ""},
		"node, broken":     {map[string]string{"package.json": `{`}, ""},
		"python":           {map[string]string{"pyproject.toml": "[tool.ruff.format]\n", "tests/test_x.py": ""}, "ruff?; ruff-format?; pytest: pytest -q"},
		"python, bare":     {map[string]string{"requirements.txt": "x\n"}, "ruff?"},
		"python, make":     {map[string]string{"setup.py": "", "Makefile": "test:\n"}, "ruff?; make-test: make --silent test"},
		"python, packages": {map[string]string{"requirements.txt": "x\n", "test_x.py": "", "Makefile": "test:\n"}, "ruff?; pytest: pytest -q; make-test: make --silent test"},
		"rust":             {map[string]string{"Cargo.toml": ""}, "cargo-fmt: cargo fmt --check; clippy: cargo clippy --quiet -- -D warnings; cargo-test: cargo test --quiet"},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		checks := Propose(root, func(program string) bool { return program != "ruff" })
		var got []string
		for _, check := range checks {
			if check.Reason != "" {
				got = append(got, check.Name+"?")
				continue
			}
			got = append(got, check.Name+": "+strings.Join(check.Command, " "))
		}
		if said := strings.Join(got, "; "); said != c.want {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
		e, err := Checked(checks)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := e.Files[len(e.Files)-1].Text
		hasImages(t, name, e.Files, checks)
		var warnings []config.Warning
		clan, err := config.Parse("sett.yml", text, config.NoteWarnings(&warnings))
		if err != nil || len(warnings) > 0 || len(clan.Rights(".")) > 0 {
			t.Errorf("%s: %v %v\n%s", name, err, warnings, text)
			continue
		}
		for _, check := range checks {
			a, active := clan.Agent(check.Name)
			if active != (check.Reason == "") || active && strings.Join(a.Command, " ") != strings.Join(check.Command, " ") {
				t.Errorf("%s: %s has %v", name, check.Name, a.Command)
			}
			if !active && !strings.Contains(string(text), "  # "+check.Reason+":\n  # "+check.Name+": {") {
				t.Errorf("%s: the reason is not there:\n%s", name, text)
			}
		}
	}
}

// hasImages holds that the image of each check has its program: python:3 has no pytest, and
// ruff's image has nothing else.
func hasImages(t *testing.T, name string, files []File, checks []Check) {
	t.Helper()
	built := ""
	for _, f := range files {
		if f.Path == checksDockerfile {
			built = string(f.Text)
		}
	}
	clan := string(files[len(files)-1].Text)
	for _, c := range checks {
		switch {
		case c.Needs == "pytest" && (!strings.Contains(built, "FROM python:3\n") || !strings.Contains(built, "pip install --no-cache-dir pytest")):
			t.Errorf("%s: pytest is built by %q", name, built)
		case c.Needs == "pytest" && !strings.Contains(clan, c.Name+": {build: {context: ., dockerfile: "+checksDockerfile+"}, "):
			t.Errorf("%s: pytest has no build:\n%s", name, clan)
		case c.Needs == "make" && c.Image == ruffImage:
			t.Errorf("%s: make in the image of ruff", name)
		}
	}
	listed := strings.Contains(built, "COPY requirements.txt /tmp/\n") && strings.Contains(built, " -r /tmp/requirements.txt\n")
	if strings.Contains(name, "packages") != listed {
		t.Errorf("%s: built by %q", name, built)
	}
}

// A file that leads out of the repository is not read.
func TestProposeFollowsNoLink(t *testing.T) {
	root, outside := t.TempDir(), filepath.Join(t.TempDir(), "package.json")
	if err := os.WriteFile(outside, []byte(`{"scripts": {"test": "secret"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "package.json")); err != nil {
		t.Fatal(err)
	}
	if checks := Propose(root, func(string) bool { return true }); len(checks) > 0 {
		t.Errorf("proposed %+v", checks)
	}
}

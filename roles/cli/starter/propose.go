package starter

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sett/roles/role"
	"sett/runtime/repofile"
)

// Check is an agent that could review each commit of a repository with its own tools.
type Check struct {
	Name    string
	Command []string
	Image   string
	Adds    string // the lines that its Dockerfile has below the image; empty: it has none
	Keys    string // further keys of its line, such as "fail_on: output"
	Found   string // the file that speaks for it
	Needs   string // the program that has to be on this machine
	Reason  string // that it cannot be an agent now; empty: it can
}

// mostProject bounds the files of a project that are read, in bytes.
const mostProject = 1 << 20

// project is a repository's root, as far as it says which tools it uses.
type project struct{ root string }

func (p project) text(name string) string {
	text, err := repofile.Read(p.root, filepath.Join(p.root, name), mostProject)
	if err != nil {
		return ""
	}
	return string(text)
}

// first returns the first of these files that is there.
func (p project) first(names ...string) string {
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(p.root, name)); err == nil && !info.IsDir() {
			return name
		}
	}
	return ""
}

// matches returns the first file of the root that fits a pattern.
func (p project) matches(pattern string) string {
	found, _ := filepath.Glob(filepath.Join(p.root, pattern))
	if len(found) == 0 {
		return ""
	}
	rel, _ := filepath.Rel(p.root, found[0])
	return filepath.ToSlash(rel)
}

// Propose returns the checks that fit the files in a repository's root. It runs nothing. Has
// says whether a program is on this machine.
func Propose(root string, has func(program string) bool) []Check {
	p := project{root}
	all := slices.Concat(p.goChecks(), p.node(), p.python(), p.rust())
	all = append(all, p.makeTargets(withMake(all))...)
	for i, c := range all {
		if !has(c.Needs) {
			all[i].Reason = c.Needs + " is not on this machine"
		}
	}
	return all
}

// Unfit is a note of why none of these checks can be added, though they fit the repository; empty: there are none.
func Unfit(checks []Check) string {
	var reasons, lacking []string
	for _, c := range checks {
		reasons = append(reasons, c.Name+" ("+role.Clean(c.Reason)+")")
		lacking = append(lacking, c.Needs)
	}
	if len(reasons) == 0 {
		return ""
	}
	slices.Sort(lacking)
	return fmt.Sprintf("sett: note: checks fit this repository, but sett init runs each once on this machine and cannot: %s; install %s and type sett init --force --yes to add them\n",
		strings.Join(reasons, ", "), strings.Join(slices.Compact(lacking), ", "))
}

// Images of Python. The second has nothing but ruff.
const (
	pythonImage = "python:3"
	ruffImage   = "ghcr.io/astral-sh/ruff:alpine"
)

// withMake is a check with an image that has make, too.
func withMake(all []Check) Check {
	like := Check{Image: "buildpack-deps:stable"}
	for _, c := range all {
		if c.Image != ruffImage {
			return c
		}
		like.Image = pythonImage
	}
	return like
}

var goVersion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
})

func (p project) goChecks() []Check {
	if p.first("go.mod") == "" {
		return nil
	}
	image := "golang:latest"
	if m := goVersion().FindStringSubmatch(p.text("go.mod")); m != nil {
		image = "golang:" + m[1]
	}
	return []Check{
		{Name: "gofmt", Command: []string{"gofmt", "-l", "."}, Image: image, Keys: "fail_on: output, ", Found: "go.mod", Needs: "gofmt"},
		{Name: "go-vet", Command: []string{"go", "vet", "./..."}, Image: image, Found: "go.mod", Needs: "go"},
		{Name: "go-test", Command: []string{"go", "test", "./..."}, Image: image, Found: "go.mod", Needs: "go"},
	}
}

// noTest is the test that npm init writes.
const noTest = "no test specified"

func (p project) node() (all []Check) {
	if p.first("package.json") == "" {
		return nil
	}
	var about struct {
		Scripts, Dependencies, DevDependencies map[string]string
		EslintConfig                           json.RawMessage
	}
	if json.Unmarshal([]byte(p.text("package.json")), &about) != nil {
		return nil
	}
	install := "" // a tree has committed files alone
	switch {
	case len(about.Dependencies)+len(about.DevDependencies) == 0:
	case p.first("package-lock.json", "npm-shrinkwrap.json") != "":
		install = "npm ci --silent && "
	default:
		install = "npm install --silent --no-package-lock && "
	}
	add := func(name string, run ...string) {
		if install != "" {
			run = []string{"sh", "-c", install + strings.Join(run, " ")}
		}
		all = append(all, Check{Name: name, Command: run, Image: "node:lts", Found: "package.json", Needs: "npm"})
	}
	if test := about.Scripts["test"]; test != "" && !strings.Contains(test, noTest) {
		add("npm-test", "npm", "test")
	}
	eslint := p.matches("eslint.config.*") != "" || p.matches(".eslintrc*") != "" || len(about.EslintConfig) > 0
	switch {
	case about.Scripts["lint"] != "":
		add("npm-lint", "npm", "run", "lint")
	case eslint:
		add("eslint", "npx", "--no-install", "eslint", ".")
	}
	return all
}

func (p project) python() (all []Check) {
	found := p.first("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
	if found == "" {
		return nil
	}
	about := p.text("pyproject.toml")
	all = append(all, Check{Name: "ruff", Command: []string{"ruff", "check", "."}, Image: ruffImage, Found: found, Needs: "ruff"})
	if strings.Contains(about, "[tool.ruff.format]") {
		all = append(all, Check{Name: "ruff-format", Command: []string{"ruff", "format", "--check", "."}, Image: ruffImage, Found: found, Needs: "ruff"})
	}
	tests := p.first("pytest.ini", "conftest.py") != "" || strings.Contains(about, "[tool.pytest") ||
		p.matches("test_*.py") != "" || p.matches("tests/*.py") != "" || p.matches("test/*.py") != ""
	if tests {
		all = append(all, Check{Name: "pytest", Command: []string{"pytest", "-q"}, Image: pythonImage, Adds: p.installs(), Found: found, Needs: "pytest"})
	}
	return all
}

// installs are the lines of a Dockerfile that install pytest, and the packages of the project
// where a file lists them.
func (p project) installs() string {
	if p.first("requirements.txt") == "" {
		return "# Add the packages that the tests need.\nRUN pip install --no-cache-dir pytest\n"
	}
	return "COPY requirements.txt /tmp/\nRUN pip install --no-cache-dir pytest -r /tmp/requirements.txt\n"
}

func (p project) rust() []Check {
	if p.first("Cargo.toml") == "" {
		return nil
	}
	cargo := func(name, needs string, args ...string) Check {
		return Check{Name: name, Command: append([]string{"cargo"}, args...), Image: "rust:1", Found: "Cargo.toml", Needs: needs}
	}
	return []Check{
		cargo("cargo-fmt", "cargo-fmt", "fmt", "--check"),
		cargo("clippy", "cargo-clippy", "clippy", "--quiet", "--", "-D", "warnings"),
		cargo("cargo-test", "cargo", "test", "--quiet"),
	}
}

func (p project) makeTargets(like Check) (all []Check) {
	file := p.first("GNUmakefile", "makefile", "Makefile")
	text := p.text(file)
	if file == "" {
		return nil
	}
	for _, target := range []string{"lint", "test"} {
		if regexp.MustCompile(`(?m)^` + target + `[ \t]*:([^=]|$)`).MatchString(text) {
			all = append(all, Check{Name: "make-" + target, Command: []string{"make", "--silent", target}, Image: like.Image, Adds: like.Adds, Found: file, Needs: "make"})
		}
	}
	return all
}

// line is the check as an agent of sett.yml, on one line.
func (c Check) line() string {
	words := make([]string, len(c.Command))
	for i, w := range c.Command {
		if words[i] = w; !plainWord().MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", "''") + "'"
		}
	}
	image := fmt.Sprintf("image: %q", c.Image)
	if c.Adds != "" {
		image = "build: {context: ., dockerfile: " + checksDockerfile + "}"
	}
	return fmt.Sprintf("%s: {%s, command: [%s], adapter: check, stdin: none, %sbids: {CodeCommit: review}}\n", c.Name, image, strings.Join(words, ", "), c.Keys)
}

// checksDockerfile is that of checks with an image of their own.
const checksDockerfile = "agents/examples/pytest.Dockerfile"

// dockerfile are the files of the build that checks name; none: no check has one.
func dockerfile(checks []Check) []File {
	for _, c := range checks {
		if c.Adds == "" {
			continue
		}
		ignore := "# The build needs nothing else of the repository.\n*\n"
		if strings.HasPrefix(c.Adds, "COPY requirements.txt ") {
			ignore += "!requirements.txt\n"
		}
		text := "# The image of the checks that run pytest.\nFROM " + c.Image + "\n" + c.Adds
		return []File{{checksDockerfile, []byte(text), 0o644}, {checksDockerfile + ".dockerignore", []byte(ignore), 0o644}}
	}
	return nil
}

// plainWord is a word that YAML reads as a text in a list, without quotes.
var plainWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-{0,2}[A-Za-z./][A-Za-z0-9./_-]*$`)
})

// Checked is a new sett.yml with the agent that commits, and with these checks. One with a
// reason is a comment. It has no walls of local mode: compilers and package managers write
// to caches of their own.
func Checked(checks []Check) (*Example, error) {
	e, err := Add(makers[0], "", "", false)
	if err != nil {
		return nil, err
	}
	last := &e.Files[len(e.Files)-1]
	block := "# Each commit is reviewed by the tools of this repository.\n"
	for _, c := range checks {
		if c.Reason != "" {
			block += fmt.Sprintf("# %s:\n# %s", c.Reason, c.line())
			continue
		}
		block += c.line()
		e.Agents = append(e.Agents, c.Name)
	}
	text, err := Extend(string(last.Text), block)
	if err == nil {
		err = fits(string(last.Text), text)
	}
	last.Text = []byte(text)
	e.Files = slices.Insert(e.Files, 0, dockerfile(checks)...)
	return e, err
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// plan is what one run does.
type plan struct {
	fast, race, onlyFuzz bool
	cover, run           string
	fuzz                 time.Duration
	packages             []string // empty: all
	stop                 *stopped
}

// slow are the packages without a test for -fast: they need an engine, a
// redis-server, or the built binary throughout.
var slow = []string{"sett/roles/e2e", "sett/roles/bench", "sett/runtime/docker"}

// first are the packages that take longest. They start first, so that the others run
// beside them.
var first = []string{"sett/roles/e2e", "sett/roles/cli", "sett", "sett/roles/repository", "sett/blackboard/redis", "sett/roles/orchestrator",
	"sett/runtime/docker", "sett/roles/cub", "sett/roles/cub/toolrun", "sett/roles/gateway", "sett/blackboard/embedded"}

// plain are the packages that have the race detector with -race only: their work is
// done by other processes, or by one goroutine.
var plain = []string{"sett", "sett/agents", "sett/contract", "sett/blackboard/redis/redistest", "sett/roles/bench", "sett/roles/cli",
	"sett/roles/cub/assemble", "sett/roles/e2e", "sett/roles/keeper", "sett/roles/orchestrator/arbiter", "sett/roles/orchestrator/trace",
	"sett/roles/role/confine", "sett/roles/role/gateway", "sett/roles/role/git", "sett/roles/role/lfs", "sett/roles/role/otlp",
	"sett/roles/role/persontest", "sett/roles/role/words", "sett/roles/view/diagram", "sett/roles/view/flow", "sett/runtime/repofile"}

// goTest runs tests. Their binaries have no symbols for a debugger: linking sixty of them
// takes minutes, a fifth of it for these. The linter has go vet.
var goTest = []string{"test", "-json", "-vet=off", "-timeout", "60m", "-ldflags=-s -w"}

// race has the race detector in everything but packages that compute much, each call with
// memory of its own: to look at each of their steps takes most of the time. Those that share
// something, through package sync, are not inlined into: in a package without the detector an
// inlined Load or Once is one that the detector does not see, and it then reports maps as shared.
var race = func() []string {
	args := []string{"-race"}
	for _, pkg := range []string{"compress/...", "encoding/base64", "encoding/hex", "hash/...", "strconv", "unicode/...", "github.com/yuin/gopher-lua/..."} {
		args = append(args, "-gcflags="+pkg+"=-race=false")
	}
	for _, pkg := range []string{"encoding/json", "regexp/..."} {
		args = append(args, "-gcflags="+pkg+"=-race=false -l")
	}
	return args
}()

// goCommand is a command of go. The race detector needs cgo, which the Makefile turns off.
func goCommand(raced bool, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	if raced {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	return cmd
}

// within says whether a package is one of the folders or below one; the module
// itself is no folder here.
func within(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return pkg == f || f != "sett" && strings.HasPrefix(pkg, f+"/")
	})
}

// start runs the plan and returns what its commands print.
func (p *plan) start(pkgs []string) io.Reader {
	r, w := io.Pipe()
	out := &lines{w: w}
	go func() {
		err := p.all(out, pkgs)
		if err != nil {
			fmt.Fprintln(os.Stderr, "testrun:", err)
		}
		_ = w.CloseWithError(err)
	}()
	return r
}

// all runs the packages, those with the race detector beside the others, and then
// the fuzz targets.
func (p *plan) all(out *lines, pkgs []string) error {
	var raced, others []string
	for _, pkg := range pkgs {
		if p.raced(pkg) {
			raced = append(raced, pkg)
		} else {
			others = append(others, pkg)
		}
	}
	var profiles []string
	var wg sync.WaitGroup
	for i, group := range [][]string{others, raced} {
		if len(group) == 0 || p.onlyFuzz {
			continue
		}
		args := slices.Clone(goTest)
		if i == 1 {
			args = append(args, race...)
		}
		if p.fast {
			args = append(args, "-short", "-p", "4") // they wait half of the time
		}
		if p.run != "" {
			args = append(args, "-run", p.run)
		}
		if p.cover != "" {
			profile := fmt.Sprintf("%s.%d", p.cover, i)
			profiles = append(profiles, profile)
			args = append(args, "-covermode", "atomic", "-coverpkg", "./...", "-coverprofile", profile)
		}
		wg.Go(func() { out.from(goCommand(i == 1, append(args, group...)...)) })
	}
	wg.Wait()
	if p.fuzz > 0 && !p.fast && p.run == "" && !p.stop.is() {
		p.fuzzAll(out, pkgs)
	}
	return join(p.cover, profiles)
}

// raced says whether a package's tests have the race detector.
func (p *plan) raced(pkg string) bool {
	return !p.fast && (p.race || !within(pkg, plain)) && hasCompiler()
}

// list returns the packages of the plan, the longest first.
func (p *plan) list() ([]string, error) {
	cmd := exec.Command("go", append([]string{"list"}, orAll(p.packages)...)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	rank := func(pkg string) int {
		if i := slices.Index(first, pkg); i >= 0 {
			return i
		}
		return len(first)
	}
	pkgs := slices.DeleteFunc(strings.Fields(string(text)), func(pkg string) bool { return p.fast && within(pkg, slow) })
	slices.SortStableFunc(pkgs, func(a, b string) int { return rank(a) - rank(b) })
	return pkgs, nil
}

func orAll(packages []string) []string {
	if len(packages) == 0 {
		return []string{"./..."}
	}
	return packages
}

// hasCompiler says whether there is a C compiler, which links the race detector.
var hasCompiler = sync.OnceValue(func() bool {
	cc, err := exec.Command("go", "env", "CC").Output()
	if err == nil {
		_, err = exec.LookPath(strings.TrimSpace(string(cc)))
	}
	return err == nil
})

// plainGit takes the person's settings of git away from the tests, as hosttest.PlainGit does: a hook that fails, or
// a signature that nobody can give, is no failure of Sett. Go itself asks git about this
// repository, which may belong to another user: the directories that the person calls safe stay so, in a file of the folder.
func plainGit(folder string) error {
	global := filepath.Join(folder, "gitconfig")
	if err := os.WriteFile(global, nil, 0o600); err != nil {
		return err
	}
	for _, scope := range []string{"--system", "--global"} {
		safe, _ := exec.Command("git", "config", scope, "--get-all", "safe.directory").Output() // none is an error
		for dir := range strings.Lines(string(safe)) {
			if out, err := exec.Command("git", "config", "--file", global, "--add", "safe.directory", strings.TrimSuffix(dir, "\n")).CombinedOutput(); err != nil {
				return fmt.Errorf("write %s: %w: %s", global, err, out)
			}
		}
	}
	return errors.Join(os.Setenv("GIT_CONFIG_GLOBAL", global), os.Setenv("GIT_CONFIG_SYSTEM", os.DevNull), os.Setenv("GIT_CONFIG_NOSYSTEM", "1"))
}

// missing names what the whole run does without on this machine.
func (p *plan) missing() []string {
	if p.fast || hasCompiler() {
		return nil
	}
	return []string{"the race detector: no C compiler on the PATH: .ci/setup installs it"}
}

// lines passes on whole lines of several commands at once.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// from runs a command and passes on its output.
func (l *lines) from(cmd *exec.Cmd) {
	own := &lineWriter{to: l}
	cmd.Stdout, cmd.Stderr = own, own
	err := cmd.Run()
	own.flush()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "testrun:", err)
	}
}

// lineWriter collects a command's output up to whole lines.
type lineWriter struct {
	to   *lines
	part []byte
}

func (o *lineWriter) Write(b []byte) (int, error) {
	o.part = append(o.part, b...)
	end := bytes.LastIndexByte(o.part, '\n') + 1
	if end == 0 {
		return len(b), nil
	}
	o.to.mu.Lock()
	defer o.to.mu.Unlock()
	_, err := o.to.w.Write(o.part[:end])
	o.part = slices.Clone(o.part[end:])
	return len(b), err
}

func (o *lineWriter) flush() {
	if len(o.part) > 0 {
		_, _ = o.Write([]byte("\n"))
	}
}

// join makes one coverage profile of several.
func join(to string, profiles []string) error {
	if to == "" {
		return nil
	}
	var all bytes.Buffer
	for i, name := range profiles {
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read coverage: %w", err)
		}
		if i > 0 {
			_, text, _ = bytes.Cut(text, []byte("\n")) // the mode
		}
		all.Write(text)
		_ = os.Remove(name)
	}
	return os.WriteFile(filepath.Clean(to), all.Bytes(), 0o644)
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// fuzzAll fuzzes every target of the packages for a time each, as many targets side
// by side as the machine has processors, with one worker each. A package's targets
// share one test binary: after the tests an ordinary one, whose inputs are blind
// changes of the seeds; with -only-fuzz one that tells which input reached new code, for
// which everything is compiled anew. Targets are found, not listed, so that
// a new one is not forgotten.
func (p *plan) fuzzAll(out *lines, pkgs []string) {
	bin, err := os.MkdirTemp("", "sett-fuzz-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return
	}
	defer func() { _ = os.RemoveAll(bin) }()
	slots := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for _, pkg := range pkgs {
		if !hasTargets(pkg) || p.stop.is() {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			p.fuzzPackage(out, bin, pkg)
		})
	}
	wg.Wait()
}

// dir returns a package's folder.
func dir(pkg string) string { return "." + strings.TrimPrefix(pkg, "sett") }

// hasTargets says whether a package has a fuzz target.
func hasTargets(pkg string) bool {
	files, _ := filepath.Glob(filepath.Join(dir(pkg), "*_test.go"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(text), "\nfunc Fuzz") {
			return true
		}
	}
	return false
}

// fuzzPackage fuzzes a package's targets one after another.
func (p *plan) fuzzPackage(out *lines, bin, pkg string) {
	test := filepath.Join(bin, strings.ReplaceAll(pkg, "/", "-"))
	build := []string{"test", "-c", "-ldflags=-s -w", "-o", test}
	if p.onlyFuzz {
		build = append(build, "-fuzz", ".")
	}
	if text, err := exec.Command("go", append(build, pkg)...).CombinedOutput(); err != nil {
		out.fail(pkg, fmt.Sprintf("fuzz %s: %v\n%s", pkg, err, text))
		return
	}
	list := exec.Command(test, "-test.list", "^Fuzz")
	list.Dir = dir(pkg)
	targets, err := list.Output()
	if err != nil {
		out.fail(pkg, fmt.Sprintf("list the fuzz targets of %s: %v\n", pkg, err))
		return
	}
	for _, target := range strings.Fields(string(targets)) {
		if p.stop.is() {
			return
		}
		text := fuzzOne(test, bin, pkg, target, p.fuzz)
		for range 4 { // as often as one in five, where the machine is busy
			if ranOut(text) {
				text = fuzzOne(test, bin, pkg, target, p.fuzz)
			}
		}
		out.pass(text)
	}
}

// fuzzOne fuzzes one target and returns the events of it.
func fuzzOne(test, bin, pkg, target string, each time.Duration) []byte {
	cmd := exec.Command("go", "tool", "test2json", "-p", pkg, "-t", test, "-test.v=test2json", "-test.run", "^$", "-test.fuzz", "^"+target+"$",
		"-test.fuzztime", each.String(), "-test.fuzzminimizetime", "5s", "-test.parallel", "1", "-test.fuzzcachedir", cache(bin, pkg))
	cmd.Dir = dir(pkg)
	text, _ := cmd.CombinedOutput() // the events say how it ended
	return text
}

// cache returns the folder where Go itself keeps the inputs that were found.
func cache(bin, pkg string) string {
	text, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return bin
	}
	return filepath.Join(strings.TrimSpace(string(text)), "fuzz", filepath.FromSlash(pkg))
}

// ranOut says whether a target ended only because its time was over, without an
// input to blame: Go before 1.27 does so now and then (go.dev/issue/75804).
func ranOut(text []byte) bool {
	s := string(text)
	return strings.Contains(s, "context deadline exceeded") && !strings.Contains(s, "Failing input") &&
		!strings.Contains(s, "panic:") && !strings.Contains(s, "_test.go:")
}

// fail passes on the failure of a package outside its tests.
func (l *lines) fail(pkg, text string) {
	for _, e := range []event{{Action: "start", Package: pkg}, {Action: "output", Package: pkg, Output: text}, {Action: "fail", Package: pkg}} {
		line, _ := json.Marshal(e)
		l.pass(append(line, '\n'))
	}
}

// pass passes on whole lines.
func (l *lines) pass(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.w.Write(text)
}

// Command testrun runs the repository's tests and says what happened: a line per
// package as it ends, a line a minute with the packages that run, the name of each test that runs for
// five minutes, every failure in full, how many tests of each kind ran, and the tests that did not run with the command
// that lets them run. Its last line is for programs: "N passed, N failed", with
// ", N skipped" when tests were skipped.
//
// A run ends red for a test that failed. Up to a hundred failed tests are repeated alone at
// the end: one that passes then is told apart and counts as passed, but after a panic, a
// data race or a fuzzed input nothing is repeated. A test that this machine could not run ends
// it red only where CI=true. Only tests without subtests are counted, so that a table
// of ten cases counts ten.
//
// A signal ends the run with all that its tests have started (guard.go).
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var p plan
	flag.BoolVar(&p.fast, "fast", false, "run the tests that need nothing but Go")
	flag.BoolVar(&p.race, "race", false, "have the race detector in every package, not only where goroutines share")
	flag.StringVar(&p.cover, "cover", "", "write a coverage profile to this `file`")
	flag.StringVar(&p.run, "run", "", "run the tests that match this `pattern`, and fuzz nothing")
	flag.DurationVar(&p.fuzz, "fuzz", time.Second, "fuzz each target for this `time`; 0: not at all")
	flag.BoolVar(&p.onlyFuzz, "only-fuzz", false, "fuzz, and run nothing else")
	read := flag.Bool("read", false, "run nothing: read the output of go test -json from stdin")
	flag.Parse()
	p.packages = flag.Args()
	if !isInner() && !*read {
		os.Exit(guarded())
	}
	if err := os.Chdir(".."); err != nil && !*read { // go run starts it in .tools
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}

	r := newReport()
	if err := p.judge(r, *read); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
	if !r.write(os.Stdout, p.missing(), os.Getenv("CI") == "true", time.Since(r.began)) {
		os.Exit(1)
	}
}

// judge runs the plan, or reads the output of another run.
func (p *plan) judge(r *report, read bool) error {
	if read {
		return r.read(os.Stdin, os.Stdout)
	}
	p.stop = watchSignals()
	folder, err := os.MkdirTemp("", "sett-testrun-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := plainGit(folder); err != nil {
		return err
	}
	pkgs, err := p.list()
	if err != nil {
		return err
	}
	r.planned = len(pkgs)
	if err := r.read(p.start(pkgs), os.Stdout); err != nil {
		return err
	}
	if !p.onlyFuzz {
		err = p.again(r, os.Stdout)
	}
	if p.stop.is() {
		r.stop()
	}
	return err
}

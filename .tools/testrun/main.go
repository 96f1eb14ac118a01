// Command testrun runs the repository's tests and says what happened: a line per
// package as it ends, the name of each test that runs for five minutes, every failure in
// full, how many tests of each kind ran, and the tests that did not run with the command
// that lets them run. Its last line is for programs: "N passed, N failed", with
// ", N skipped" when tests were skipped.
//
// A run ends red for a test that failed. Up to a hundred failed tests are repeated alone at
// the end: one that passes then is told apart and counts as passed, but after a panic, a
// data race or a fuzzed input nothing is repeated. A test that this machine could not run ends
// it red only where CI=true. Only tests without subtests are counted, so that a table
// of ten cases counts ten.
package main

import (
	"flag"
	"fmt"
	"io"
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
	if err := os.Chdir(".."); err != nil && !*read { // go run starts it in .tools
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}

	start, r := time.Now(), newReport()
	in := io.Reader(os.Stdin)
	if !*read {
		in = p.start()
	}
	if err := r.read(in, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
	if !*read && !p.onlyFuzz {
		if err := p.again(r, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "testrun:", err)
			os.Exit(1)
		}
	}
	if !r.write(os.Stdout, p.missing(), os.Getenv("CI") == "true", time.Since(start)) {
		os.Exit(1)
	}
}

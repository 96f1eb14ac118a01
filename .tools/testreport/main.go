// Command testreport reads the output of `go test -json` on stdin and says what
// happened: a line per package as it ends, every failure in full, how many tests of each
// kind ran, and what did not run and why. Its last line is for programs:
// "N passed, N failed", with ", N skipped" when tests were skipped.
//
// A skipped test fails the run, because a test that never runs proves nothing;
// SETT_ALLOW_SKIP=1 lets it pass, still named. Only tests without subtests are
// counted, so that a table of ten cases counts ten.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var missing []string
	flag.Func("missing", "`what: why` this machine cannot run; may be repeated", func(s string) error {
		missing = append(missing, s)
		return nil
	})
	flag.Parse()

	start := time.Now()
	r := newReport()
	if err := r.read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if !r.write(os.Stdout, missing, os.Getenv("SETT_ALLOW_SKIP") == "1", time.Since(start)) {
		os.Exit(1)
	}
}

// Command coverage reads a coverage profile, prints the share of covered
// statements per package, and fails when one is below its minimum:
//
//	coverage -total 60 -min sett/contract/...=85 -min sett/blackboard=85 cover.out
//
// Blocks that several test binaries report are merged: covered by one is
// covered. A pattern that names no package in the profile fails too.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// minimum is the percentage that packages under a pattern must reach.
type minimum struct {
	pattern string // import path; a trailing /... includes what is below
	percent float64
}

func (m minimum) match(pkg string) bool {
	base, deep := strings.CutSuffix(m.pattern, "/...")
	return pkg == base || deep && strings.HasPrefix(pkg, base+"/")
}

// tally counts statements.
type tally struct{ covered, all int }

func (t tally) percent() float64 { return 100 * float64(t.covered) / float64(max(t.all, 1)) }

func main() {
	var mins []minimum
	flag.Func("min", "`pattern=percent` that packages must reach; may be repeated", func(s string) error {
		pattern, percent, _ := strings.Cut(s, "=")
		f, err := strconv.ParseFloat(percent, 64)
		mins = append(mins, minimum{pattern, f})
		return err
	})
	total := flag.Float64("total", 0, "`percent` that all packages together must reach")
	flag.Parse()

	f, err := os.Open(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
	defer f.Close()
	packages, err := read(f)
	if err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
	if !check(os.Stdout, packages, mins, *total) {
		os.Exit(1)
	}
}

// read tallies a profile by package. Its lines are
// "sett/a/file.go:1.2,3.4 STATEMENTS COUNT" after one line with the mode.
func read(in io.Reader) (map[string]tally, error) {
	type block struct {
		pkg        string
		statements int
		hit        bool
	}
	blocks := map[string]block{}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if n == 1 && len(fields) == 2 {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("read profile: line %d is not a block", n)
		}
		statements, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("read profile: line %d: %w", n, err)
		}
		file, _, _ := strings.Cut(fields[0], ":")
		hit := fields[2] != "0" || blocks[fields[0]].hit
		blocks[fields[0]] = block{path.Dir(file), statements, hit}
	}
	packages := map[string]tally{}
	for _, b := range blocks {
		t := packages[b.pkg]
		t.all += b.statements
		if b.hit {
			t.covered += b.statements
		}
		packages[b.pkg] = t
	}
	return packages, lines.Err()
}

// check prints the table and says whether every minimum is reached.
func check(w io.Writer, packages map[string]tally, mins []minimum, total float64) bool {
	var names []string
	var sum tally
	for name, t := range packages {
		names = append(names, name)
		sum.covered, sum.all = sum.covered+t.covered, sum.all+t.all
	}
	slices.Sort(names)
	ok := true
	row := func(name string, t tally, least float64) {
		verdict := ""
		if t.percent() < least {
			ok, verdict = false, "  TOO LOW"
		}
		need := "-"
		if least > 0 {
			need = strconv.FormatFloat(least, 'f', -1, 64)
		}
		fmt.Fprintf(w, "%-40s %6.1f %% of %5d   minimum %4s%s\n", name, t.percent(), t.all, need, verdict)
	}
	for _, name := range names {
		least := 0.0
		for _, m := range mins {
			if m.match(name) {
				least = max(least, m.percent)
			}
		}
		row(name, packages[name], least)
	}
	row("all", sum, total)
	for _, m := range mins {
		if !slices.ContainsFunc(names, m.match) {
			fmt.Fprintf(w, "%s: no such package in the profile\n", m.pattern)
			ok = false
		}
	}
	return ok
}

package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The kinds of tests, in the order they are reported.
const (
	fast     = "fast"
	redis    = "redis"
	endToEnd = "end to end"
	fuzz     = "fuzz"
)

var kinds = []string{fast, redis, endToEnd, fuzz}

// kind says what a test needs: nothing, a redis-server, or the built binary.
func kind(t *test) string {
	dir := t.pkg + "/"
	switch {
	case t.fuzzed:
		return fuzz
	case strings.Contains(dir, "/roles/e2e/"):
		return endToEnd
	case strings.Contains(dir, "/blackboard/redis/"), strings.Contains(dir, "/roles/bench/"),
		strings.HasPrefix(t.name, "TestRedis"):
		return redis
	}
	return fast
}

// later is the reason of a test that a run leaves out by its plan (-fast), on any
// machine.
const later = "make test runs it"

// count is how tests ended.
type count struct{ pass, fail, skip int }

func (c *count) add(status string) {
	switch status {
	case "pass":
		c.pass++
	case "skip":
		c.skip++
	default: // also a test that never ended: the process died under it
		c.fail++
	}
}

// counted says whether a test stands for itself: one with subtests does so only
// when it failed by its own doing.
func counted(t *test) bool {
	return !t.parent || t.status != "pass" && !t.childFail
}

// write prints the report and says whether all is well.
func (r *report) write(w io.Writer, missing []string, ci bool, took time.Duration) bool {
	var total count
	byKind := map[string]*count{}
	for _, k := range kinds {
		byKind[k] = &count{}
	}
	for _, p := range r.runs {
		c := p.count(byKind)
		total = count{total.pass + c.pass, total.fail + c.fail, total.skip + c.skip}
	}
	r.writeFailures(w)
	for _, line := range r.stray {
		fmt.Fprint(w, line)
	}
	fmt.Fprintln(w)
	for _, k := range kinds {
		c := byKind[k]
		fmt.Fprintf(w, "%-10s %5d ran, %d passed, %d failed, %d skipped\n", k, c.pass+c.fail, c.pass, c.fail, c.skip)
	}
	fmt.Fprintf(w, "took %s\n", took.Round(100*time.Millisecond))
	left := append(slices.Clone(missing), r.skips()...)
	left = slices.DeleteFunc(left, func(s string) bool {
		byPlan := strings.HasSuffix(s, ": "+later)
		if byPlan {
			fmt.Fprintf(w, "left out: %s\n", s)
		}
		return byPlan
	})
	for _, t := range r.recovered() {
		at := ""
		if t.recovered > 1 {
			at = fmt.Sprintf(" at try %d", t.recovered)
		}
		fmt.Fprintf(w, "failed beside others, passed alone%s: %s %s\n", at, t.pkg, t.name)
	}
	for _, s := range left {
		fmt.Fprintf(w, "not run on this machine: %s\n", s)
	}
	ok := total.fail == 0 && (len(left) == 0 || !ci)
	if len(left) > 0 && ci {
		fmt.Fprintln(w, "error: CI=true, and a test did not run")
	}
	if r.stopped {
		fmt.Fprintf(w, "error: a signal ended the run; tests that it ended: %d\n", r.cut)
		ok = false
	}
	if total.pass+total.fail == 0 {
		fmt.Fprintln(w, "error: no test ran")
		ok = false
	}
	fmt.Fprintf(w, "%d passed, %d failed", total.pass, total.fail)
	if total.skip > 0 {
		fmt.Fprintf(w, ", %d skipped", total.skip)
	}
	fmt.Fprintln(w)
	return ok
}

// count counts the run's tests and adds them to their kinds, unless nil. A run
// that failed without a failing test did not build or died outside any test:
// that is one failure.
func (p *run) count(byKind map[string]*count) count {
	var c count
	recovered := false
	for _, t := range p.tests {
		if counted(t) {
			status := t.status
			if t.recovered > 0 {
				status = "pass"
				recovered = true
			}
			c.add(status)
			if byKind != nil {
				byKind[kind(t)].add(status)
			}
		}
	}
	if p.word() == "FAIL" && c.fail == 0 && !recovered {
		c.fail = 1
	}
	return c
}

// writeLine prints the run's line; packages without tests have none. Below it stand the
// names of the tests that failed, while others run; the end says what was wrong.
func (p *run) writeLine(w io.Writer) {
	if c := p.count(nil); c != (count{}) {
		fmt.Fprintf(w, "%-5s %-40s %5d passed %3d failed %8.2fs\n", p.word(), p.pkg, c.pass, c.fail, p.elapsed)
	}
	for _, t := range p.tests {
		if counted(t) && t.status != "pass" && t.status != "skip" {
			fmt.Fprintf(w, "      %s\n", t.name)
		}
	}
}

func (p *run) word() string {
	if p.status == "pass" || p.status == "skip" {
		return "ok"
	}
	return "FAIL"
}

// writeFailures prints what failing packages and tests said, whole.
func (r *report) writeFailures(w io.Writer) {
	for _, p := range r.runs {
		if p.word() == "ok" {
			continue
		}
		fmt.Fprintf(w, "=== FAIL: %s\n", p.pkg)
		fmt.Fprint(w, strings.Join(r.builds[p.build], ""))
		for _, t := range p.tests {
			if t.status != "pass" && t.status != "skip" {
				fmt.Fprint(w, strings.Join(t.output, ""))
			}
		}
		fmt.Fprintln(w, strings.Join(p.output, ""))
	}
}

// recovered returns the tests that failed beside others and passed alone.
func (r *report) recovered() []*test {
	var all []*test
	for _, p := range r.runs {
		for _, t := range p.tests {
			if t.recovered > 0 {
				all = append(all, t)
			}
		}
	}
	return all
}

// skips returns a line for each reason why tests were skipped, with their number and
// the first of them.
func (r *report) skips() []string {
	var reasons []string
	tests := map[string][]string{}
	for _, p := range r.runs {
		for _, t := range p.tests {
			if t.status != "skip" || !counted(t) {
				continue
			}
			why := t.reason()
			if tests[why] == nil {
				reasons = append(reasons, why)
			}
			tests[why] = append(tests[why], strings.TrimPrefix(t.pkg, "sett/")+" "+t.name)
		}
	}
	var all []string
	for _, why := range reasons {
		named := tests[why]
		if n := len(named); n > 1 {
			named = []string{fmt.Sprintf("%d tests, as %s", n, named[0])}
		}
		all = append(all, named[0]+": "+why)
	}
	return all
}

// place is the position with which go test begins what a test says.
var place = regexp.MustCompile(`^\w+\.go:\d+: `)

// reason returns what a skipped test gave as the reason, and on a line of its own the command that would
// let it run.
func (t *test) reason() string {
	var said []string
	hint := ""
	for _, line := range t.output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			line = place.ReplaceAllString(line, "")
			if command, is := strings.CutPrefix(line, "hint: "); is {
				hint = "\n  hint: " + command
				continue
			}
			said = append(said, line)
		}
	}
	return strings.Join(said, " ") + hint
}

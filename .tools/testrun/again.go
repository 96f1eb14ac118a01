package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mostAgain is how many failed tests are repeated at most, each tries times at most, and
// longestAgain how long that may go on: a test whose turn comes later stays failed. More
// is no matter of a busy machine, and whoever waits for the verdict has waited long enough.
// A machine with a quarter of the usual speed had thirty that only time failed.
const (
	mostAgain    = 100
	tries        = 2 // as gotestsum has it
	longestAgain = 25 * time.Minute
)

// again repeats the tests that failed, each by itself, when nothing else runs any
// more. Who waits for containers among a hundred others can run out of time; a test
// that passes alone did so. Both runs are told, and the first one's failure whole.
func (p *plan) again(r *report, w io.Writer) error {
	failed := r.repeatable()
	if n := len(failed); n == 0 || n > mostAgain {
		return nil
	}
	end := time.Now().Add(longestAgain)
	for _, t := range failed {
		for try := 1; try <= tries && t.recovered == 0; try++ {
			if time.Now().After(end) || p.stop.is() {
				return nil
			}
			r, err := p.alone(t, w)
			switch {
			case err != nil:
				return err
			case r.passed(t):
				t.recovered = try
			case len(r.repeatable()) == 0:
				try = tries // a data race, for one
			}
		}
	}
	return nil
}

// alone runs one test by itself.
func (p *plan) alone(t *test, w io.Writer) (*report, error) {
	fmt.Fprintf(w, "again, alone: %s %s\n", t.pkg, t.name)
	args := append(slices.Clone(goTest), "-count=1", "-run", only(t.name))
	if p.raced(t.pkg) {
		args = append(args, race...)
	}
	r := newReport()
	in, out := io.Pipe()
	go func() {
		l := &lines{w: out}
		l.from(goCommand(p.raced(t.pkg), append(args, t.pkg)...))
		_ = out.Close()
	}()
	return r, r.read(in, w)
}

// stop leaves out the tests that a signal ended with the run: they neither passed nor failed.
func (r *report) stop() {
	r.stopped = true
	for _, p := range r.runs {
		n := len(p.tests)
		p.tests = slices.DeleteFunc(p.tests, func(t *test) bool { return t.status == "" })
		r.cut += n - len(p.tests)
		failed := slices.ContainsFunc(p.tests, func(t *test) bool { return t.status == "fail" })
		if !failed && p.build == "" {
			p.status = "skip"
		}
	}
}

// only is the pattern of go test that matches one test or subtest.
func only(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// passed says whether a test was run and all went well.
func (r *report) passed(t *test) bool {
	p := r.current[t.pkg]
	if p == nil || p.word() != "ok" {
		return false
	}
	same := p.byName[t.name]
	return same != nil && same.status == "pass"
}

// hard are the failures that no busy machine explains: another run proves nothing.
var hard = regexp.MustCompile(`(?m)^\s*(panic: |fatal error: |WARNING: DATA RACE|race detected during)|Failing input`)

// repeatable returns the tests that failed and can be judged by another run.
func (r *report) repeatable() []*test {
	var all []*test
	for _, p := range r.runs {
		if p.word() == "ok" {
			continue
		}
		var mine []*test
		said := slices.Clone(p.output)
		for _, t := range p.tests {
			said = append(said, t.output...)
			if t.status == "fail" && counted(t) && !t.fuzzed {
				mine = append(mine, t)
			}
			if t.status == "" { // its process ended before it
				return nil
			}
		}
		if len(mine) == 0 || p.build != "" || hard.MatchString(strings.Join(said, "")) {
			return nil
		}
		all = append(all, mine...)
	}
	return all
}

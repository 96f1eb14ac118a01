package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is one line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Time        time.Time
	Action      string
	Package     string
	ImportPath  string // of build events
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// test is one run of one test or subtest.
type test struct {
	pkg, name string
	status    string // pass, fail, skip; empty while it runs
	output    []string
	parent    bool // it has subtests
	childFail bool // one of them failed, which explains its own failure
	fuzzed    bool // inputs were generated for it, beyond its seeds
	recovered int  // it failed beside other tests, and passed alone at this try; 0: it did not

	running time.Time // since when it runs; zero: it has ended, or waits for its turn
}

// run is one execution of one package's test binary. A package has several when
// the input is several outputs of go test, one after another.
type run struct {
	pkg     string
	status  string
	elapsed float64
	output  []string // what no test claims
	build   string   // import path of what did not compile
	tests   []*test
	byName  map[string]*test
}

// report is everything that was read.
type report struct {
	runs    []*run
	current map[string]*run     // the latest run by package
	builds  map[string][]string // compiler output by import path
	stray   []string            // lines that are not JSON

	began   time.Time
	planned int  // how many packages the whole run has; 0: not known
	stopped bool // a signal ended the run
	cut     int  // how many tests it ended
}

func newReport() *report {
	return &report{current: map[string]*run{}, builds: map[string][]string{}, began: time.Now()}
}

// long is how long a test runs before it is named, and then again after each such time:
// one that hangs is known before the end of the run, which may never come.
const long = 5 * time.Minute

// beat is how often a run says how far it is: compiling takes minutes in which no package ends.
const beat = time.Minute

// read consumes the stream to its end and prints a line for every run that ends, for
// every test that takes long, and for every minute.
func (r *report) read(in io.Reader, w io.Writer) error {
	var mu sync.Mutex // of r and w
	defer every(long, func() {
		mu.Lock()
		defer mu.Unlock()
		r.writeLong(w, time.Now())
	})()
	defer every(beat, func() {
		mu.Lock()
		defer mu.Unlock()
		r.writeProgress(w, time.Now())
	})()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		mu.Lock()
		r.line(line, w)
		mu.Unlock()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read stdin: %w", err)
		}
	}
}

// every calls do at each interval until the returned function is called.
func every(interval time.Duration, do func()) (stop func()) {
	ticker, done := time.NewTicker(interval), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ticker.C:
				do()
			case <-done:
				return
			}
		}
	})
	return func() { ticker.Stop(); close(done); wg.Wait() }
}

// line takes one line of the stream.
func (r *report) line(line string, w io.Writer) {
	if strings.TrimSpace(line) == "" {
		return
	}
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		r.stray = append(r.stray, line)
		return
	}
	r.add(e, w)
}

// writeProgress says how many packages are done, and which are running. The repetition of one test says which it is
// by itself.
func (r *report) writeProgress(w io.Writer, now time.Time) {
	if r.planned == 0 {
		return
	}
	done := map[string]bool{}
	for _, p := range r.runs {
		done[p.pkg] = done[p.pkg] || p.status != ""
	}
	var running []string
	n := 0
	for pkg, ended := range done {
		if ended {
			n++
		}
		if r.current[pkg].status == "" {
			running = append(running, strings.TrimPrefix(pkg, "sett/"))
		}
	}
	slices.Sort(running)
	are := "running: " + strings.Join(running, ", ")
	switch {
	case len(running) > 0:
	case n < r.planned:
		are = "compiling"
	default:
		are = "fuzzing"
	}
	fmt.Fprintf(w, "%s: %d of %d packages done; %s\n", now.Sub(r.began).Round(time.Second), n, r.planned, are)
}

// writeLong names the tests that have run for long. One with subtests waits for them, also for
// those whose turn has not come, so that it is not named before they have ended.
func (r *report) writeLong(w io.Writer, now time.Time) {
	for _, p := range r.runs {
		for _, t := range p.tests {
			below := slices.ContainsFunc(p.tests, func(o *test) bool { return o.status == "" && strings.HasPrefix(o.name, t.name+"/") })
			if d := now.Sub(t.running); !t.running.IsZero() && d >= long && !below {
				fmt.Fprintf(w, "runs for %s: %s %s\n", d.Round(time.Minute), p.pkg, t.name)
			}
		}
	}
}

// add takes one event.
func (r *report) add(e event, w io.Writer) {
	switch e.Action {
	case "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
		return
	case "build-fail":
		return
	}
	p := r.current[e.Package]
	if p == nil || e.Action == "start" {
		p = &run{pkg: e.Package, byName: map[string]*test{}}
		r.current[e.Package] = p
		r.runs = append(r.runs, p)
	}
	if e.Test == "" {
		if p.add(e); p.status != "" {
			p.writeLine(w)
		}
		return
	}
	p.test(e.Test).add(p, e)
}

// add takes an event of the package itself.
func (p *run) add(e event) {
	switch e.Action {
	case "output":
		p.output = append(p.output, e.Output)
	case "pass", "fail", "skip":
		p.status, p.elapsed, p.build = e.Action, e.Elapsed, e.FailedBuild
	}
}

// test returns the named test, which it creates at first sight.
func (p *run) test(name string) *test {
	t := p.byName[name]
	if t == nil {
		t = &test{pkg: p.pkg, name: name}
		p.byName[name] = t
		p.tests = append(p.tests, t)
		if up := p.up(t); up != nil {
			up.parent = true
		}
	}
	return t
}

// up returns the test that t is a subtest of, nil for none. A name of its own may have
// slashes in it: what is before one is a test only if it has run.
func (p *run) up(t *test) *test {
	name := t.name
	for {
		i := strings.LastIndexByte(name, '/')
		if i <= 0 {
			return nil
		}
		name = name[:i]
		if known := p.byName[name]; known != nil || !strings.Contains(name, "/") {
			return p.test(name)
		}
	}
}

func (t *test) add(p *run, e event) {
	switch e.Action {
	case "run", "cont":
		t.running = e.Time
	case "pause", "pass", "skip", "fail":
		t.running = time.Time{}
	}
	switch e.Action {
	case "output":
		t.output = append(t.output, e.Output)
		t.fuzzed = t.fuzzed || strings.HasPrefix(e.Output, "fuzz: elapsed")
	case "pass", "skip", "fail":
		t.status = e.Action
	}
	if t.status == "fail" {
		for up := p.up(t); up != nil; up = p.up(up) {
			up.childFail = true
		}
	}
}

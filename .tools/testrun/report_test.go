package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// stream joins events into a stream.
func stream(events ...string) string { return strings.Join(events, "\n") + "\n" }

// What every test of the report is made of.
const (
	start  = `{"Action":"start","Package":"sett/a"}`
	passed = `{"Action":"pass","Package":"sett/a","Elapsed":1}`
	failed = `{"Action":"fail","Package":"sett/a","Elapsed":1}`
)

func TestReport(t *testing.T) {
	skip := stream(start,
		`{"Action":"output","Package":"sett/a","Test":"TestX","Output":"    x_test.go:1: no wings\n"}`,
		`{"Action":"skip","Package":"sett/a","Test":"TestX"}`, passed)
	for _, c := range []struct {
		name, in string
		ci       bool
		ok       bool
		last     string
		want     []string
	}{
		{"nothing", "", false, false, "0 passed, 0 failed", []string{"no test ran"}},
		{"pass", stream(start, `{"Action":"pass","Package":"sett/a","Test":"TestX"}`, passed), false, true,
			"1 passed, 0 failed", []string{"fast           1 ran"}},
		{"subtests", stream(start,
			`{"Action":"run","Package":"sett/a","Test":"TestX"}`,
			`{"Action":"pass","Package":"sett/a","Test":"TestX/one"}`,
			`{"Action":"output","Package":"sett/a","Test":"TestX/two","Output":"it broke\n"}`,
			`{"Action":"fail","Package":"sett/a","Test":"TestX/two"}`,
			`{"Action":"fail","Package":"sett/a","Test":"TestX"}`, failed), false, false,
			"1 passed, 1 failed", []string{"it broke", "FAIL  sett/a", "\n      TestX/two\n"}},
		{"parent fails by itself", stream(start,
			`{"Action":"pass","Package":"sett/a","Test":"TestX/one"}`,
			`{"Action":"fail","Package":"sett/a","Test":"TestX"}`, failed), false, false,
			"1 passed, 1 failed", nil},
		{"a slash in a name", stream(start,
			`{"Action":"run","Package":"sett/a","Test":"TestX"}`,
			`{"Action":"run","Package":"sett/a","Test":"TestX//healthz"}`,
			`{"Action":"run","Package":"sett/a","Test":"TestX/of_a/b"}`,
			`{"Action":"pass","Package":"sett/a","Test":"TestX/of_a/b"}`,
			`{"Action":"pass","Package":"sett/a","Test":"TestX//healthz"}`,
			`{"Action":"pass","Package":"sett/a","Test":"TestX"}`, passed), false, true,
			"2 passed, 0 failed", nil},
		{"never ended", stream(start, `{"Action":"run","Package":"sett/a","Test":"TestX"}`, failed), false, false,
			"0 passed, 1 failed", nil},
		{"does not build", stream(`{"ImportPath":"sett/a","Action":"build-output","Output":"a.go:1: nonsense\n"}`, start,
			`{"Action":"fail","Package":"sett/a","FailedBuild":"sett/a"}`), false, false,
			"0 passed, 1 failed", []string{"a.go:1: nonsense"}},
		{"skip", stream(skip, start, `{"Action":"pass","Package":"sett/a","Test":"TestY"}`, passed), false, true,
			"1 passed, 0 failed, 1 skipped", []string{"not run on this machine: a TestX: no wings"}},
		{"skips for one reason", stream(skip, strings.ReplaceAll(skip, "TestX", "TestZ"), start, `{"Action":"pass","Package":"sett/a","Test":"TestY"}`, passed),
			false, true, "1 passed, 0 failed, 2 skipped", []string{"not run on this machine: 2 tests, as a TestX: no wings"}},
		{"skip with a command", strings.ReplaceAll(skip, `no wings\n"}`, `no wings\n"}`+"\n"+`{"Action":"output","Package":"sett/a","Test":"TestX","Output":"        hint: sudo grow wings\n"}`), false, false,
			"0 passed, 0 failed, 1 skipped", []string{"not run on this machine: a TestX: no wings\n  hint: sudo grow wings\n"}},
		{"skip where CI=true", stream(skip, start, `{"Action":"pass","Package":"sett/a","Test":"TestY"}`, passed), true, false,
			"1 passed, 0 failed, 1 skipped", []string{"error: CI=true"}},
		{"left out where CI=true", strings.ReplaceAll(stream(skip, start, `{"Action":"pass","Package":"sett/a","Test":"TestY"}`, passed), "no wings", later),
			true, false, "1 passed, 0 failed, 1 skipped", []string{"left out: a TestX: make test runs it"}},
		{"skip, nothing else", skip, false, false, "0 passed, 0 failed, 1 skipped", nil},
		{"fuzzed again", stream(start, `{"Action":"pass","Package":"sett/a","Test":"FuzzX"}`, passed, start,
			`{"Action":"output","Package":"sett/a","Test":"FuzzX","Output":"fuzz: elapsed: 1s\n"}`,
			`{"Action":"pass","Package":"sett/a","Test":"FuzzX"}`, passed), false, true,
			"2 passed, 0 failed", []string{"fuzz           1 ran", "fast           1 ran"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReport()
			var out strings.Builder
			if err := r.read(strings.NewReader(c.in), &out); err != nil {
				t.Fatal(err)
			}
			if ok := r.write(&out, []string{"wings: no feathers"}, c.ci, 0); ok != c.ok {
				t.Errorf("ok is %v", ok)
			}
			if !strings.HasSuffix(out.String(), "\n"+c.last+"\n") {
				t.Errorf("last line is not %q", c.last)
			}
			for _, want := range append(c.want, "not run on this machine: wings: no feathers") {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing", want)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// TestRepeatable names what another run may judge, and counts it as that run did.
func TestRepeatable(t *testing.T) {
	said := func(text string) string {
		return stream(start, `{"Action":"pass","Package":"sett/a","Test":"TestX/one"}`,
			`{"Action":"output","Package":"sett/a","Test":"TestX/two","Output":"`+text+`"}`,
			`{"Action":"fail","Package":"sett/a","Test":"TestX/two"}`,
			`{"Action":"fail","Package":"sett/a","Test":"TestX"}`, failed)
	}
	for _, c := range []struct{ name, in, want string }{
		{"too late", said("    x_test.go:1: too late\\n"), "TestX/two"},
		{"race", said("WARNING: DATA RACE\\n"), ""},
		{"panic", said("panic: nil\\n"), ""},
		{"says that another panicked", said("    x_test.go:1: no panic: 3\\n"), "TestX/two"},
		{"never ended", stream(start, `{"Action":"run","Package":"sett/a","Test":"TestX"}`, failed), ""},
		{"does not build", stream(start, `{"Action":"fail","Package":"sett/a","FailedBuild":"sett/a"}`), ""},
		{"passed", stream(start, `{"Action":"pass","Package":"sett/a","Test":"TestX"}`, passed), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReport()
			var out strings.Builder
			if err := r.read(strings.NewReader(c.in), &out); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, x := range r.repeatable() {
				names = append(names, x.name)
				x.recovered = tries
			}
			if s := strings.Join(names, " "); s != c.want {
				t.Fatalf("to be repeated: %q", s)
			}
			ok := r.write(&out, nil, true, 0)
			if ok != (c.want != "" || c.name == "passed") {
				t.Errorf("ok is %v\n%s", ok, out.String())
			}
			if c.want != "" && !strings.HasSuffix(out.String(), "failed beside others, passed alone at try 2: sett/a TestX/two\n2 passed, 0 failed\n") {
				t.Error(out.String())
			}
		})
	}
}

// TestOnly holds the pattern that repeats one test.
func TestOnly(t *testing.T) {
	if s := only("TestX/a+b/c"); s != `^TestX$/^a\+b$/^c$` {
		t.Error(s)
	}
}

// TestLong: a test that runs for long is named, and none that has ended or waits for its turn.
func TestLong(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var in strings.Builder
	for _, e := range []string{"run TestShort", "pass TestShort", "run TestTurn", "pause TestTurn", "run TestTurns", "run TestTurns/one", "pause TestTurns/one", "run TestHangs", "run TestHangs/one",
		"pass TestHangs/one", "run TestHangs/two", "pause TestHangs/two", "cont TestHangs/two"} {
		action, name, _ := strings.Cut(e, " ")
		fmt.Fprintf(&in, `{"Time":%q,"Action":%q,"Package":"sett/a","Test":%q}`+"\n", began.Format(time.RFC3339Nano), action, name)
	}
	r := newReport()
	var out strings.Builder
	if err := r.read(strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	if r.writeLong(&out, began.Add(long-time.Second)); out.String() != "" {
		t.Errorf("named too early: %s", out.String())
	}
	if r.writeLong(&out, began.Add(long)); out.String() != "runs for 5m0s: sett/a TestHangs/two\n" {
		t.Errorf("named: %q", out.String())
	}
}

// TestProgress: a run says how far it is, also while no package ends.
func TestProgress(t *testing.T) {
	r := newReport()
	r.planned = 3
	for _, c := range []struct{ events, want string }{
		{"", "1m0s: 0 of 3 packages done; compiling\n"},
		{`{"Action":"start","Package":"sett/roles/cli"}` + "\n" + `{"Action":"start","Package":"sett/a"}`, "1m0s: 0 of 3 packages done; running: a, roles/cli\n"},
		{passed, "1m0s: 1 of 3 packages done; running: roles/cli\n"},
		{`{"Action":"fail","Package":"sett/roles/cli"}`, "1m0s: 2 of 3 packages done; compiling\n"},
		{`{"Action":"skip","Package":"sett"}`, "1m0s: 3 of 3 packages done; fuzzing\n"},
		{start, "1m0s: 3 of 3 packages done; running: a\n"}, // a target of it
	} {
		var out strings.Builder
		if err := r.read(strings.NewReader(c.events), &out); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		if r.writeProgress(&out, r.began.Add(time.Minute)); out.String() != c.want {
			t.Errorf("after %s: %q, want %q", c.events, out.String(), c.want)
		}
	}
}

// TestEndedBySignal: a report that is not whole says so, is red, and tells no test as failed that the signal ended.
func TestEndedBySignal(t *testing.T) {
	r := newReport()
	var out strings.Builder
	if err := r.read(strings.NewReader(stream(start, `{"Action":"run","Package":"sett/a","Test":"TestX"}`, `{"Action":"pass","Package":"sett/a","Test":"TestX"}`,
		`{"Action":"run","Package":"sett/a","Test":"TestY"}`, `{"Action":"output","Package":"sett/a","Test":"TestY","Output":"half of it\n"}`, failed)), &out); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	r.stop()
	ok := r.write(&out, nil, false, 0)
	if ok || !strings.HasSuffix(out.String(), "error: a signal ended the run; tests that it ended: 1\n1 passed, 0 failed\n") || strings.Contains(out.String(), "half of it") {
		t.Errorf("%v\n%s", ok, out.String())
	}
}

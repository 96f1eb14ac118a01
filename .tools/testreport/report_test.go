package main

import (
	"strings"
	"testing"
)

// lines joins events into a stream.
func lines(events ...string) string { return strings.Join(events, "\n") + "\n" }

// What every test of the report is made of.
const (
	start  = `{"Action":"start","Package":"sett/a"}`
	passed = `{"Action":"pass","Package":"sett/a","Elapsed":1}`
	failed = `{"Action":"fail","Package":"sett/a","Elapsed":1}`
)

func TestReport(t *testing.T) {
	skip := lines(start,
		`{"Action":"output","Package":"sett/a","Test":"TestX","Output":"    x_test.go:1: no wings\n"}`,
		`{"Action":"skip","Package":"sett/a","Test":"TestX"}`, passed)
	for _, c := range []struct {
		name, in  string
		allowSkip bool
		ok        bool
		last      string
		want      []string
	}{
		{"nothing", "", false, false, "0 passed, 0 failed", []string{"no test ran"}},
		{"pass", lines(start, `{"Action":"pass","Package":"sett/a","Test":"TestX"}`, passed), false, true,
			"1 passed, 0 failed", []string{"fast           1 ran"}},
		{"subtests", lines(start,
			`{"Action":"run","Package":"sett/a","Test":"TestX"}`,
			`{"Action":"pass","Package":"sett/a","Test":"TestX/one"}`,
			`{"Action":"output","Package":"sett/a","Test":"TestX/two","Output":"it broke\n"}`,
			`{"Action":"fail","Package":"sett/a","Test":"TestX/two"}`,
			`{"Action":"fail","Package":"sett/a","Test":"TestX"}`, failed), false, false,
			"1 passed, 1 failed", []string{"it broke", "FAIL  sett/a"}},
		{"parent fails by itself", lines(start,
			`{"Action":"pass","Package":"sett/a","Test":"TestX/one"}`,
			`{"Action":"fail","Package":"sett/a","Test":"TestX"}`, failed), false, false,
			"1 passed, 1 failed", nil},
		{"a slash in a name", lines(start,
			`{"Action":"run","Package":"sett/a","Test":"TestX"}`,
			`{"Action":"run","Package":"sett/a","Test":"TestX//healthz"}`,
			`{"Action":"run","Package":"sett/a","Test":"TestX/of_a/b"}`,
			`{"Action":"pass","Package":"sett/a","Test":"TestX/of_a/b"}`,
			`{"Action":"pass","Package":"sett/a","Test":"TestX//healthz"}`,
			`{"Action":"pass","Package":"sett/a","Test":"TestX"}`, passed), false, true,
			"2 passed, 0 failed", nil},
		{"never ended", lines(start, `{"Action":"run","Package":"sett/a","Test":"TestX"}`, failed), false, false,
			"0 passed, 1 failed", nil},
		{"does not build", lines(`{"ImportPath":"sett/a","Action":"build-output","Output":"a.go:1: nonsense\n"}`, start,
			`{"Action":"fail","Package":"sett/a","FailedBuild":"sett/a"}`), false, false,
			"0 passed, 1 failed", []string{"a.go:1: nonsense"}},
		{"skip", skip, false, false, "0 passed, 0 failed, 1 skipped", []string{"sett/a TestX: x_test.go:1: no wings"}},
		{"skip allowed, nothing else", skip, true, false, "0 passed, 0 failed, 1 skipped", nil},
		{"fuzzed again", lines(start, `{"Action":"pass","Package":"sett/a","Test":"FuzzX"}`, passed, start,
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
			if ok := r.write(&out, []string{"wings: no feathers"}, c.allowSkip, 0); ok != c.ok {
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

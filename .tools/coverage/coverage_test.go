package main

import (
	"strings"
	"testing"
)

const profile = `mode: atomic
sett/a/x.go:1.1,2.2 3 0
sett/a/x.go:3.1,4.2 1 7
sett/a/x.go:1.1,2.2 3 1
sett/a/b/y.go:1.1,2.2 4 0
`

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		mins  []minimum
		total float64
		ok    bool
		want  string
	}{
		{"no minimum", nil, 0, true, "sett/a                                    100.0 % of     4"},
		{"exact", []minimum{{"sett/a", 100}}, 50, true, "minimum  100"},
		{"below", []minimum{{"sett/a/...", 85}}, 0, false, "TOO LOW"},
		{"total", nil, 51, false, "TOO LOW"},
		{"unknown", []minimum{{"sett/c", 1}}, 0, false, "sett/c: no such package"},
	} {
		t.Run(c.name, func(t *testing.T) {
			packages, err := read(strings.NewReader(profile))
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if ok := check(&out, packages, c.mins, c.total); ok != c.ok || !strings.Contains(out.String(), c.want) {
				t.Errorf("ok is %v, want %v and %q in\n%s", ok, c.ok, c.want, out.String())
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for _, in := range []string{"mode: set\nnonsense\n", "mode: set\na.go:1.1,2.2 x 0\n"} {
		if _, err := read(strings.NewReader(in)); err == nil {
			t.Errorf("%q was accepted", in)
		}
	}
}

package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

// tree has one package with the words in comments, strings and names.
var tree = fstest.MapFS{
	"a/a.go": {Data: []byte(`// Package a says what it is, and whose.
package a

//go:generate who
//nolint:who // reason

/* Who
   else, who's there, whoever. */
var what = "what" // whom

// Plain words: somewhat, whole, ` + "`what`" + `.
`)},
	"a/a_test.go":     {Data: []byte("// what\npackage a\n")},
	"a/testdata/b.go": {Data: []byte("// what\npackage b\n")},
	".tools/b.go":     {Data: []byte("// what\npackage b\n")},
	"a/lua/m.lua":     {Data: []byte("-- what this is\nlocal s = '-- what' -- who\n--[[ who\nwho ]]\nlocal who = 1\n")},
	"b/b.go":          {Data: []byte("// Package b is plain.\npackage b\n")},
}

func TestCount(t *testing.T) {
	files, err := read(tree)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]tally{"a/a.go": {7, 19}, "a/lua/m.lua": {4, 6}, "b/b.go": {0, 4}}
	for _, f := range files {
		if f.tally != want[f.name] {
			t.Errorf("%s: got %v, want %v: %v", f.name, f.tally, want[f.name], f.lines)
		}
		delete(want, f.name)
	}
	if len(want) > 0 {
		t.Errorf("not counted: %v", want)
	}
}

func TestCheck(t *testing.T) {
	files, err := read(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, exceptions, want string }{
		{"none", "", "a/lua                                666.7 per 1,000 (  4 of     6), at most 3  TOO MANY"},
		{"in order", "a 700 # both", ""},
		{"too small", "a 700\na/lua 600", "at most 600  TOO MANY"},
		{"stale", "a 700\nb 5", "b: its exception is stale: remove it"},
		{"gone", "a 700\ngone 5", "gone: its exception is stale: remove it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exceptions, err := parseExceptions(c.exceptions)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if ok := check(&out, files, 3, exceptions); ok != (c.want == "") || !strings.Contains(out.String(), c.want) {
				t.Errorf("ok %v, output:\n%s", ok, out.String())
			}
		})
	}
	if _, err := parseExceptions("folder"); err == nil {
		t.Error("an exception without a number was read")
	}
}

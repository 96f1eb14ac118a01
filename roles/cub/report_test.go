package cub

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"sett/blackboard"
)

// What is read of a report is what json.Marshal would have written.
func TestEncodeReport(t *testing.T) {
	for name, out := range map[string]string{
		"nothing": "", "text": "one\ntwo\r\n\t\"three\" \\ <b>&amp;</b> ä € 😀 \u2028 \ufffd", "frame": `"stdout":"","stderr":""`,
		"control": "\x00\x01\x1f\x7f\b\f", "not UTF-8": "a\xff\xc3(\xe2\x82 \xed\xa0\x80 \xf0\x9f", "one byte": "\xff",
	} {
		want := blackboard.FailureReport{Reason: `it said "stdout":"","stderr":"" ` + name, ExitCode: 3, TimedOut: true,
			Stdout: out, Stderr: "err: " + out, StdoutSize: 1, StderrSize: 2, Agent: "a", Attempt: 4}
		b, err := json.Marshal(want)
		must(t, err)
		want.Stdout, want.Stderr = "", ""
		got, err := encodeReport(want, []byte(out), []byte("err: "+out))
		must(t, err)
		var a, c blackboard.FailureReport
		must(t, json.Unmarshal([]byte(got), &a))
		must(t, json.Unmarshal(b, &c))
		if !reflect.DeepEqual(a, c) {
			t.Errorf("%s: got %+v, want %+v", name, a, c)
		}
	}
}

// However bad the output is, the report stays within its bounds, and holds of text
// all that is kept.
func TestReportIsBounded(t *testing.T) {
	t.Cleanup(runtime.GC) // others measure the heap
	random := make([]byte, blackboard.MaxCapture)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(random)
	for name, c := range map[string]struct {
		out   []byte
		least int // bytes that are read of it
	}{
		"text":    {bytes.Repeat([]byte("0123456\t\"\n"), blackboard.MaxCapture/10), blackboard.MaxCapture / 10 * 10},
		"lines":   {bytes.Repeat([]byte{'\n'}, blackboard.MaxCapture), blackboard.MaxCapture},
		"zeroes":  {make([]byte, blackboard.MaxCapture), mostEscaped / 6},
		"no text": {bytes.Repeat([]byte{0xff}, blackboard.MaxCapture), blackboard.MaxCapture - 2},
		"random":  {random, blackboard.MaxCapture / 2},
		"cut":     {[]byte(strings.Repeat("x", blackboard.MaxCapture-1) + "€"), blackboard.MaxCapture - 1},
	} {
		got, err := encodeReport(blackboard.FailureReport{}, c.out, c.out)
		must(t, err)
		var r blackboard.FailureReport
		must(t, json.Unmarshal([]byte(got), &r))
		if len(got) > 2*mostEscaped+1000 || len(r.Stdout) > blackboard.MaxCapture || len(r.Stdout) < c.least || r.Stderr != r.Stdout || !utf8.ValidString(r.Stdout) {
			t.Errorf("%s: %d bytes, of which %d and %d are read", name, len(got), len(r.Stdout), len(r.Stderr))
		}
	}
}

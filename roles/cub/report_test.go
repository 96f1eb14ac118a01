package cub

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		"zeroes":  {make([]byte, blackboard.MaxCapture), (mostEscaped - roomEscaped) / 6},
		"no text": {bytes.Repeat([]byte{0xff}, blackboard.MaxCapture), blackboard.MaxCapture - roomDecoded - 2},
		"random":  {random, blackboard.MaxCapture / 2},
		"cut":     {[]byte(strings.Repeat("x", blackboard.MaxCapture-1) + "€"), blackboard.MaxCapture - roomDecoded},
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

// A report that has no room for an output keeps its end, too, and counts what it leaves out in all.
func TestReportKeepsTheEnd(t *testing.T) {
	t.Cleanup(runtime.GC)
	zeroes := string(make([]byte, blackboard.MaxCapture-70<<10))
	for name, c := range map[string]struct {
		begin, end string
		size       int64
	}{
		"zeroes":          {"first" + zeroes, "the last wörd\n", 0},
		"already cut":     {zeroes + "[1 bytes left out here: x]\n", strings.Repeat("€", 20<<10) + "the last wörd\n", 12 << 20},
		"broken, and cut": {strings.Repeat("x", blackboard.MaxCapture-70<<10) + "[1 bytes left out here: x]\n", strings.Repeat("\xff", 60<<10) + "the last word\n", 12 << 20},
	} {
		out := c.begin + c.end
		c.size = max(c.size, int64(len(out)))
		got, err := encodeReport(blackboard.FailureReport{StderrSize: c.size}, nil, []byte(out))
		must(t, err)
		var r blackboard.FailureReport
		must(t, json.Unmarshal([]byte(got), &r))
		begin, end, found := strings.Cut(r.Stderr, "\n[")
		var left int64
		_, err = fmt.Sscanf(end, "%d bytes left out here: the report would be too long]\n", &left)
		_, end, _ = strings.Cut(end, "\n")
		if kept := len(strings.ReplaceAll(begin+end, "\ufffd", "x")); !found || err != nil || left+int64(kept) != c.size {
			t.Errorf("%s: %d bytes are kept, %d left out of %d: %v", name, kept, left, c.size, err)
		}
		if !strings.HasPrefix(out, begin[:5]) || !strings.HasSuffix(end, out[len(out)-14:]) || strings.Contains(begin+end, "left out") || len(r.Stderr) > blackboard.MaxCapture || len(got) > mostEscaped+1000 {
			t.Errorf("%s: %d bytes from %q to %q", name, len(r.Stderr), begin[:5], end[max(0, len(end)-20):])
		}
	}
}

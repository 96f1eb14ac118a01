package logfile

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"sett/runtime"
)

func TestSieve(t *testing.T) {
	timed := "plain\n" + jsonLine(1) + "of 1\n" + jsonLine(2) + "of 2\n{broken\n" + jsonLine(3)
	for name, c := range map[string]struct {
		log   string
		lines int
		since time.Time
		want  string
	}{
		"all":              {"a\nb\n", -1, time.Time{}, "a\nb\n"},
		"last":             {"a\nb\nc\nd\ne\n", 2, time.Time{}, "d\ne\n"},
		"none":             {"a\nb\n", 0, time.Time{}, ""},
		"unfinished":       {"a\nb", 1, time.Time{}, "b\n"},
		"since":            {timed, -1, at(2), "plain\n" + jsonLine(2) + "of 2\n{broken\n" + jsonLine(3)},
		"since, last":      {timed, 2, at(2), "{broken\n" + jsonLine(3)},
		"since the future": {jsonLine(1) + "of 1\n", -1, at(9), ""},
	} {
		var out strings.Builder
		s := NewSieve(&out, runtime.LogOptions{Lines: c.lines, Since: c.since})
		_, err := io.WriteString(s, c.log)
		if err := errors.Join(err, s.BreakLine(), s.Release(false)); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, want %q, %v", name, out.String(), c.want, err)
		}
	}
}

// TestSieveOfTwoLogs has another judge of times after the first log, and shows the
// beginning of a line before its end.
func TestSieveOfTwoLogs(t *testing.T) {
	var out strings.Builder
	s := NewSieve(&out, runtime.LogOptions{Lines: 3, Since: at(5)})
	io.WriteString(s, jsonLine(6)+jsonLine(1)+"of 1")
	s.BreakLine()
	s.PassAll()
	io.WriteString(s, jsonLine(2)+"half")
	s.Flush()
	io.WriteString(s, " a line\n")
	if s.Release(false); out.String() != jsonLine(6)+jsonLine(2)+"half a line\n" {
		t.Errorf("the last lines: %q", out.String())
	}
	out.Reset()
	io.WriteString(s, "cut")
	if s.Flush(); out.String() != "cut" {
		t.Errorf("flushed: %q", out.String())
	}
	s.BreakLine()
	if io.WriteString(s, "next\n"); out.String() != "cut\nnext\n" {
		t.Errorf("after the break: %q", out.String())
	}
}

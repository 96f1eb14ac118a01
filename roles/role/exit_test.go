package role

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sett/blackboard"
)

func TestCodeOf(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want Code
	}{
		{nil, OK}, {errors.New("x"), Failed}, {blackboard.ErrNotFound, NotFound}, {blackboard.ErrAmbiguous, NotFound},
		{fmt.Errorf("read: %w", blackboard.ErrUnavailable), Environment}, {blackboard.ErrRefused, Failed},
		{fmt.Errorf("post: %w", &blackboard.CommandError{}), Environment},
		{Fail(Waiting, errors.New("x"), ""), Waiting}, {fmt.Errorf("wrapped: %w", Fail(TimedOut, errors.New("x"), "")), TimedOut},
		{Fail(Usage, blackboard.ErrNotFound, ""), Usage}, {Fail(Interrupted, nil, "hint"), OK},
	} {
		if got := CodeOf(tc.err); got != tc.want {
			t.Errorf("%v: %d, want %d", tc.err, got, tc.want)
		}
	}
	for _, c := range []Code{OK, Failed, Usage, NotFound, TimedOut, Waiting, NoTerminal, Environment, Interrupted} {
		if !strings.Contains(strings.ReplaceAll(CodesHelp, "\n", " "), fmt.Sprintf(" %d ", c)) {
			t.Errorf("exit code %d is not documented", c)
		}
	}
	if cause := errors.New("x"); !errors.Is(Fail(Failed, cause, ""), cause) {
		t.Error("the cause is lost")
	}
}

func TestNotOpened(t *testing.T) {
	for want, err := range map[string]error{
		"ask": blackboard.ErrUnavailable, "sett up goes on to convert them": fmt.Errorf("open: %w", &blackboard.SchemaError{Older: true, Begun: true}),
		"take its rename-command off the configuration of that server, and restart it": fmt.Errorf("open: %w", &blackboard.CommandError{Commands: []string{"EVAL"}}),
		"use the sett that wrote them, or a newer one":                                 &blackboard.SchemaError{},
	} {
		var e *Error
		if got := NotOpened(err, "ask"); CodeOf(got) != Environment || !errors.As(got, &e) || e.Hint != want {
			t.Errorf("%v: %#v", err, got)
		}
	}
}

func TestReport(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{errors.New("read file: gone"), "sett: error: read file: gone\n"},
		{errors.New("one\ntwo\nthree\n"), "sett: error: one\n  two\n  three\n"}, //nolint:revive // what others' errors look like
		{fmt.Errorf("up: %w", Fail(Environment, errors.New("no redis"), "start %s", "it")), "sett: error: up: no redis\nsett: hint: start it\n"},
		{Fail(Failed, errors.New("x"), ""), "sett: error: x\n"},
	} {
		var b strings.Builder
		Report(&b, tc.err)
		if b.String() != tc.want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), tc.want)
		}
	}
}

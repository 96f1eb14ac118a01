package role

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"sett/blackboard"
)

// Code is the exit status of a role's process.
type Code int

// The exit codes. They are part of the interface.
const (
	OK          Code = 0
	Failed      Code = 1   // it ran and failed
	Usage       Code = 2   // usage or configuration
	NotFound    Code = 3   // not found, or not running
	TimedOut    Code = 4   // the time limit has passed
	Waiting     Code = 5   // waiting for a human
	NoTerminal  Code = 6   // ended without a Terminal
	Environment Code = 7   // Docker, git, Redis
	OverBudget  Code = 8   // stopped by a budget
	Interrupted Code = 130 // before the end
)

// CodesHelp documents the exit codes, for help pages.
const CodesHelp = `Exit codes: 0 done; 1 it ran and failed; 2 usage or configuration; 3 not found
or not running; 4 timed out; 5 waiting for a human; 6 ended without a Terminal;
7 environment (git, Redis, Docker); 8 stopped by a budget; 130 interrupted
before the end.`

// Error is an error with its exit code and a hint for the user.
type Error struct {
	Code Code
	Err  error
	Hint string // the next command to type, or the change to make; may be empty
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fail returns an error with an exit code and a hint.
func Fail(code Code, err error, hint string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{code, err, fmt.Sprintf(hint, args...)}
}

// LookAtURL is the hint of a part that reaches its blackboard at REDIS_URL.
const LookAtURL = "is the blackboard running, and REDIS_URL right?"

// NotOpened is the error about a blackboard that could not be opened. The hint is for one that
// does not answer; one whose records have another form, or that refuses the user, has its own.
func NotOpened(err error, hint string) error {
	if schema := (*blackboard.SchemaError)(nil); errors.As(err, &schema) {
		hint = schema.Remedy()
	}
	if server := blackboard.MendableOf(err); server != nil {
		hint = server.Remedy()
	}
	return Fail(Environment, err, "%s", hint)
}

// CodeOf returns the exit code of an error.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, blackboard.ErrNotFound), errors.Is(err, blackboard.ErrAmbiguous):
		return NotFound
	case errors.Is(err, blackboard.ErrUnavailable), blackboard.MendableOf(err) != nil:
		return Environment
	}
	return Failed
}

// ErrNotRunning says that an instance does not run.
var ErrNotRunning = errors.New("it is not running")

// Passing says whether an error is only for now: it comes from the state of the instance or of
// this machine, and not from the request, which may succeed later as it is.
func Passing(err error) bool {
	switch CodeOf(err) {
	case TimedOut, Environment, Interrupted:
		return true
	}
	return errors.Is(err, ErrNotRunning) || errors.Is(err, blackboard.ErrStopping)
}

// ErrorLabel and HintLabel begin the fault and the hint of a reported error.
const (
	ErrorLabel = "sett: error: "
	HintLabel  = "sett: hint: "
)

// Report prints an error for people: first the fault, then the hint. It cleans both,
// because an error may carry control characters from anywhere.
func Report(w io.Writer, err error) {
	lines := strings.Split(strings.TrimRight(CleanText(err.Error()), "\n"), "\n")
	for i, line := range lines {
		if i == 0 {
			_, _ = fmt.Fprintln(w, labelled(ErrorLabel, line))
			continue
		}
		_, _ = fmt.Fprintf(w, "  %s\n", line)
	}
	var e *Error
	if errors.As(err, &e) && e.Hint != "" {
		_, _ = fmt.Fprintln(w, labelled(HintLabel, CleanText(e.Hint)))
	}
}

// labelled is a text behind its label. On a narrow terminal the label's line has nothing else.
func labelled(label, text string) string {
	if text == "" || text[0] == '\n' {
		label = strings.TrimRight(label, " ")
	}
	return label + text
}

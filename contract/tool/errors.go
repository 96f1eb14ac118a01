package tool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
	"sett/contract/spelling"
)

// ParseError explains to the author of a tool why its output is not readable.
type ParseError struct {
	Reason  string // the wrong or missing thing, one line
	Offset  int    // the byte of stdout, counted from 0; -1 for an error of a field or of the whole
	Excerpt string // the output around Offset, quoted; empty without an offset
}

// Error returns one line.
func (e *ParseError) Error() string {
	s := "parse tool output: " + e.Reason
	if e.Offset < 0 {
		return s
	}
	s += ", at byte " + strconv.Itoa(e.Offset)
	if e.Excerpt != "" {
		s += ": " + e.Excerpt
	}
	return s
}

// FailureType returns the artefact type of its Failure, ToolExecutionFailure (m2.3-work-execution.md section 6.1).
func (e *ParseError) FailureType() string { return blackboard.TypeToolExecutionFailure }

// ViolationError reports an output in good form that the grant does not allow.
type ViolationError struct {
	Reason string
}

// Error returns one line.
func (e *ViolationError) Error() string { return "check tool output: " + e.Reason }

// FailureType returns the artefact type of its Failure, ContractViolation.
func (e *ViolationError) FailureType() string { return blackboard.TypeContractViolation }

// UnchangedError says that a tool with adapter: commit changed nothing.
type UnchangedError struct {
	Modules string // submodules in which it did change something
}

// Error returns one line.
func (e UnchangedError) Error() string {
	if e.Modules != "" {
		return "the tool changed nothing that is committed: what it changed is in submodules (" + e.Modules + ")"
	}
	return "the tool changed nothing in its tree: no file that git does not ignore, and no commit at HEAD"
}

// FailureType returns the artefact type of its Failure, NothingChanged.
func (UnchangedError) FailureType() string { return blackboard.TypeNothingChanged }

// FailureType returns the artefact type of the Failure for err:
// ContractViolation for a *ViolationError anywhere in its chain, else
// ToolExecutionFailure.
func FailureType(err error) string {
	var typed interface{ FailureType() string }
	if errors.As(err, &typed) {
		return typed.FailureType()
	}
	return blackboard.TypeToolExecutionFailure
}

// Lengths, in bytes, of the excerpt in errors: before and after the offset.
const (
	excerptBefore = 24
	excerptAfter  = 48
)

func parseErrorAt(stdout []byte, at int, format string, args ...any) error {
	at = min(max(at, 0), len(stdout))
	from, to := max(0, at-excerptBefore), min(len(stdout), at+excerptAfter)
	for from > 0 && from < at && !utf8.RuneStart(stdout[from]) {
		from++
	}
	for to < len(stdout) && to > at && !utf8.RuneStart(stdout[to]) {
		to--
	}
	e := &ParseError{Reason: fmt.Sprintf(format, args...), Offset: at}
	if to > from {
		e.Excerpt = strconv.Quote(string(stdout[from:to]))
		if from > 0 {
			e.Excerpt = "…" + e.Excerpt
		}
		if to < len(stdout) {
			e.Excerpt += "…"
		}
	}
	return e
}

// excerpt quotes the beginning of s, harmless for terminals and logs.
func excerpt(s string) string {
	if len(s) <= excerptAfter {
		return strconv.Quote(s)
	}
	to := excerptAfter
	for to > 0 && !utf8.RuneStart(s[to]) {
		to--
	}
	return strconv.Quote(s[:to]) + "…"
}

// oneOf lists the right words, and names the nearest one first when word looks
// like a misspelling.
func oneOf[W ~string](word string, words []W) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	s := "expected one of " + strings.Join(list, ", ")
	if near := spelling.Nearest(strings.TrimSpace(word), list); near != "" {
		return fmt.Sprintf("did you mean %q? (%s)", near, s)
	}
	return s
}

package tool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
)

// ParseError says why a tool's output could not be understood, for the author of
// the tool.
type ParseError struct {
	Reason  string // what was found or missing, one line
	Offset  int    // the byte of stdout where, counted from 0; -1 when it is about a field or the whole
	Excerpt string // the output around Offset, quoted; empty without an offset
}

// Error says it in one line.
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

// FailureType returns the artefact type of the Failure to make of it,
// ToolExecutionFailure (m2.3-work-execution.md section 6.1).
func (e *ParseError) FailureType() string { return blackboard.TypeToolExecutionFailure }

// ViolationError says that a tool produced, in good form, what its grant does not
// allow.
type ViolationError struct {
	Reason string
}

// Error says it in one line.
func (e *ViolationError) Error() string { return "check tool output: " + e.Reason }

// FailureType returns the artefact type of the Failure to make of it,
// ContractViolation.
func (e *ViolationError) FailureType() string { return blackboard.TypeContractViolation }

// FailureType returns the artefact type of the Failure to make of err:
// ContractViolation for a *ViolationError anywhere in its chain, else
// ToolExecutionFailure.
func FailureType(err error) string {
	var typed interface{ FailureType() string }
	if errors.As(err, &typed) {
		return typed.FailureType()
	}
	return blackboard.TypeToolExecutionFailure
}

// Lengths, in bytes, of what is quoted in errors: before and after the offset.
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

// oneOf lists the words that would have been right, the likeliest first when word
// looks like a slip.
func oneOf[W ~string](word string, words []W) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	s := "expected one of " + strings.Join(list, ", ")
	if near := nearest(word, list); near != "" {
		return fmt.Sprintf("did you mean %q? (%s)", near, s)
	}
	return s
}

// nearest returns the word that word was probably meant to be, or "".
func nearest(word string, words []string) string {
	best, least := "", 3
	word = strings.ToLower(strings.TrimSpace(word))
	if len(word) > 32 {
		return ""
	}
	for _, w := range words {
		if d := distance(word, strings.ToLower(w)); d < least && 2*d < len(w) {
			best, least = w, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

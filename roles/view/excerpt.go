package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// cutMark ends a text that goes on.
const cutMark = "\n…"

// Excerpt is the beginning of a payload, for people: of a Failure's report the reason
// and the tool's last lines, of a Conflict its files, else the first lines.
func Excerpt(a blackboard.Artefact) string { return Whole(&a, excerpt(a)) }

func excerpt(a blackboard.Artefact) string {
	const lines, width = 20, 2000
	if a.StructuralType == blackboard.Failure {
		if report := failureText(a.Payload); report != "" {
			return report
		}
	}
	if c, ok := a.Conflict(); ok && len(c.Files) > 0 {
		return conflictText(c)
	}
	head := a.Payload[:min(len(a.Payload), 4*width)] // has so many characters at least, or is all
	s, cut := role.CleanText(head), len(head) < len(a.Payload)
	if r := []rune(s); len(r) > width {
		s, cut = string(r[:width]), true
	}
	if all := strings.SplitAfter(s, "\n"); len(all) > lines && strings.Join(all[lines:], "") != "" {
		s, cut = strings.Join(all[:lines], ""), true
	}
	s = strings.TrimRight(s, "\n")
	if cut {
		s += cutMark
	}
	return s
}

// mostOfConflict is the most files of a conflict that are told.
const mostOfConflict = 20

// conflictText says of each file of a conflict what the matter is. An older Sett did not record it.
func conflictText(c blackboard.Conflict) string {
	told := map[string]blackboard.ConflictFile{}
	for _, f := range c.Conflicts {
		told[f.File] = f
	}
	lines := []string{fmt.Sprintf("conflict between commits %.10s and %.10s", role.Clean(c.Ours.Commit), role.Clean(c.Theirs.Commit))}
	for i, file := range c.Files {
		if i == mostOfConflict {
			lines = append(lines, fmt.Sprintf("… and %d more files", len(c.Files)-i))
			break
		}
		line := "  " + role.Clean(file)
		if f, ok := told[file]; ok {
			line += ": " + f.Words() + " (" + role.Clean(f.Kind) + ")"
			if len(f.Paths) > 1 {
				line += ", " + role.Clean(strings.Join(f.Paths, ", "))
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// BudgetUnit is the unit of the budget that a Failure is about, in the words of
// sett retry --budget.
func BudgetUnit(failure blackboard.Artefact) string {
	var r blackboard.FailureReport
	if json.Unmarshal([]byte(failure.Payload), &r) == nil && r.Budget != nil {
		switch unit := r.Budget.Unit; unit {
		case "tokens", "calls", "time":
			return unit
		}
	}
	return "cost"
}

// KeptOf tells which changes of its tool a Failure has kept, and which not; empty: the tool left none.
func KeptOf(a blackboard.Artefact) string {
	var r blackboard.FailureReport
	if a.StructuralType != blackboard.Failure || json.Unmarshal([]byte(a.Payload), &r) != nil {
		return ""
	}
	return role.Clean(r.Left())
}

// failureText is a Failure's report for people: the reason, the tool's exit, the commit
// of its changes, and the last lines of its output. Empty when the payload is no report.
func failureText(payload string) string {
	var r blackboard.FailureReport
	if json.Unmarshal([]byte(payload), &r) != nil || r.Reason == "" {
		return ""
	}
	lines := []string{role.CleanText(r.Reason)}
	var how []string
	if r.TimedOut {
		how = append(how, "timed out")
	}
	if r.Signal != "" {
		how = append(how, "ended by "+role.Clean(r.Signal))
	} else if r.ExitCode >= 0 {
		how = append(how, fmt.Sprintf("exit code %d", r.ExitCode))
	}
	if r.Attempt > 1 {
		how = append(how, fmt.Sprintf("attempt %d", r.Attempt))
	}
	if told := r.Left(); told != "" {
		told = role.Clean(told)
		if r.Leftovers != "" {
			told += " (sett leftovers)"
		}
		how = append(how, told)
	}
	if len(how) > 0 {
		lines = append(lines, strings.Join(how, ", "))
	}
	for _, part := range []struct {
		name, text string
		size       int64
	}{{"stdout", r.Stdout, r.StdoutSize}, {"stderr", r.Stderr, r.StderrSize}, {"log", r.Log, int64(len(r.Log))}} {
		if part.text == "" {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s, %d bytes:", part.name, part.size), words.Indent(role.CleanText(Tail(part.text, 15)), "  "))
	}
	return strings.Join(lines, "\n")
}

// Tail returns the last n lines, or of very long lines the last part.
func Tail(s string, n int) string {
	const most = 16 << 10
	s = strings.TrimRight(s, "\n")
	lines := strings.Split(s[max(0, len(s)-most):], "\n")
	cut := len(s) > most
	if len(lines) > n {
		lines, cut = lines[len(lines)-n:], true
	}
	s = strings.Join(lines, "\n")
	if cut {
		return "…\n" + strings.TrimLeftFunc(s, func(r rune) bool { return r == unicode.ReplacementChar }) // half of one
	}
	return s
}

package doctor

import (
	"errors"
	"strings"

	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

// report prints the findings. A problem makes it an error of the environment.
func report(at *instance.Locator, form term.Form, all []Finding) error {
	counts := map[string]int{}
	for _, f := range all {
		counts[f.Status]++
	}
	whole := struct {
		OK       bool      `json:"ok"` // no problem
		Problems int       `json:"problems"`
		Warnings int       `json:"warnings"`
		Checks   []Finding `json:"checks"`
	}{counts[Problem] == 0, counts[Problem], counts[Warning], all}
	err := at.Emit(form, term.Shown{Whole: whole, Lines: all, Table: func() error { return showFindings(at, all) }})
	if err == nil && counts[Problem] > 0 {
		err = role.Fail(role.Environment, errors.New(words.Count(counts[Problem], "problem")+" found"), "")
	}
	return err
}

// leastFinding is the width of findings on a terminal that has not much.
const leastFinding = 30

// showFindings shows one line for each finding, with the remedy below it.
func showFindings(at *instance.Locator, all []Finding) error {
	t := at.Table()
	columns, _ := term.Size(at.Stdout)
	names := 0
	for _, f := range all {
		names = max(names, term.Width(role.Clean(strings.TrimSpace(f.Check+" "+f.Subject))))
	}
	room := max(columns-len(Skipped)-2-names-2, leastFinding)
	wrapped := func(text, more string) []string {
		if columns <= 0 {
			return []string{text}
		}
		lines := term.Wrap(role.Clean(text), room-len(more))
		for i := range lines[1:] {
			lines[i+1] = more + lines[i+1]
		}
		return lines
	}
	for _, f := range all {
		as := map[string]term.Style{OK: term.Good, Warning: term.Warn, Problem: term.Bad, Skipped: term.Dim}[f.Status]
		name := f.Check
		if f.Subject != "" {
			name += " " + f.Subject
		}
		status := term.Cell{Text: f.Status, As: as}
		for _, line := range wrapped(f.Finding, "") {
			t.Row(status, name, line)
			status, name = term.Cell{}, ""
		}
		if f.Do == "" {
			continue
		}
		for _, line := range wrapped("→ "+f.Do, "  ") {
			t.Row("", "", line)
		}
	}
	return t.Write(at.Stdout)
}

// oneLine puts a text of several lines on one.
func oneLine(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return role.Clean(strings.Join(lines, "; "))
}

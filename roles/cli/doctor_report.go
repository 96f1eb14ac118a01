package cli

import (
	"errors"
	"strings"

	"sett/roles/role"
)

// report prints what was found. A problem makes it an error of the environment.
func (c *doctorCmd) report(a *app, all []finding) error {
	counts := map[string]int{}
	for _, f := range all {
		counts[f.Status]++
	}
	whole := struct {
		OK       bool      `json:"ok"` // no problem
		Problems int       `json:"problems"`
		Warnings int       `json:"warnings"`
		Checks   []finding `json:"checks"`
	}{counts[findProblem] == 0, counts[findProblem], counts[findWarning], all}
	err := a.emit(c.outputs, shown{whole: whole, lines: all, table: func() error { return a.showFindings(all) }})
	if err == nil && counts[findProblem] > 0 {
		err = role.Fail(role.Environment, errors.New(count(counts[findProblem], "problem")+" found"), "")
	}
	return err
}

// showFindings shows one line for each finding, and what to do below it.
func (a *app) showFindings(all []finding) error {
	t := a.table()
	for _, f := range all {
		as := map[string]style{findOK: good, findWarning: warn, findProblem: bad, findSkipped: dim}[f.Status]
		name := f.Check
		if f.Subject != "" {
			name += " " + f.Subject
		}
		t.row(cell{f.Status, as}, name, f.Finding)
		if f.Do != "" {
			t.row("", "", "→ "+f.Do)
		}
	}
	return t.write(a.Stdout)
}

// oneLine puts a text of several lines on one.
func oneLine(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return clean(strings.Join(lines, "; "))
}

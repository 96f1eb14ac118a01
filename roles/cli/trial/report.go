package trial

import (
	"fmt"
	"io"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
	"sett/roles/view"
)

// conclude prints the result of the trial.
func (t *Trial) conclude() error {
	r := t.report
	if t.Quiet {
		return nil
	}
	if err := t.Emit(t.Form, term.Shown{Whole: r, Table: func() error { return nil }}); err != nil { // people have had it line by line
		return err
	}
	for _, line := range r.Commits {
		t.say("commit", role.Clean(line))
	}
	for i, line := range r.Changed {
		if i == mostChanged {
			t.say("", fmt.Sprintf("… and %d more", len(r.Changed)-i))
			break
		}
		t.say("changed", strings.Replace(line, "\t", " ", 1))
	}
	if len(r.LeftDirty) > 0 {
		t.say("note", fmt.Sprintf("%s left uncommitted: %s", words.Count(len(r.LeftDirty), "file"), role.Clean(strings.Join(r.LeftDirty[:min(5, len(r.LeftDirty))], ", "))))
	}
	if r.Problem != nil {
		return role.Fail(role.Failed, fmt.Errorf("%s: %s", r.Problem.Type, role.Clean(r.Problem.Reason)), "nothing was recorded; in a running instance %s", consequence(t))
	}
	if a := r.Artefact; a != nil {
		head := blackboard.Artefact{StructuralType: a.StructuralType, Type: a.Type, Payload: a.Payload}
		what := view.Title(head)
		if a.Verdict != "" {
			what += ", which " + map[blackboard.Verdict]string{blackboard.Approve: "approves", blackboard.Feedback: "rejects"}[a.Verdict]
		}
		t.say("result", fmt.Sprintf("%s, %d bytes", what, len(a.Payload)))
		if t.Form.ForPeople() {
			t.Printf("%s\n", term.Fold(t.Stdout, words.Indent(view.Excerpt(head), "    "), "  "))
		}
		if a.Summary != "" {
			t.say("summary", role.Clean(a.Summary))
		}
		if a.StructuralType == blackboard.Question {
			t.say("", `--answer "…" answers it, and runs the tool again`)
		}
	}
	if t.Form.ForPeople() {
		t.Printf("%s, nothing was recorded\n", t.Paint("fine", term.Good))
	}
	return nil
}

// consequence says how the problem would end in a running instance.
func consequence(t *Trial) string {
	scripted := len(t.Agent.BidScript) > 0
	switch {
	case t.report.Problem.Type != noBid:
		return "this would be a Failure"
	case t.report.Problem.withheld:
		return "the claim would wait for its bid until the budget has room"
	case t.Agent.BidsRequired:
		return "the agent would be unhealthy, and the claim would wait for its bid (bids_required)"
	case scripted:
		return "the bid would be ignore, and the agent unhealthy until a bid succeeds"
	}
	return "the bid would be ignore"
}

// mostChanged is the most changed files that are shown to people.
const mostChanged = 20

// say prints a line of the report, unless it is for programs.
func (t *Trial) say(label, text string) {
	if t.Form.ForPeople() && !t.Quiet {
		label = fmt.Sprintf("%-8s", label)
		text = term.Hang(t.Stdout, label+" ", role.Clean(text))
		t.Printf("%s%s\n", t.Paint(label, term.Dim), strings.TrimPrefix(text, label))
	}
}

func commandLine(args []string) string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'$\\") {
			out[i] = fmt.Sprintf("%q", arg)
		}
	}
	return strings.Join(out, " ")
}

// paths lists files, so many at most.
func paths(files []git.Dirt, most int) string {
	var out []string
	for i, f := range files {
		if i == most {
			out = append(out, "…")
			break
		}
		out = append(out, f.Path)
	}
	return strings.Join(out, ", ")
}

// said takes a program's lines on stderr.
func said(t *Trial, who string) io.Writer {
	if t.Quiet {
		return io.Discard
	}
	return &prefixed{t.Stderr, who}
}

// prefixed prints lines with the name of their writer.
type prefixed struct {
	out io.Writer
	who string
}

func (p *prefixed) Write(line []byte) (int, error) {
	_, err := fmt.Fprintf(p.out, "%s | %s\n", p.who, role.Clean(term.Untab(strings.TrimRight(string(line), "\r\n"))))
	return len(line), err
}

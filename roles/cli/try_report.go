package cli

import (
	"fmt"
	"io"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
)

// conclude prints what came of it.
func (t *trial) conclude(c *tryCmd) error {
	r := t.report
	if err := t.emit(c.outputs, shown{whole: r, table: func() error { return nil }}); err != nil { // people have had it line by line
		return err
	}
	for _, line := range r.Commits {
		t.say(c, "commit", clean(line))
	}
	if len(r.LeftDirty) > 0 {
		t.say(c, "note", fmt.Sprintf("%s left uncommitted: %s", count(len(r.LeftDirty), "file"), clean(strings.Join(r.LeftDirty[:min(5, len(r.LeftDirty))], ", "))))
	}
	if r.Problem != nil {
		return role.Fail(role.Failed, fmt.Errorf("%s: %s", r.Problem.Type, clean(r.Problem.Reason)), "nothing was recorded; in a running instance this would be a Failure")
	}
	if a := r.Artefact; a != nil {
		head := blackboard.Artefact{StructuralType: a.StructuralType, Type: a.Type, Payload: a.Payload}
		what := title(head)
		if a.Verdict != "" {
			what += ", which " + map[blackboard.Verdict]string{blackboard.Approve: "approves", blackboard.Feedback: "rejects"}[a.Verdict]
		}
		t.say(c, "result", fmt.Sprintf("%s, %d bytes", what, len(a.Payload)))
		if c.forPeople() {
			t.printf("%s\n", indent(excerpt(head), "    "))
		}
		if a.Summary != "" {
			t.say(c, "summary", clean(a.Summary))
		}
	}
	if c.forPeople() {
		t.printf("%s, nothing was recorded\n", t.paint("fine", good))
	}
	return nil
}

// say prints a line of the report, unless it is for programs.
func (t *trial) say(c *tryCmd, label, text string) {
	if c.forPeople() {
		t.printf("%s %s\n", t.paint(fmt.Sprintf("%-8s", label), dim), clean(text))
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

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// paths lists files, so many at most.
func paths(files []dirt, most int) string {
	var out []string
	for i, f := range files {
		if i == most {
			out = append(out, "…")
			break
		}
		out = append(out, f.path)
	}
	return strings.Join(out, ", ")
}

// prefixed shows lines with the name of who wrote them.
type prefixed struct {
	out io.Writer
	who string
}

func (p *prefixed) Write(line []byte) (int, error) {
	_, err := fmt.Fprintf(p.out, "%s | %s\n", p.who, clean(strings.TrimRight(string(line), "\r\n")))
	return len(line), err
}

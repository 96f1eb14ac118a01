package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
)

// draft is what was typed in an editor: who has written a text must not lose it.
type draft struct {
	file string
	text string
}

// discard removes the file. A nil draft is none.
func (d *draft) discard() {
	if d != nil {
		_ = os.Remove(d.file)
	}
}

// keep leaves the text in its file and adds to what went wrong where that is.
func (d *draft) keep(err error) error {
	if d == nil || d.text == "" {
		d.discard()
		return err
	}
	hint := ""
	var e *role.Error
	if errors.As(err, &e) {
		hint = e.Hint
	}
	if failed := os.WriteFile(d.file, []byte(d.text+"\n"), 0o600); failed != nil {
		return errors.Join(err, failed)
	}
	return role.Fail(role.CodeOf(err), fmt.Errorf("%w\nwhat you typed is kept in %s", err, d.file), "%s", hint)
}

// typeAnswer has an answer typed in an editor.
func (a *app) typeAnswer(in *instance, q blackboard.Artefact) (*draft, error) {
	if !role.IsTerminal(a.Stdin) {
		return nil, role.Fail(role.Usage, errors.New("no answer is given, and nobody is at a terminal to type one"),
			"%s, or - to read it from standard input", a.commandLine(in, "answer "+short(q.ID)+` "…"`))
	}
	f, err := os.CreateTemp(a.Getenv("TMPDIR"), "sett-answer-*.txt")
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("write answer: %w", err), "")
	}
	d := &draft{file: f.Name()}
	_, err = f.WriteString(answerTemplate(q))
	if err = errors.Join(err, f.Close()); err == nil {
		err = a.edit(d.file)
	}
	if err != nil {
		return nil, d.keep(err)
	}
	raw, err := os.ReadFile(d.file)
	d.text = withoutComments(string(raw))
	switch {
	case err != nil:
	case d.text == "":
		err = role.Fail(role.Failed, errors.New("the answer is empty; nothing was written"), "")
	case a.ctx.Err() != nil:
		err = interrupted("interrupted; nothing was written")
	default:
		err = a.checkText("answer", d.text, "")
	}
	if err != nil {
		return nil, d.keep(err)
	}
	return d, nil
}

// edit lets the user edit a file, and waits for the end of that. What the editor
// prints on a terminal must not become data where stdout is none.
func (a *app) edit(file string) error {
	editor := a.Getenv("VISUAL")
	if editor == "" {
		editor = a.Getenv("EDITOR")
	}
	if strings.TrimSpace(editor) == "" {
		editor = "vi"
	}
	// As git does it: what the variable holds may have arguments.
	cmd := exec.Command("sh", "-c", editor+` "$@"`, editor, file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = a.Stdin, a.prompt, a.prompt, a.Environ()
	if role.IsTerminal(a.Stdout) {
		cmd.Stdout = a.Stdout
	}
	if err := cmd.Run(); err != nil {
		return role.Fail(role.Failed, fmt.Errorf("edit answer with %s: %w; nothing was written", clean(editor), err), "VISUAL and EDITOR name an editor")
	}
	return nil
}

// answerTemplate is what the editor begins with: room for the answer, then the
// question as comments.
func answerTemplate(q blackboard.Artefact) string {
	var s strings.Builder
	s.WriteString("\n# Type the answer above. Lines that begin with # are left out, and without any other\n# nothing is answered.\n#\n")
	fmt.Fprintf(&s, "# Question %s of %s:\n#\n", short(q.ID), maker(q))
	for line := range strings.Lines(cleanText(q.Payload)) {
		s.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return s.String()
}

// withoutComments leaves out what git leaves out of a commit's message: lines that
// begin with #, blanks at the ends of lines, empty lines at both ends and all but
// one of several.
func withoutComments(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, " \t\r\n")
		empty := line == ""
		if strings.HasPrefix(line, "#") || empty && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

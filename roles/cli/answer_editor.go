package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// draft is an answer typed in an editor. Its file stays until the answer is recorded,
// so that an error loses no text.
type draft struct {
	file     string
	template string // the editor's first text
	text     string // without comments
}

// discard removes the file. A nil draft is none.
func (d *draft) discard() {
	if d != nil {
		_ = os.Remove(d.file)
	}
}

// read reads the text that the editor left.
func (d *draft) read() (typed bool, err error) {
	raw, err := os.ReadFile(d.file)
	d.text = withoutComments(string(raw))
	return typedIn(string(raw), d.template), err
}

// typedIn says whether a text has a line that its template does not have.
func typedIn(text, template string) bool {
	given := map[string]bool{"": true}
	for line := range strings.Lines(template) {
		given[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(text) {
		if !given[strings.TrimSpace(line)] {
			return true
		}
	}
	return false
}

// keep leaves the text in its file and adds the file's name to the error. Without a text
// the file stays as the editor left it: all that was typed begins with #.
func (d *draft) keep(err error) error {
	if d == nil {
		return err
	}
	if typed, _ := d.read(); !typed {
		d.discard()
		return err
	}
	hint := ""
	var e *role.Error
	if errors.As(err, &e) {
		hint = e.Hint
	}
	if d.text != "" {
		if failed := os.WriteFile(d.file, []byte(d.text+"\n"), 0o600); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return role.Fail(role.CodeOf(err), fmt.Errorf("%w\nwhat you typed is kept in %s", err, d.file), "%s", hint)
}

// typeAnswer has an answer typed in an editor.
func typeAnswer(a *app, in *instance.Instance, q blackboard.Artefact) (*draft, error) {
	if !role.IsTerminal(a.Stdin) {
		return nil, role.Fail(role.Usage, errors.New("no answer is given, and nobody is at a terminal to type one"),
			"%s, or - to read it from standard input", a.at.CommandLine(in, "answer "+words.Short(q.ID)+` "…"`))
	}
	f, err := os.CreateTemp(a.Getenv("TMPDIR"), "sett-answer-*.txt")
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("write answer: %w", err), "")
	}
	d := &draft{file: f.Name(), template: answerTemplate(q)}
	_, err = f.WriteString(d.template)
	if err = errors.Join(err, f.Close()); err == nil {
		err = edit(a, d.file)
	}
	if err != nil {
		return nil, d.keep(err)
	}
	_, err = d.read()
	switch {
	case err != nil:
	case a.ctx.Err() != nil:
		err = term.Interrupted("interrupted; nothing was written")
	case d.text == "":
		err = role.Fail(role.Failed, errors.New("the answer is empty; nothing was written"), "%s opens the editor again", a.at.CommandLine(in, "answer "+words.Short(q.ID)))
	default:
		err = checkText(a, "answer", d.text, "")
	}
	if err != nil {
		return nil, d.keep(err)
	}
	return d, nil
}

// edit opens a file in the user's editor and waits for its end. The editor's output
// goes to the prompt unless stdout is a terminal: it must not become data.
func edit(a *app, file string) error {
	editor := a.Getenv("VISUAL")
	if editor == "" {
		editor = a.Getenv("EDITOR")
	}
	if strings.TrimSpace(editor) == "" {
		editor = "vi"
	}
	a.Hold.On() // an editor has its own use for Ctrl-C
	// As git does it: the variable may hold arguments too.
	cmd := exec.Command("sh", "-c", editor+` "$@"`, editor, file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = a.Stdin, a.Prompt, a.Prompt, a.Environ()
	if role.IsTerminal(a.Stdout) {
		cmd.Stdout = a.Stdout
	}
	if err := cmd.Run(); err != nil {
		if a.ctx.Err() != nil || diedOfInterrupt(err) {
			return term.Interrupted("interrupted; nothing was written")
		}
		return role.Fail(role.Failed, fmt.Errorf("edit answer with %s: %w; nothing was written", role.Clean(editor), err), "VISUAL and EDITOR name an editor")
	}
	return nil
}

// diedOfInterrupt says whether an editor was ended by Ctrl-C. A shell says so by its exit code.
func diedOfInterrupt(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	s, ok := exit.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGINT || exit.ExitCode() == int(role.Interrupted)
}

// answerTemplate is the editor's first text: room for the answer, then the question
// as comments.
func answerTemplate(q blackboard.Artefact) string {
	var s strings.Builder
	s.WriteString("\n# Type the answer above. Lines that begin with # are left out, and without any other\n# nothing is answered.\n#\n")
	fmt.Fprintf(&s, "# Question %s of %s:\n#\n", words.Short(q.ID), view.Maker(q))
	for line := range strings.Lines(role.CleanText(q.Payload)) {
		s.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return s.String()
}

// withoutComments cleans a text as git cleans a commit's message: it drops lines that
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

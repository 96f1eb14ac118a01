package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/muesli/cancelreader"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"sett/roles/role"
)

// CanAsk says whether a person can be asked while a command goes on: stdin and stderr are
// terminals, and the command is not in the background of its shell.
func CanAsk(e role.Env) bool {
	if !role.IsTerminal(e.Stdin) || !role.IsTerminal(e.Stderr) {
		return false
	}
	f, ok := e.Stdin.(*os.File)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // a terminal that controls another session tells no group
}

// Typist asks a person while a command goes on. A question that is given up leaves no read
// behind, and none of its answer: the shell would take that for a command.
type Typist struct {
	on      *Terminal
	ended   bool      // there will be no more lines
	gaveUp  time.Time // when a question was given up last; zero: none was
	dropped bool      // text was typed at that question
}

// NewTypist returns a reader of the terminal's lines.
func NewTypist(on *Terminal) *Typist { return &Typist{on: on} }

// Ask shows a prompt and returns the line that is typed, without blanks around it. Lines that
// arrive together, as pasted ones do, stay together, so that no part of them is an answer.
// io.EOF when there will be no more lines, or the context's error.
func (p *Typist) Ask(ctx context.Context, prompt string) (string, error) {
	if err := ask(p.on, Fold(p.on.Prompt, prompt, "  ")); err != nil {
		return "", err
	}
	text, err := p.lines(ctx, "")
	return strings.TrimLeft(strings.TrimRight(text, " \t\r\n"), " \t"), err
}

// AskText is Ask for a free text, which may have several lines: when lines arrive together,
// all of them and those that follow are the text, until an empty line comes alone.
func (p *Typist) AskText(ctx context.Context, prompt string) (string, error) {
	text, err := p.Ask(ctx, prompt)
	if err != nil || !strings.Contains(text, "\n") {
		return text, err
	}
	// The first line feed ends a pasted line that is still being typed.
	if err := say(p.on, "\nsett: that is a text of several lines; an empty line ends it\n"); err != nil {
		return "", err
	}
	for text += "\n"; ; {
		more, err := p.lines(ctx, text)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(more) == "" {
			return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), nil
		}
		text += more
	}
}

// together is how long after a line another one is taken to have been pasted with it.
const together = 100 * time.Millisecond

// Dropped says, once, whether text was dropped that was typed at a question which was given up.
func (p *Typist) Dropped() bool {
	dropped := p.dropped
	p.dropped = false
	return dropped
}

// typedOn is how long somebody may go on with an answer after its question was given up.
const typedOn = 5 * time.Second

// End ends the asking. An answer that somebody still types to a question which was given up a
// moment ago is dropped: the command's end must not hand it to the shell.
func (p *Typist) End() {
	if !p.gaveUp.IsZero() && p.on.Now().Sub(p.gaveUp) < typedOn {
		p.dropped = forget(p.on.Stdin)
	}
}

// lines reads a line, and those that arrive together with it. Text of before belongs to them.
func (p *Typist) lines(ctx context.Context, before string) (string, error) {
	in, _ := p.on.Stdin.(*os.File)
	text, err := "", io.EOF
	if !p.ended {
		text, err = readLine(ctx, in)
	}
	if ctx.Err() == nil && err != nil {
		p.ended, err = true, io.EOF
		if text != "" {
			return text, nil
		}
	}
	for err == nil {
		soon, cancel := context.WithTimeout(ctx, together)
		more, none := readLine(soon, in)
		cancel()
		text += more
		if none != nil {
			err = ctx.Err()
			break
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(p.on.Prompt)
		if ctx.Err() != nil {
			p.gaveUp, p.dropped = p.on.Now(), forget(p.on.Stdin) || before+text != ""
		}
		return "", err
	}
	return text, nil
}

// ask shows a prompt. Input of before answers nothing, so that it is dropped: it was typed
// when nobody had seen the question.
func ask(t *Terminal, prompt string) error {
	if forget(t.Stdin) {
		prompt = "sett: what you typed before this question was dropped\n" + prompt
	}
	return say(t, prompt)
}

// say shows a text, also with --quiet.
func say(t *Terminal, text string) error {
	if _, err := io.WriteString(t.Prompt, text); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// readLine reads a line from a terminal. The terminal hands out no more than one, so that all
// that is behind it stays there.
func readLine(ctx context.Context, from *os.File) (string, error) {
	in, err := cancelreader.NewReader(from)
	if err != nil {
		return "", fmt.Errorf("read terminal: %w", err)
	}
	defer func() { _ = in.Close() }()
	stop := context.AfterFunc(ctx, func() { in.Cancel() })
	defer stop()
	line := ""
	for buf := make([]byte, 4096); !strings.HasSuffix(line, "\n"); {
		n, err := in.Read(buf)
		line += string(buf[:n])
		switch {
		case errors.Is(err, cancelreader.ErrCanceled):
			return line, ctx.Err()
		case err != nil:
			return line, err //nolint:wrapcheck // io.EOF is compared
		}
	}
	return line, nil
}

// forget drops the input of a terminal that was not read, and says whether there was any, also
// a line that has no end yet. Any other input keeps all.
func forget(from io.Reader) (said bool) {
	f, ok := from.(*os.File)
	if !ok || !role.IsTerminal(f) {
		return false
	}
	said = drain(f)
	if before, err := term.MakeRaw(int(f.Fd())); err == nil { // else it hands out no line that has no end
		said = drain(f) || said
		_ = term.Restore(int(f.Fd()), before)
	}
	flush(int(f.Fd())) // the rest
	return said
}

// drain reads the input that a terminal hands out now, and says whether a text was among it.
func drain(f *os.File) (said bool) {
	buf := make([]byte, 4096)
	for range 64 {
		ready := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}} //nolint:gosec // a file descriptor is small
		if n, err := unix.Poll(ready, 0); err != nil || n == 0 || ready[0].Revents&unix.POLLIN == 0 {
			break
		}
		n, err := f.Read(buf)
		said = said || strings.TrimSpace(string(buf[:n])) != ""
		if err != nil {
			break
		}
	}
	return said
}

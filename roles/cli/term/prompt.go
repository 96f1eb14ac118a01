package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

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

// Typist reads the lines that a person types while a command goes on. A question that is
// given up leaves its read behind, and the next one gets what that reads.
type Typist struct {
	on    *Terminal
	lines chan string // closed at the input's end; nil: nothing was read yet
}

// NewTypist returns a reader of the terminal's lines.
func NewTypist(on *Terminal) *Typist { return &Typist{on: on} }

// Ask shows a prompt and returns the line that is typed, without blanks around it. io.EOF
// when there will be no more lines, or the context's error.
func (p *Typist) Ask(ctx context.Context, prompt string) (string, error) {
	p.forget()
	if _, err := io.WriteString(p.on.Prompt, Fold(p.on.Prompt, prompt, "  ")); err != nil {
		return "", fmt.Errorf("print: %w", err)
	}
	if p.lines == nil {
		p.lines = make(chan string)
		go p.read()
	}
	select {
	case line, ok := <-p.lines:
		if !ok {
			_, _ = fmt.Fprintln(p.on.Prompt)
			return "", io.EOF
		}
		return strings.TrimSpace(line), nil
	case <-ctx.Done():
		_, _ = fmt.Fprintln(p.on.Prompt)
		return "", ctx.Err()
	}
}

// read hands lines on until the input ends.
func (p *Typist) read() {
	defer close(p.lines)
	in := bufio.NewReader(p.on.Stdin)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			p.lines <- line
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// forget drops the lines that were typed before there was a question.
func (p *Typist) forget() {
	if p.lines != nil {
		select {
		case <-p.lines:
		default:
		}
		return
	}
	f, ok := p.on.Stdin.(*os.File)
	if !ok {
		return
	}
	buf := make([]byte, 4096)
	for range 64 {
		ready := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}} //nolint:gosec // a file descriptor is small
		if n, err := unix.Poll(ready, 0); err != nil || n == 0 || ready[0].Revents&unix.POLLIN == 0 {
			return
		}
		if _, err := f.Read(buf); err != nil {
			return
		}
	}
}

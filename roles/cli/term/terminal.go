package term

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"

	"sett/contract/env"
	"sett/roles/role"
)

// Terminal prints the data and messages of a command and asks its questions. With only
// Env set it prints without colour, ignores errors of Printf, and must not ask.
type Terminal struct {
	role.Env
	Colour bool                   // data on stdout is coloured
	Prompt io.Writer              // gets questions to the user; --quiet does not silence it
	lost   *atomic.Pointer[error] // the first error of Printf, shared with copies; nil: errors are ignored
	Hold   *Hold                  // shared with copies
}

// New returns the terminal of a command.
func New(e role.Env) Terminal {
	return Terminal{Env: e, Prompt: e.Stderr, lost: &atomic.Pointer[error]{}, Hold: &Hold{}}
}

// Printf prints data on stdout. It keeps its first error for Unprinted.
func (t *Terminal) Printf(format string, args ...any) {
	if _, err := fmt.Fprintf(t.Stdout, format, args...); err != nil && t.lost != nil {
		t.lost.CompareAndSwap(nil, &err)
	}
}

// Unprinted is the first error of Printf, such as a full disk; nil: all was written.
func (t *Terminal) Unprinted() error {
	if err := t.lost.Load(); err != nil {
		return fmt.Errorf("print: %w", *err)
	}
	return nil
}

// Sayf prints a message on stderr, folded to the width of a terminal. --quiet silences it.
func (t *Terminal) Sayf(format string, args ...any) {
	_, _ = io.WriteString(t.Stderr, Fold(t.Stderr, fmt.Sprintf(format, args...), "  "))
}

// Tilde shortens a path below the home directory to ~/… for people.
func (t *Terminal) Tilde(path string) string {
	home := env.Home(t.Getenv)
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return filepath.Join("~", rest)
	}
	return path
}

// Interrupted is the error of a command that the user stopped before its end.
func Interrupted(text string) error {
	return role.Fail(role.Interrupted, errors.New(text), "")
}

// WriteAll writes a text to w. Its error says that printing failed.
func WriteAll(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

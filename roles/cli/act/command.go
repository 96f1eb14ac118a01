package act

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sett/roles/role"
)

// Command runs a command line of sett, and returns its error. Its data goes to out, its
// messages to messages.
type Command func(ctx context.Context, args []string, in io.Reader, out, messages io.Writer) error

// LeftOut is the error of a command that left out records which could not be read.
type LeftOut struct{ Err error }

// Error is that of the command.
func (e LeftOut) Error() string { return e.Err.Error() }

// Unwrap returns it.
func (e LeftOut) Unwrap() error { return e.Err }

// Read runs a command that only reads, with -o json, and decodes its data. With LeftOut
// there are data.
func (c Command) Read(ctx context.Context, into any, args ...string) error {
	text, err := c.Text(ctx, append([]string{args[0], "--output=json"}, args[1:]...)...)
	if text == "" {
		if err == nil {
			err = fmt.Errorf("read %s: no data", args[0])
		}
		return err
	}
	if failed := json.Unmarshal([]byte(text), into); failed != nil {
		return fmt.Errorf("read %s: %w", args[0], failed)
	}
	if err != nil {
		return LeftOut{err}
	}
	return nil
}

// Text runs a command that only reads, and returns its data.
func (c Command) Text(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := c(ctx, args, strings.NewReader(""), &out, io.Discard)
	return out.String(), err
}

// Problem is a command's error. The names of its fields are part of the API.
type Problem struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`      // the command to type, or the change to make
	Code  int    `json:"exit_code,omitempty"` // that the command line ends with
}

// ProblemOf describes an error. Its texts are clean.
func ProblemOf(err error) Problem {
	p := Problem{Error: role.CleanText(err.Error()), Code: int(role.CodeOf(err))}
	if e := (*role.Error)(nil); errors.As(err, &e) {
		p.Hint = role.CleanText(e.Hint)
	}
	return p
}

package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sett/roles/role"
)

// Confirm asks a question on the terminal and says whether the answer is yes.
// Without a terminal it fails, and the hint names the flag that gives the answer.
func (t *Terminal) Confirm(question, flag string) (bool, error) {
	nobody := role.Fail(role.Usage, errors.New("nobody here to confirm it"), "add %s", flag)
	if !role.IsTerminal(t.Stdin) {
		return false, nobody
	}
	if err := ask(t, question+" [y/N] "); err != nil { // shown even with --quiet
		return false, err
	}
	in, _ := t.Stdin.(*os.File)
	line, err := readLine(context.Background(), in)
	if errors.Is(err, io.EOF) && line == "" {
		_, _ = fmt.Fprintln(t.Prompt)
		return false, nobody
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

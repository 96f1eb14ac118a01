package cli

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"sett/roles/role"
)

// full is a stdout on a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Data that could not be printed, in whole or in part, is no success: a script that
// keeps it in a file must notice.
func TestUnprintedIsNoSuccess(t *testing.T) {
	for _, command := range []string{"schema", "completion bash", "man", "version", "version -o json", "help"} {
		e := role.Env{
			Args: strings.Fields(command), Stdout: full{}, Stderr: &strings.Builder{}, Stdin: strings.NewReader(""),
			Lookup: func(name string) (string, bool) { return "/nonexistent", name == "HOME" },
		}
		err := Run(t.Context(), e)
		if !errors.Is(err, syscall.ENOSPC) || role.CodeOf(err) != role.Failed {
			t.Errorf("sett %s ends with %v", command, err)
		}
	}
}

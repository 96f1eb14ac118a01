package toolrun

import (
	"os"
	"slices"
	"testing"

	"sett/contract/config"
)

// Only the command of agents without a program of their own is the running sett.
func TestOwnProgram(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, want []string }{
		{config.LLMCommand(), []string{own, "llm"}},
		{[]string{"sett", "llm", "--more"}, []string{"sett", "llm", "--more"}},
		{[]string{"sett"}, []string{"sett"}},
		{nil, nil},
	} {
		if got, err := OwnProgram(c.command); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v is run as %v, %v", c.command, got, err)
		}
	}
}

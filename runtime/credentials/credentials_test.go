package credentials

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"sett/contract/env"
)

// Credentials of any length go through the pipe, and none through the environment.
func TestPass(t *testing.T) {
	for _, size := range []int{1, atOnce, 300 << 10} {
		cmd := &exec.Cmd{}
		secret := env.HostValues + "=" + strings.Repeat("x", size)
		closePipe, err := Pass(cmd, []string{"A=b", secret})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(cmd.ExtraFiles[0])
		if closePipe(); err != nil || string(text) != secret+"\x00" {
			t.Errorf("%d bytes: %d were read: %v", size, len(text), err)
		}
		if got := strings.Join(cmd.Env, " "); got != "A=b "+env.Credentials+"=3" {
			t.Errorf("environment %q", got)
		}
	}
}

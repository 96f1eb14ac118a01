package e2e

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUpWithStolenPort has another program take the repository's port between its choice and its use: the
// start is repeated with another one.
func TestUpWithStolenPort(t *testing.T) {
	t.Parallel()
	in := prepare(t, options{clan: solo(`say Terminal Done done`, "workspace: {mode: ro}\n")})
	var stolen net.Listener
	taken := make(chan bool)
	go func() {
		defer close(taken)
		for began := time.Now(); time.Since(began) < enough; {
			var state struct{ Repository string }
			text, err := os.ReadFile(filepath.Join(in.stateDir(), "instance.json"))
			if err != nil || json.Unmarshal(text, &state) != nil || state.Repository == "" {
				continue
			}
			stolen, err = net.Listen("tcp", state.Repository)
			taken <- err == nil
			return
		}
	}()
	defer func() {
		if stolen != nil {
			_ = stolen.Close()
		}
	}()
	done := make(chan string)
	go func() {
		code, out := in.sett("up", "--runtime", "process", "--yes")
		if code != 0 {
			out = "exit code: " + out
		}
		done <- out
	}()
	faster := <-taken
	out := <-done
	if strings.HasPrefix(out, "exit code") || faster != strings.Contains(out, "another program took a port of this instance meanwhile") {
		t.Fatalf("faster: %v\n%s", faster, out)
	}
	if !faster {
		t.Log("the repository was faster: its port was not free any more")
	}
	in.open()
	in.settled()
}

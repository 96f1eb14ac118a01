package deploy

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"sett/roles/cli/term"
	"sett/roles/cli/term/ttytest"
	"sett/roles/role"
)

func at(vars map[string]string, stderr any) *term.Terminal {
	e := role.Env{Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
	if w, ok := stderr.(*bytes.Buffer); ok {
		e.Stderr = w
	}
	t := term.New(e)
	return &t
}

// Elsewhere than on a terminal, each step is a line.
func TestImageLinesInAPipe(t *testing.T) {
	var out bytes.Buffer
	p := showImages(t.Context(), at(nil, &out))
	p.step("agent vet", "Step 1/2 : FROM x")
	p.step("agent vet", "Step 2/2 : RUN y\x1b[2J")
	p.end()
	if got := out.String(); got != "  agent vet: Step 1/2 : FROM x\n  agent vet: Step 2/2 : RUN y\\x1b[2J\n" {
		t.Errorf("said %q", got)
	}
}

// On a terminal each image has a line, which is redrawn in place and goes at the end.
func TestImageLinesOnATerminal(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	await := func(text string) {
		t.Helper()
		if err := master.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		for buf := make([]byte, 4096); !strings.Contains(seen.String(), text); {
			n, err := master.Read(buf)
			if err != nil {
				t.Fatalf("%v, after %q", err, seen.String())
			}
			seen.Write(buf[:n])
		}
	}
	glass := func() string {
		g := ttytest.NewGlass(40)
		_, _ = g.Write([]byte(strings.ReplaceAll(seen.String(), "\r\n", "\n")))
		return g.String()
	}
	on := at(nil, nil)
	on.Stderr = tty
	p := showImages(t.Context(), on)
	p.step("redis", "1 of 8 layers")
	p.step("agent vet", "Step 1/2 : FROM x")
	await("agent vet")
	p.step("agent vet", "Step 2/2 : RUN a long command that is cut")
	await("Step 2/2")
	if got := glass(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "redis (") || strings.Contains(got, "Step 1/2") {
		t.Errorf("shown\n%s", got)
	}
	p.end()
	if _, err := tty.WriteString("<end>"); err != nil {
		t.Fatal(err)
	}
	await("<end>")
	if got := glass(); got != "<end>" {
		t.Errorf("at the end\n%s", got)
	}
}

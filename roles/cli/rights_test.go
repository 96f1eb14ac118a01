package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// agree remembers the rights of the repository's sett.yml, as after a first sett up.
func agree(t *testing.T, e role.Env) {
	t.Helper()
	on := term.New(e)
	if err := instance.AgreeToOwn(instance.New(&on, instance.Flags{Directory: e.Args[1]})); err != nil {
		t.Fatal(err)
	}
}

// agree remembers the rights of the stage's sett.yml.
func (s *stage) agree() {
	s.t.Helper()
	on := term.New(s.world())
	s.Must(instance.AgreeToOwn(instance.New(&on, instance.Flags{Directory: s.root})))
}

// asked is a sett up on a terminal that asks for rights.
type asked struct {
	*testing.T
	e      role.Env
	dir    string // of the instance
	cancel context.CancelFunc
	typed  *os.File // the terminal's other end
	ended  chan error
}

// onQuestion runs a sett up until it has asked its question.
func onQuestion(t *testing.T) *asked {
	t.Helper()
	e, dir := workspace(t)
	if err := os.RemoveAll(filepath.Dir(dir)); err != nil { // what was agreed to
		t.Fatal(err)
	}
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = master.Close(), tty.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	a := &asked{T: t, e: e, dir: dir, cancel: cancel, typed: master, ended: make(chan error, 1)}
	e.Stdin, e.Stderr = tty, tty
	go func() {
		_, err := invoke(ctx, e, "up")
		a.ended <- err
	}()
	a.see("Agree, for this repository? [y/N] ")
	return a
}

// see reads the terminal until it has shown a text, and returns all of it.
func (a *asked) see(text string) string {
	a.Helper()
	if err := a.typed.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		a.Fatal(err)
	}
	var seen bytes.Buffer
	for buf := make([]byte, 512); !strings.Contains(seen.String(), text); {
		n, err := a.typed.Read(buf)
		if err != nil {
			a.Fatalf("%v, after %q", err, seen.String())
		}
		seen.Write(buf[:n])
	}
	return seen.String()
}

// answer types a line, and returns how the command ended.
func (a *asked) answer(line string) error {
	a.Helper()
	if _, err := a.typed.WriteString(line + "\n"); err != nil {
		a.Fatal(err)
	}
	return <-a.ended
}

// untouched fails the test if the command left anything in the state directory.
func (a *asked) untouched() {
	a.Helper()
	if instance.Exists(filepath.Dir(a.dir)) {
		a.Errorf("%s was made", filepath.Dir(a.dir))
	}
}

func TestUpAsksForRights(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	for _, line := range []string{"n", "", "yess", "j"} {
		a := onQuestion(t)
		err := a.answer(line)
		if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "sett.yml: its rights were not agreed to; nothing was done") {
			t.Errorf("%q: %v", line, err)
		}
		a.untouched()
	}
	a := onQuestion(t)
	if err := a.answer("y"); err != nil {
		t.Errorf("agreed: %v", err)
	}
	if _, err := invoke(t.Context(), a.e, "up"); err != nil {
		t.Errorf("again, without a terminal: %v", err)
	}
}

// Ctrl-C at the question leaves nothing behind.
func TestInterruptedQuestionForRights(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	a := onQuestion(t)
	a.cancel()
	if err := <-a.ended; role.CodeOf(err) != role.Interrupted {
		t.Errorf("interrupted: %v", err)
	}
	a.untouched()
}

// A sett.yml that changes while its rights are asked for is not the one that is started.
func TestChangeDuringTheQuestionForRights(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	a := onQuestion(t)
	rewrite(t, a.e, "runtime: process\nagents:\n  one: {command: [/bin/cat], environment: [HOME]}\n  two: {command: [/bin/cat]}\n")
	if err := a.answer("yes"); err != nil {
		t.Fatal(err)
	}
	var c config.Config
	if err := instance.ReadFile(filepath.Join(a.dir, "config.json"), &c); err != nil || len(c.Agents) != 1 || len(c.Agents[0].Environment) != 0 {
		t.Errorf("started with %+v, %v", c.Agents, err)
	}
	_, err := invoke(t.Context(), a.e, "up")
	if role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "\nagents.one.environment: gets this machine's variable HOME") || strings.Contains(err.Error(), "runtime:") {
		t.Errorf("the changed file: %v", err)
	}
}

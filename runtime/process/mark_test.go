//go:build linux

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"sett/runtime"
)

func TestMarkIsReadAsWritten(t *testing.T) {
	m := mark{"clan@12", "agent-a", "TOKEN", runtime.Labels{runtime.LabelInstance: "clan", runtime.LabelAgent: "a",
		runtime.LabelWorkspace: "/home/me/my repo=1\n%20/sett.agent=b"}}
	text := m.argument()
	if got, ok := readArgument(text); !ok || !reflect.DeepEqual(got, m) {
		t.Errorf("%q is read as %+v, %v", text, got, ok)
	}
	if strings.Count(text, " ") != 2+len(m.labels) || strings.Contains(text, "\n") {
		t.Errorf("the argument is %q", text)
	}
	for _, bad := range []string{
		"", "sett", "sett unit", "sett unit ", "sett unit clan@12/agent-a", "sett unit clan@12/agent-a/T/x", "sett unit /agent-a/T",
		"sett unit clan@12/../T", "sett unit clan@12/agent-a/", " " + text, text + " ", text + " sett.agent=b", text + " other=1",
		strings.Replace(text, "sett.agent=a", "sett.agent=%61", 1), "x" + text, strings.Replace(text, " sett.agent", "  sett.agent", 1),
	} {
		if got, ok := readArgument(bad); ok {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

// lose removes the state directory.
func lose(t *testing.T, r *Runtime) {
	t.Helper()
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
}

// Units whose state directory is gone are found by their processes' marks, and stopped
// with all that they started: the main process is asked first.
func TestLostStateDirectory(t *testing.T) {
	root := t.TempDir()
	r := newRuntime(t, filepath.Join(root, "clan"))
	other := newRuntime(t, filepath.Join(t.TempDir(), "clan")) // of another root
	s := spec("agent-a", "polite")
	s.Labels[runtime.LabelWorkspace] = "/home/me/repo"
	polite := pidOf(t, startUp(t, r, s))
	pid, children := family(t, r, "agent-b")
	hidden := pidOf(t, startUp(t, r, spec("agent-c", "hidden")))
	kept := pidOf(t, startUp(t, other, spec("agent-a", "wait")))
	log, err := os.Open(r.logs().Path("agent-a"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	lose(t, r)

	found, err := Instances(root)
	if err != nil || !reflect.DeepEqual(found, []Instance{{r.dir, "/home/me/repo"}}) {
		t.Errorf("found %+v, %v", found, err)
	}
	units, err := r.Strays(t.Context())
	if err != nil || len(units) != 3 || pidOf(t, units[0]) != polite || pidOf(t, units[1]) != pid || pidOf(t, units[2]) != hidden ||
		units[0].Labels[runtime.LabelAgent] != "agent-a" || !units[1].Running {
		t.Fatalf("strays %+v, %v", units, err)
	}
	if err := r.prepare(); err != nil { // as the lock does
		t.Fatal(err)
	}
	for _, u := range units {
		if err := r.Stop(t.Context(), u.Name, deadline/4); err != nil {
			t.Fatal(err)
		}
	}
	text := make([]byte, 16)
	if n, _ := log.Read(text); string(text[:n]) != "up\nbye\n" {
		t.Errorf("it was not asked to end: %q", text[:n])
	}
	for _, p := range append(children, pid, polite, hidden) {
		if !gone(p) {
			t.Errorf("process %d goes on", p)
		}
	}
	if gone(kept) {
		t.Error("another instance was stopped")
	}
	if found, err := Instances(root); err != nil || len(found) != 0 {
		t.Errorf("left: %+v, %v", found, err)
	}
}

// A process that hides its environment is found by its arguments. One that only copies
// them is none of the unit's: neither it nor its mark ends others.
func TestMainProcessIsFoundByItsArguments(t *testing.T) {
	root := t.TempDir()
	r := newRuntime(t, filepath.Join(root, "clan"))
	first := mark{r.instance, "agent-a", "TOKEN", runtime.Labels{runtime.LabelAgent: "a"}}.argument()
	run := func(program string, session bool, args ...string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command(program)
		cmd.Args, cmd.Env, cmd.SysProcAttr = args, []string{helperEnv + "=1"}, &syscall.SysProcAttr{Setsid: session}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		return cmd
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	innocent := []*exec.Cmd{
		run(sleep, true, first, "1000"),              // another program
		run(os.Args[0], false, first, "wait"),        // leads no session
		run(os.Args[0], true, "x", "wait", first),    // not its first argument
		run(os.Args[0], true, first+" more", "wait"), // not exactly
		run(os.Args[0], true, "see "+first, "wait"),  // not from its beginning
	}
	if units, err := r.Strays(t.Context()); err != nil || len(units) != 0 {
		t.Fatalf("strays %+v, %v", units, err)
	}
	unit := run(os.Args[0], true, first, "wait")
	units, err := r.Strays(t.Context())
	if err != nil || len(units) != 1 || pidOf(t, units[0]) != unit.Process.Pid {
		t.Fatalf("strays %+v, %v", units, err)
	}
	start(t, r, spec("agent-a", "wait")) // ends the one before
	if !gone(unit.Process.Pid) {
		t.Error("the unit of before goes on beside the new one")
	}
	if err := r.Stop(t.Context(), "agent-a", 0); err != nil {
		t.Fatal(err)
	}
	for i, cmd := range innocent {
		if gone(cmd.Process.Pid) {
			t.Errorf("process %d was ended", i)
		}
	}
}

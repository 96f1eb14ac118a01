package process

import (
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// A record of another PID namespace, as of a container with the same home, names no process
// here, though its number, start and boot fit. One of this namespace, or of a sett that wrote
// none, does.
func TestRecordOfAnotherNamespace(t *testing.T) {
	child := exec.Command(os.Args[0], "wait")
	child.Env = []string{helperEnv + "=1"}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	now, err := identify(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for namespace, runs := range map[string]bool{"": true, pidNamespace(): true, "pid:[1]": false} {
		r := newRuntime(t, stateDir(t))
		if err := r.prepare(); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(record{ident: now, Namespace: namespace, Name: "x", Token: "t"})
		if err == nil {
			err = os.WriteFile(r.recordPath("x"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		units, err := r.List(t.Context(), nil)
		if err != nil || len(units) != 1 || units[0].Running != runs {
			t.Errorf("in namespace %q: listed %+v, %v", namespace, units, err)
		}
		if elsewhere, err := r.StartedElsewhere(); err != nil || elsewhere == runs {
			t.Errorf("in namespace %q: started elsewhere: %t, %v", namespace, elsewhere, err)
		}
		if runs {
			continue
		}
		if err := r.Stop(t.Context(), "x", 0); err != nil {
			t.Error(err)
		}
		if !alive(now) {
			t.Error("a process of this namespace was killed")
		}
	}
	r := newRuntime(t, stateDir(t))
	start(t, r, spec("y", "wait"))
	rec, err := r.readRecord("y")
	if err != nil || rec.Namespace != pidNamespace() || rec.Namespace == "" {
		t.Errorf("recorded %+v, %v", rec, err)
	}
}

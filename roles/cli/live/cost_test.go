package live

import (
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/view"
)

// TestRedrawCost: ten minutes of a busy goal, redrawn four times a second with other ages,
// take less than a hundredth of one core.
func TestRedrawCost(t *testing.T) {
	const span, every = 10 * time.Minute, 250 * time.Millisecond
	s := NewScreen(io.Discard, false)
	s.size = func() (int, int) { return 120, 50 }
	w := Work{Said: func(agent, _ string) string {
		return agent + " says something at some length, as compilers do, again and again"
	}}
	for i := range 2 * mostBottom {
		w.Waits = append(w.Waits, view.Wait{What: blackboard.WaitResult, Agent: fmt.Sprintf("agent-%d", i), SubjectID: "01M7YNZ5D8A0Q8ZK2JC3VFY545"})
	}
	begun := cpu(t)
	for at := time.Duration(0); at < span; at += every {
		if err := s.Bottom(w.Bottom(w.Read.Add(at)), func(s string, _ term.Style) string { return s }); err != nil {
			t.Fatal(err)
		}
	}
	if took := cpu(t) - begun; took > span/100 {
		t.Errorf("%d frames took %s of a core", span/every, took)
	} else {
		t.Logf("%d frames took %s of a core, %.4f %%", span/every, took, 100*took.Seconds()/span.Seconds())
	}
}

// cpu is the processor time of this process until now.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

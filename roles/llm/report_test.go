package llm

import (
	"testing"

	"sett/blackboard"
	"sett/roles/cub/toolrun"
)

// TestReportOfMemory: a model is told that memory ran out, also where its program reports another error.
func TestReportOfMemory(t *testing.T) {
	got := new(loop).report(toolrun.Result{ExitCode: 2, MemoryKill: blackboard.KilledBeside})
	if want := "Exit code 2.\nOut of memory: a process of the program or beside it was killed meanwhile.\n"; got != want {
		t.Errorf("got %q", got)
	}
}

package supervisor

import (
	"testing"

	"sett/runtime"
)

func TestSignalOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"signal: killed": "SIGKILL", "silent for 30s: signal: terminated": "SIGTERM", "signal: aborted (core dumped)": "SIGABRT",
		"signal: segmentation fault: no space": "SIGSEGV", "exit status 137": "", "signal: no such": "", "": "",
	} {
		if got := signalOf(runtime.Exit{Text: text}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

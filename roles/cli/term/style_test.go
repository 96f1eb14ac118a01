package term

import (
	"bytes"
	"os"
	"testing"

	"sett/roles/role"
)

func TestColoured(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	for _, tc := range []struct {
		choice             string
		vars               map[string]string
		terminal, anywhere bool
	}{
		{"auto", nil, true, false},
		{"auto", map[string]string{"TERM": "dumb"}, false, false},
		{"auto", map[string]string{"NO_COLOR": "1"}, false, false},
		{"auto", map[string]string{"FORCE_COLOR": "1"}, true, true},
		{"auto", map[string]string{"FORCE_COLOR": "1", "TERM": "dumb"}, true, true},
		{"auto", map[string]string{"FORCE_COLOR": "0"}, true, false},
		{"auto", map[string]string{"FORCE_COLOR": "1", "NO_COLOR": "1"}, false, false},
		{"always", map[string]string{"NO_COLOR": "1"}, true, true},
		{"never", map[string]string{"FORCE_COLOR": "1"}, false, false},
	} {
		e := role.Env{Lookup: func(name string) (string, bool) { v, ok := tc.vars[name]; return v, ok }}
		if got := Coloured(e, tc.choice, tty); got != tc.terminal {
			t.Errorf("%s with %v on a terminal: %t", tc.choice, tc.vars, got)
		}
		if got := Coloured(e, tc.choice, new(bytes.Buffer)); got != tc.anywhere {
			t.Errorf("%s with %v elsewhere: %t", tc.choice, tc.vars, got)
		}
	}
}

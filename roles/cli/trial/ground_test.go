package trial

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"sett/roles/role"
)

// A disk that is full for a trial's directory has its hint.
func TestNoGround(t *testing.T) {
	err := noGround(&Trial{Below: "/below"}, &os.PathError{Op: "mkdir", Path: "/below/x", Err: syscall.ENOSPC})
	var said *role.Error
	if !errors.As(err, &said) || said.Code != role.Environment || !strings.Contains(said.Hint, "make room below /below") {
		t.Errorf("%v", err)
	}
}

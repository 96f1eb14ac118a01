package deploy

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"sett/roles/cli/instance"
	"sett/roles/role"
)

// TestNoRoom: a full disk is the environment's fault, wherever it is noticed.
func TestNoRoom(t *testing.T) {
	u := &upRun{job: job{in: &instance.Instance{Dir: "/state"}}}
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := u.explain(t.Context(), fmt.Errorf("start keeper: %w", &os.PathError{Op: "write", Path: "/x", Err: cause}))
		if role.CodeOf(err) != role.Environment {
			t.Errorf("%v: exit code %d", err, role.CodeOf(err))
		}
	}
}

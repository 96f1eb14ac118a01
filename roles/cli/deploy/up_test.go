package deploy

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"sett/blackboard"
	"sett/contract/config"
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

// TestNoWrites: an up whose blackboard refuses writes has stopped what it started, so that nothing goes on by itself.
func TestNoWrites(t *testing.T) {
	for action, want := range map[string]string{ActionStart: "Free some room, then sett up", actionApply: "the work goes on by itself"} {
		u := &upRun{job: job{in: &instance.Instance{Dir: "/state"}, plan: &Plan{Action: action}}}
		refusal := &blackboard.NoWritesError{Why: "MISCONF the write was refused, disk: write log.2: no space left on device"}
		err := u.explain(t.Context(), role.Fail(role.Environment, fmt.Errorf("convert: %w", refusal), ""))
		if got := refusal.Remedy(); err == nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v: %s", action, err, got)
		}
	}
}

// No address of a Redis URL may be a container itself.
func TestRedisOnLoopback(t *testing.T) {
	for url, fine := range map[string]bool{
		"redis://db": true, "redis://db?addr=db2:6379&addr=db3": true, "redis://localhost:6379": false,
		"redis://db?addr=127.0.0.1:6379": false, "redis://db?addr=db2&addr=localhost&master_set=m": false,
	} {
		c := new(config.Config)
		c.Redis.URL = url
		err := Reachable(endpoint{Socket: "/run/engine.sock"}, c)
		if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "the container itself") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

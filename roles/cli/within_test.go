package cli

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// A blackboard that says nothing does not keep a command beyond its time.
func TestTimeoutsHoldWithoutBlackboard(t *testing.T) {
	s := newStage(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	s.Must(err)
	defer func() { _ = silent.Close() }()
	in := &instance.Instance{Dir: filepath.Join(s.home, "sett", "stage"), State: instance.State{
		Name: "stage", Workspace: s.root, Runtime: config.RuntimeProcess, URL: "redis://" + silent.Addr().String(), External: true,
	}}
	s.Must(in.Save())
	for _, args := range []string{"wait @last --timeout 300ms", "questions --wait --timeout 300ms"} {
		begun := time.Now()
		s.refuses(role.TimedOut, "300ms was not enough: the blackboard does not answer", strings.Fields(args)...)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s took %s", args, took)
		}
	}
}

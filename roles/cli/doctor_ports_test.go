package cli

import (
	"net"
	"net/url"
	"testing"

	"sett/roles/cli/doctor"
	"sett/roles/cli/instance"
)

// TestDoctorAsStarted: an instance is judged by where it was started, where sett.yml does
// not say it; and the port that its blackboard had is another's once that has taken it.
func TestDoctorAsStarted(t *testing.T) {
	t.Parallel()
	e, dir := workspace(t)
	e = with(e, "DOCKER_HOST", "unix:///nonexistent")
	rewrite(t, e, "agents:\n  one:\n    command: [/bin/cat]\n")
	do := func(args ...string) {
		t.Helper()
		if _, err := invoke(t.Context(), e, args...); err != nil {
			t.Fatal(err)
		}
	}
	do("up", "--runtime", "process")
	in, err := instance.LoadInstance(dir)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(in.URL)
	if err != nil {
		t.Fatal(err)
	}
	fs := doctored(t, e)
	fs.expect(t, "configuration", "", doctor.OK, "1 agent, runtime process", "")
	fs.expect(t, "engine", "", doctor.Skipped, "none is needed with runtime process", "")
	fs.expect(t, "ports", at.Port(), doctor.OK, "in use: by the blackboard of "+in.Name, "")
	do("down")
	l, err := net.Listen("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	doctored(t, e).expect(t, "ports", at.Port(), doctor.OK, "in use: by another program; sett up takes another port", "")
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/cli/instance"
	"sett/roles/role"
)

// down --purge removes an instance's keys from a Redis of the user's own, and only them; a server that is gone keeps nobody
// from removing the rest, but on request, or where the instance never was up: without its state nobody could remove them.
func TestPurgeOfSharedRedis(t *testing.T) {
	for _, gone := range []bool{false, true} {
		t.Run(map[bool]string{false: "there", true: "gone"}[gone], func(t *testing.T) {
			s := newStage(t)
			s.Goal("g")
			s.change(func(in *instance.State) { in.UpAt = "redis " + s.Server.Addr() })
			client := s.board.Conn().Client
			s.Must(client.Do(t.Context(), client.B().Set().Key("sett:{stage2}:x").Value("1").Build()).Error())
			if gone {
				s.Server.Kill()
			}
			args := []string{"down", "--purge", "--yes"}
			if gone {
				_, stderr, err := s.run(args...)
				if role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "nothing was stopped or removed") ||
					!strings.Contains(hint(err), "--leave-records") {
					t.Errorf("%v %s\n%s", err, hint(err), stderr)
				}
				if _, err := os.Stat(filepath.Join(s.dir(), "instance.json")); err != nil {
					t.Error(err)
				}
				args = append(args, "--leave-records")
			}
			stdout, stderr, err := s.run(args...)
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			if _, err := os.Stat(filepath.Join(s.home, "sett", "stage")); !os.IsNotExist(err) {
				t.Errorf("the instance's directory: %v", err)
			}
			if gone {
				has(t, stderr, "its records stay on redis://", "sett:{stage}")
				return
			}
			has(t, stdout, "keys of stage from redis://", "removed what was kept of stage")
			keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
			if got := strings.Join(keys, " "); err != nil || got != "sett:{stage2}:x" {
				t.Errorf("left: %s %v", got, err)
			}
		})
	}
}

// A server that refuses the login keeps a purge from ending well; the next one goes on once the login is right. Records of an
// instance that never was up are nobody's loss.
func TestPurgeWithoutLogin(t *testing.T) {
	s := newStage(t, "--save", "")
	s.Goal("g")
	right := s.Server.URL
	wrong := strings.Replace(right, "://", "://nobody:x@", 1)
	s.change(func(in *instance.State) { in.UpAt, in.URL = "redis "+s.Server.Addr(), wrong })
	_, _, err := s.run("down", "--purge", "--yes")
	if role.CodeOf(err) != role.Environment || !strings.Contains(hint(err), "sett up with the login that is right now") {
		t.Errorf("%v %s", err, hint(err))
	}
	s.refuses(role.Usage, "--leave-records says what --purge leaves alone", "down", "--leave-records")
	s.change(func(in *instance.State) { in.URL = right })
	stdout, _, err := s.run("down", "--purge", "--yes")
	s.Must(err)
	has(t, stdout, "keys of stage from redis://")

	s = setStage(t)
	s.change(func(in *instance.State) { in.URL = wrong })
	_, stderr, err := s.run("down", "--purge", "--yes")
	s.Must(err)
	has(t, stderr, "its records stay on redis://")
}

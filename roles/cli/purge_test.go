package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// down --purge removes an instance's keys from a Redis of the user's own, and only them;
// a server that is gone keeps nobody from removing the rest.
func TestPurgeOfSharedRedis(t *testing.T) {
	for _, gone := range []bool{false, true} {
		t.Run(map[bool]string{false: "there", true: "gone"}[gone], func(t *testing.T) {
			s := newStage(t)
			s.Goal("g")
			client := s.board.Conn().Client
			s.Must(client.Do(t.Context(), client.B().Set().Key("sett:{stage2}:x").Value("1").Build()).Error())
			if gone {
				s.Server.Kill()
			}
			stdout, stderr, err := s.run("down", "--purge", "--yes")
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			if _, err := os.Stat(filepath.Join(s.home, "sett", "stage")); !os.IsNotExist(err) {
				t.Errorf("the instance's directory: %v", err)
			}
			if gone {
				has(t, stderr, "its records stay on redis://", "sett:{stage}:")
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

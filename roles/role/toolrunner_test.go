//go:build linux

package role

import "testing"

func TestToolRunnerOf(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"cub", []string{"/opt/sett", "cub", "--standby"}},
		{"cub", []string{"/usr/local/bin/cub"}},
		{"notifier", []string{"anything", "notifier"}},
		{"sett try", []string{"bin/sett", "-C", "/tmp", "try", "writer"}},
		{"", []string{"sett", "up"}},
		{"", []string{"vim", "-p", "cub"}},
		{"", []string{"bash", "-c", "try"}},
		{"", []string{""}},
	} {
		if got := toolRunnerOf(c.args); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

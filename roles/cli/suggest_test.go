package cli

import "testing"

func TestShellWord(t *testing.T) {
	for path, want := range map[string]string{
		"/home/me/my-project": "/home/me/my-project",
		"/home/me/my project": "'/home/me/my project'",
		"/it's/$HOME":         `'/it'\''s/$HOME'`,
		"":                    "''",
	} {
		if got := shellWord(path); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
}

package redistest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestUnreached: the reason of a test that needs the engine has one cause, and the command that helps.
func TestUnreached(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), nil, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("DOCKER", "")
	for _, c := range []struct{ path, err, want string }{
		{dir, "engine does not answer: permission denied\nDOCKER_HOST is not set\nDOCKER_CONTEXT is not set",
			"no container engine: engine does not answer: permission denied\nhint: sudo usermod -aG docker $USER, then log in again"},
		{dir, "there is no such socket", "no container engine: there is no such socket\nhint: sudo systemctl start docker; DOCKER_HOST says where another engine is"},
		{t.TempDir(), "there is no such socket", "no container engine: there is no such socket\nhint: sudo apt-get install docker.io"},
	} {
		t.Setenv("PATH", c.path)
		if got := Unreached(errors.New(c.err)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/role"
)

// A bare repository has no working tree: no command takes it for a directory without git,
// and sett init writes nothing between its refs.
func TestBareRepository(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "clan.git")
	if out, err := exec.Command("git", "init", "-q", "--bare", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before, err := os.ReadDir(repo)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	e := role.OS(nil, role.Build{})
	e.Stdin, e.Stderr = strings.NewReader(""), io.Discard
	e.Lookup = func(name string) (string, bool) {
		if name == "HOME" {
			return home, true
		}
		return "", false
	}
	for _, dir := range []string{repo, filepath.Join(repo, "refs")} {
		for command, code := range map[string]role.Code{"init": role.Usage, "up": role.Usage, "forage x": role.NotFound} {
			e.Args = []string{"-C", dir}
			_, err := invoke(t.Context(), e, strings.Fields(command)...)
			if role.CodeOf(err) != code || !strings.Contains(err.Error(), "clan.git is a bare git repository") {
				t.Errorf("sett %s in %s: %v", command, dir, err)
			}
			if fault := (*role.Error)(nil); !errors.As(err, &fault) || fault.Hint != "work in a clone of it: git clone "+repo {
				t.Errorf("sett %s in %s has the hint %q", command, dir, fault.Hint)
			}
		}
	}
	if after, err := os.ReadDir(repo); err != nil || len(after) != len(before) {
		t.Errorf("%d entries, %d before: %v", len(after), len(before), err)
	}
}

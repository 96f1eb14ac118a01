package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sett/contract/config"
)

// sett up reads plain files of the repository alone, of a bounded size, and waits for none.
func TestCopiedFiles(t *testing.T) {
	t.Parallel()
	root, out := t.TempDir(), t.TempDir()
	file := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	file(filepath.Join(root, "env"), "A=1\n", 0o600)
	file(filepath.Join(root, "run"), "#!/bin/sh\n", 0o700)
	file(filepath.Join(out, "secret"), "s", 0o600)
	file(filepath.Join(root, "large"), strings.Repeat("x", mostCopied), 0o600)
	for name, to := range map[string]string{"link": filepath.Join(out, "secret"), "folder": out, "up": "../" + filepath.Base(out) + "/secret", "within": "env"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	look := func(files ...string) (care, error) {
		return lookAtCare(&config.Config{Agents: []config.Agent{{Name: "plain"}, {Name: "a", Workspace: config.Workspace{Copy: files}}}}, root)
	}
	c, err := look("env", "run", "within")
	if err != nil || len(c.of) != 1 || string(c.files["env"].Text) != "A=1\n" || c.files["env"].Executable || !c.files["run"].Executable || string(c.files["within"].Text) != "A=1\n" {
		t.Errorf("%+v %v", c, err)
	}
	for want, files := range map[string][]string{
		"no such file": {"nowhere"}, "leads out": {"link"}, "leads out ": {"folder/secret"}, "leads out  ": {"up"}, "regular file": {"pipe"}, "regular file ": {"."}, "16 MiB": {"env", "large"},
	} {
		if _, err := look(files...); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%q: %v, want %q", files, err, want)
		}
	}
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlainGit: tests do not see what a person told git, but for the directories that are safe.
func TestPlainGit(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	text := "[core]\n\thooksPath = /hooks\n[init]\n\tdefaultBranch = trunk\n[commit]\n\tgpgsign = true\n[safe]\n\tdirectory = /a b\n\tdirectory = *\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"), "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_CONFIG_NOSYSTEM": ""} {
		t.Setenv(name, value) // and gives back what plainGit sets
	}
	if err := plainGit(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--list")
	cmd.Dir = home
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "safe.directory=/a b\nsafe.directory=*" {
		t.Errorf("git sees %q, %v", got, err)
	}
}

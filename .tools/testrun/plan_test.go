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

// sharing is a program without a data race that has its packages share what they make once.
const sharing = `package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"sync"
)

func main() {
	for i := range 300 {
		of := reflect.StructOf([]reflect.StructField{{Name: fmt.Sprint("A", i), Type: reflect.TypeFor[map[string]int]()}, {Name: "B", Type: reflect.TypeFor[[]string]()}})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				v := reflect.New(of).Interface()
				text, err := json.Marshal(v)
				if err == nil {
					err = json.Unmarshal(text, v)
				}
				if err != nil || !regexp.MustCompile("\\p{Uppercase_Letter}\\pL").MatchString("AB") {
					panic(err)
				}
			})
		}
		all.Wait()
	}
}
`

// TestRaceIsOne: a run reports no data race where there is none.
func TestRaceIsOne(t *testing.T) {
	if !hasCompiler() {
		t.Skip("the race detector needs a C compiler")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module sharing\n\ngo 1.26\n", "main.go": sharing} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := goCommand(true, append(append([]string{"run"}, race...), ".")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

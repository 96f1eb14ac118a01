package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/roles/role/persontest"
)

// changedFile is where, below HOME, a script's commands say that one of them changed the person's
// repository. The script fails then.
const changedFile = ".changed"

// lookAtMine compares the repository around the working directory before and after a command of sett,
// and so while agents are at work, unless the command is one that writes there as it says, or one
// that a script runs beside others of its own.
func lookAtMine(args []string) (compare func()) {
	beside := slices.ContainsFunc(args, func(a string) bool { return slices.Contains([]string{"watch", "logs", "demo"}, a) })
	dir, err := os.Getwd()
	if home := os.Getenv("HOME"); err != nil || beside || persontest.Writes(args) || !strings.HasPrefix(filepath.Clean(home), os.TempDir()) {
		return func() {}
	}
	was, err := persontest.Around(dir)
	return func() {
		var changes []string
		if err == nil {
			changes, err = was.Changes(func(path string) bool { return filepath.Base(path) == changedFile })
		}
		if err != nil {
			changes = append(changes, err.Error())
		}
		if len(changes) > 0 {
			said := fmt.Sprintf("sett %q changed the person's repository:\n%s\n", args, strings.Join(changes, "\n"))
			_ = os.WriteFile(filepath.Join(os.Getenv("HOME"), changedFile), []byte(said), 0o600)
		}
	}
}

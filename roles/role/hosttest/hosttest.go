// Package hosttest makes tests the same for every person on every machine: whether root runs them or
// an ordinary user, and with any settings of git.
package hosttest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Removable gives the rights in a directory of a test back when the test ends. Root removes a directory that
// nobody may write or read; for an ordinary user, testing's own removal fails. The directory is below a
// TempDir that the test has had before.
func Removable(tb testing.TB, dir string) {
	tb.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() { // it is read after this
				_ = os.Chmod(path, 0o700) //nolint:gosec // a directory
			}
			return nil
		})
	})
}

// PlainGit takes the person's settings of git away from this process and all that it starts: hooks, signatures, the
// first branch, ends of lines. A test of such settings sets its own. TestMain calls it in packages with
// tests that type git; testrun does the same for all.
func PlainGit() {
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}

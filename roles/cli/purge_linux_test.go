package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sett/roles/cli/instance"
	"sett/roles/role"
)

// TestPurgeIsRepeated: what cannot be removed is named, with the command that can, and the instance is known until all of it is gone.
func TestPurgeIsRepeated(t *testing.T) {
	for dir, tc := range map[string]struct{ text, left string }{
		"trees/coder/tree/target": {"its ledger and its store are still there", "store"}, "store/info": {"all else of it is gone", "instance.json"},
	} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			s := newStage(t)
			own := filepath.Join(s.home, "sett", "stage")
			at := filepath.Join(own, filepath.FromSlash(dir))
			s.Must(os.MkdirAll(at, 0o700))
			if err := unix.Mount("sett-test", at, "tmpfs", 0, "size=64k"); err != nil {
				t.Skipf("this machine lets the test mount nothing: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(at, 0) })
			for range 2 {
				var no *role.Error
				if _, _, err := s.run("down", "--purge", "--yes"); !errors.As(err, &no) {
					t.Fatal(err)
				}
				has(t, no.Error()+"; "+no.Hint, "remove instance stage: ", "something is mounted there; "+tc.text, "umount "+at+" && rm -rf "+own+"/", "; then the same command again")
				if no.Code != role.Failed || !instance.Exists(filepath.Join(own, tc.left)) {
					t.Errorf("it ends with %d; %s is gone", no.Code, tc.left)
				}
				all, _, err := s.run("list", "--all")
				s.Must(err)
				has(t, all, "stage")
			}
			s.Must(unix.Unmount(at, 0))
			_, _, err := s.run("down", "--purge", "--yes")
			s.Must(err)
			if instance.Exists(own) {
				t.Error("the directory stays")
			}
		})
	}
}

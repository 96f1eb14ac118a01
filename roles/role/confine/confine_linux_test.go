package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSay(t *testing.T) {
	for level, want := range map[int]string{
		0: "nothing keeps tools", 1: "(Landlock 1); it cannot refuse emptying a file with truncate, control calls to devices, signals to other processes",
		3: "(Landlock 3); it cannot refuse control calls to devices, signals to other processes", 5: "(Landlock 5); it cannot refuse signals to other processes",
	} {
		if got := Say(level); !strings.Contains(got, want) {
			t.Errorf("%d: %s", level, got)
		}
	}
	if got := Say(7); strings.Contains(got, "cannot") {
		t.Errorf("7: %s", got)
	}
}

// An older kernel refuses a set with rights that it does not know.
func TestRightsOfALevel(t *testing.T) {
	if r := rightsOf(1, false); r.directories&unix.LANDLOCK_ACCESS_FS_REFER != 0 || r.files != unix.LANDLOCK_ACCESS_FS_WRITE_FILE || r.read != 0 || r.scopes != 0 {
		t.Errorf("1: %+v", r)
	}
	if r := rightsOf(3, true); r.files&unix.LANDLOCK_ACCESS_FS_TRUNCATE == 0 || r.files&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV != 0 || r.read != unix.LANDLOCK_ACCESS_FS_READ_FILE {
		t.Errorf("3: %+v", r)
	}
	for level := 1; level <= Level(); level++ {
		set, err := Rules{Write: []string{t.TempDir()}, Hide: t.TempDir()}.set(level)
		if err != nil {
			t.Errorf("level %d on this kernel: %v", level, err)
			continue
		}
		_ = unix.Close(set.fd)
	}
}

func TestReal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"link": dir, "link/missing/too": filepath.Join(dir, "missing/too")} {
		if got, err := resolved(filepath.Join(dir, path)); got != want || err != nil {
			t.Errorf("%s: %s %v, want %s", path, got, err, want)
		}
	}
}

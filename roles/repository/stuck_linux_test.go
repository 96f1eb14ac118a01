package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// TestStuckTree: files that cannot be removed keep no agent waiting. The log names them, and the command that removes them; they
// are removed as soon as that is possible.
func TestStuckTree(t *testing.T) {
	p := newPlace(t)
	p.heard = make(chan string, 100)
	p.start()
	if _, err := p.client.Prepare(t.Context(), line.Prepare{Grant: first("one"), Goal: "goal"}); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(p.tree("writer"), "target", "sub")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("sett-test", at, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("this machine lets the test mount nothing: %v", err)
	}
	aside := filepath.Join(p.treesDir(), "writer", "stuck-1")
	t.Cleanup(func() {
		_ = unix.Unmount(at, 0)
		_ = unix.Unmount(filepath.Join(aside, "target", "sub"), 0)
	})
	if _, err := p.client.Settle(t.Context(), line.Settle{Grant: first("one")}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.client.Prepare(t.Context(), line.Prepare{Grant: first("two"), Goal: "goal"}); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, p.tree("writer"), "git status --porcelain; ls"); got != "d" {
		t.Errorf("the next grant finds %q", got)
	}
	p.hears(t, "set aside", aside, "umount "+aside+"/target/sub && ")
	if err := unix.Unmount(filepath.Join(aside, "target", "sub"), 0); err != nil {
		t.Fatal(err)
	}
	p.hears(t, "removed the files that were set aside", aside)
	if left := store.StuckIn(filepath.Dir(aside)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// hears waits for a line of the log with these texts.
func (p *place) hears(t *testing.T, texts ...string) {
	t.Helper()
	plain := strings.NewReplacer(`\u0026`, "&")
next:
	for {
		select {
		case said := <-p.heard:
			for _, text := range texts {
				if !strings.Contains(plain.Replace(said), text) {
					continue next
				}
			}
			return
		case <-time.After(time.Minute):
			t.Fatalf("the log never said %v", texts)
		}
	}
}

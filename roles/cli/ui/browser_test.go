package ui

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The desktop is given a file that its user alone can read, and no token; the file goes
// when the page has been opened.
func TestOpener(t *testing.T) {
	s, dir := newSite(t, says), t.TempDir()
	program := filepath.Join(dir, "open")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" > \"$0.part\"\nmv \"$0.part\" \"$0.args\"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	address, err := s.Address("7XK2ABCD")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sett-badgers-4321.html")
	if err := os.WriteFile(path, []byte("left by a server that was killed"), 0o644); err != nil { //nolint:gosec // too open
		t.Fatal(err)
	}
	remove, err := Opener{program, dir}.Open(s.Server, address)
	if err != nil {
		t.Fatal(err)
	}
	var args []byte
	for end := time.Now().Add(time.Minute); len(args) == 0; time.Sleep(time.Millisecond) {
		if args, err = os.ReadFile(program + ".args"); time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if string(args) != path+"\n" {
		t.Errorf("it was asked to open %s", args)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	text, err := os.ReadFile(path)
	if want := `content="0; url=` + strings.ReplaceAll(address, "&", "&amp;") + `"`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	s.ask("GET", "/ui/?token=wrong", "")
	if _, err := os.Stat(path); err != nil {
		t.Errorf("after a wrong token: %v", err)
	}
	s.ask("GET", strings.TrimPrefix(address, "http://127.0.0.1:4321"), "")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the page was opened: %v", err)
	}
	remove() // again
}

// A browser in a snap reads the user's directory alone.
func TestOpenerDir(t *testing.T) {
	home := t.TempDir()
	if got := OpenerDir("/instance", home); got != "/instance" {
		t.Error(got)
	}
	if err := os.Mkdir(filepath.Join(home, "snap"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := OpenerDir("/instance", home); got != home {
		t.Error(got)
	}
	if got := OpenerDir("/instance", ""); got != "/instance" {
		t.Error(got)
	}
}

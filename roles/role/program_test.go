package role

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What keeps a script from running is named before it runs.
func TestRunnable(t *testing.T) {
	root := t.TempDir()
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"sound":            {"#!/bin/sh\necho hi\n", 0o755, ""},
		"with an option":   {"#! /bin/sh -eu\n", 0o755, ""},
		"without end":      {"#!/bin/sh", 0o755, ""},
		"by env":           {"#!/usr/bin/env sh\n", 0o755, ""},
		"by env and -S":    {"#!/usr/bin/env -S A=b sh -e\n", 0o755, ""},
		"no script":        {"\x7fELF", 0o755, ""},
		"empty":            {"", 0o755, ""},
		"unreadable":       {"#!/bin/sh\n", 0o111, ""},
		"not executable":   {"#!/bin/sh\n", 0o644, "permission denied"},
		"of Windows":       {"#!/bin/sh\r\necho hi\r\n", 0o755, `its lines end as on Windows, and no program is called "sh\r"; to mend it for good: echo 'program text eol=lf' >>.gitattributes && sed -i 's/\r$//' ./program, and commit both`},
		"no interpreter":   {"#!/opt/no-such/python9\n", 0o755, "its interpreter /opt/no-such/python9 is not here"},
		"env without it":   {"#!/usr/bin/env -S no-such-python9 -u\n", 0o755, "its interpreter no-such-python9 is not in the PATH"},
		"a folder":         {"#!/usr\n", 0o755, "its interpreter /usr is not here"},
		"nothing named":    {"#!\n", 0o755, "its first line #! names no interpreter"},
		"long first lines": {"#!/bin/sh " + strings.Repeat("x", 500) + "\n", 0o755, ""},
	} {
		file := filepath.Join(root, "program")
		_ = os.Remove(file)
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.mode); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Runnable("./program", root); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	pipe := filepath.Join(root, "pipe")
	if err := syscall.Mkfifo(pipe, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Runnable(pipe, root); err == nil || err.Error() != "not a regular file" { // opening it would never end
		t.Errorf("a pipe: %v", err)
	}
	if err := Runnable("no-such-program-9", root); err == nil {
		t.Error("a program that is nowhere can be run")
	}
}

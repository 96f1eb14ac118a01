package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// adopt makes this process the parent of those below it whose own parent has ended.
func adopt() error {
	const setChildSubreaper = 36
	if _, _, code := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); code != 0 {
		return code
	}
	return nil
}

// processes lists all that live, without those that have ended and wait for their parents.
func processes() (all []process) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// 12 (a name) S 1 12: the name may have anything in it.
		open, shut := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
		if open < 0 || shut < open {
			continue
		}
		rest := strings.Fields(string(text[shut+1:]))
		if len(rest) < 3 || rest[0] == "Z" || rest[0] == "X" {
			continue
		}
		p := process{name: string(text[open+1 : shut])}
		p.pid, _ = strconv.Atoi(strings.TrimSpace(string(text[:open])))
		p.parent, _ = strconv.Atoi(rest[1])
		p.group, _ = strconv.Atoi(rest[2])
		all = append(all, p)
	}
	return all
}

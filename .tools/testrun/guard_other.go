//go:build !linux

package main

import (
	"os/exec"
	"strconv"
	"strings"
)

// adopt does nothing: only Linux has processes that adopt.
func adopt() error { return nil }

// processes lists all that live.
func processes() (all []process) {
	text, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=,pgid=,comm=").Output() // the guard waits for all, and may take its end
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] == "ps" {
			continue
		}
		p := process{name: f[3]}
		p.pid, _ = strconv.Atoi(f[0])
		p.parent, _ = strconv.Atoi(f[1])
		p.group, _ = strconv.Atoi(f[2])
		all = append(all, p)
	}
	return all
}

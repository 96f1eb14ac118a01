package role

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// toolRunner returns the nearest process above this one that runs tools, with the name
// of its role or command. Such a process is the parent of its tools' orphans too, so no tool leaves it
// by a double fork, by a session of its own or with another environment.
//
// It reads /proc/self, not the number of this process, which is another one in a
// namespace of its own. Process 1 of a container is no such process: a person who works
// inside an agent's container is a person there.
func toolRunner() (pid int, name string, found bool) {
	parent, err := parentOf("self")
	for ; err == nil && parent > 1; parent, err = parentOf(strconv.Itoa(parent)) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(parent) + "/cmdline")
		if err != nil {
			continue
		}
		args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if name := toolRunnerOf(args); name != "" {
			return parent, name, true
		}
	}
	return 0, "", false
}

// toolRunnerOf returns the role or the command of a process with these arguments, if it
// runs tools; else nothing.
func toolRunnerOf(args []string) string {
	switch name := filepath.Base(args[0]); {
	case name == "cub":
		return name
	case len(args) > 1 && (args[1] == "cub" || args[1] == "notifier"):
		return args[1]
	case name == "sett" && slices.Contains(args, "try"):
		return "sett try"
	}
	return ""
}

// parentOf returns the number of a process's parent; 0: it has none that can be seen.
func parentOf(pid string) (int, error) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, err
	}
	// The name in parentheses may contain anything; state and parent follow it.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, errors.New("read process: unknown form")
	}
	return strconv.Atoi(string(fields[1]))
}

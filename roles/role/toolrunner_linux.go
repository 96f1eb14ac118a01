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

// toolRunner returns the nearest process above this one that runs tools, with its
// arguments. Such a process is the parent of its tools' orphans too, so no tool leaves it
// by a double fork, by a session of its own or with another environment.
//
// It reads /proc/self, not the number of this process, which is another one in a
// namespace of its own. Process 1 of a container is no such process: a person who works
// inside an agent's container is a person there.
func toolRunner() (pid int, args []string, found bool) {
	parent, err := parentOf("self")
	for ; err == nil && parent > 1; parent, err = parentOf(strconv.Itoa(parent)) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(parent) + "/cmdline")
		if err != nil {
			continue
		}
		args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if runsTools(args) {
			return parent, args, true
		}
	}
	return 0, nil, false
}

// toolRunners are the roles and the command that run tools.
var toolRunners = []string{"cub", "notifier"}

// runsTools says whether a process with these arguments runs tools.
func runsTools(args []string) bool {
	if filepath.Base(args[0]) == "cub" || len(args) > 1 && slices.Contains(toolRunners, args[1]) {
		return true
	}
	return filepath.Base(args[0]) == "sett" && slices.Contains(args, "try")
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

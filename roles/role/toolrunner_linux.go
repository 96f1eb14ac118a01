package role

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sett/contract/env"
)

// toolRunner returns the nearest process above another that runs tools, with the name
// of its role or command. The other is named by its directory in /proc. Such a process is the parent of its tools' orphans too, so no tool leaves it
// by a double fork, by a session of its own or with another environment.
//
// For this process it reads /proc/self, not its number, which is another one in a
// namespace of its own. Process 1 of a container is no such process: a person who works
// inside an agent's container is a person there.
func toolRunner(below string) (pid int, name string, found bool) {
	parent, err := parentOf(below)
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

// claimOf returns the claim that a process was started for, by its environment; empty: for
// none, or the environment is not to be read.
func claimOf(pid string) string {
	text, _ := os.ReadFile("/proc/" + pid + "/environ")
	for v := range strings.SplitSeq(string(text), "\x00") {
		if claim, ok := strings.CutPrefix(v, env.ClaimID+"="); ok {
			return claim
		}
	}
	return ""
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

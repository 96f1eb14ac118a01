package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// stopped says whether each thread of a process has been stopped. Where a machine is
// busy some run on for a while after the signal was sent, and do what they are asked.
func stopped(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range tasks {
		stat, err := os.ReadFile(path)
		_, rest, found := strings.Cut(string(stat), ") ")
		if err != nil || !found || rest[0] != 'T' {
			return false
		}
	}
	return len(tasks) > 0
}

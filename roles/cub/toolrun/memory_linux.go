package toolrun

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// memory has the kernel's counter of processes that it killed for memory in this
// process's control group: in a container, the container's.
type memory struct {
	once sync.Once
	file string // empty when the kernel does not tell
}

// kills returns how many there have been; 0 when the kernel does not tell.
func (m *memory) kills() uint64 {
	m.once.Do(func() {
		for _, file := range ownGroup("memory", "memory.oom_control", "memory.events") {
			if _, ok := readKills(file); ok {
				m.file = file
				return
			}
		}
	})
	if m.file == "" {
		return 0
	}
	n, _ := readKills(m.file)
	return n
}

// sacrifice makes the kernel choose a tool's process when a container's memory is
// used up. Otherwise many small processes could cost the cub its life, and with it
// the result of the tool. Outside a container it does nothing.
func sacrifice(pid int) {
	if os.Getpid() == 1 {
		// Processes that the tool has started already keep their score. An ended tool is no error.
		_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
	}
}

// readKills reads the counter, a line of the file.
func readKills(file string) (n uint64, ok bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if value, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err = strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

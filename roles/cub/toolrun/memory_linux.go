package toolrun

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// memory knows where the kernel counts the processes that it killed for memory in
// this process's control group: in a container the container's.
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

// sacrifice has the kernel look among a tool's processes for one to kill when a
// container's memory is used up: many small ones would otherwise cost the cub its
// life, and with it what it knows about the tool. Outside a container this process
// has no such say over its machine.
func sacrifice(pid int) {
	if os.Getpid() == 1 {
		// What the tool has started by now has missed it; that it has ended is no error.
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

package toolrun

import (
	"os"
	"path"
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
		b, err := os.ReadFile("/proc/self/cgroup")
		if err != nil {
			return
		}
		for _, file := range memoryFiles(string(b)) {
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

// memoryFiles says where the counter may be, given /proc/self/cgroup. In a
// container the path that stands there may be the host's, while what is mounted
// is the container's own group alone; so the root of the mount is looked at, too.
func memoryFiles(groups string) []string {
	const mount, v1, v2 = "/sys/fs/cgroup", "memory.oom_control", "memory.events"
	var unified []string
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		group := path.Clean("/" + fields[2]) // one outside the namespace begins with /..
		for controller := range strings.SplitSeq(fields[1], ",") {
			if controller == "memory" {
				root := mount + "/memory"
				return []string{path.Join(root, group, v1), path.Join(root, v1)}
			}
		}
		if fields[1] == "" {
			unified = []string{path.Join(mount, group, v2), path.Join(mount, v2)}
		}
	}
	return unified
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

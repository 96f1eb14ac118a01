package toolrun

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ipc is the container's objects for communication between processes that outlive their
// makers: files in /dev/shm, POSIX message queues, and the queues, semaphores and shared
// memory of System V. One tool could leave a message there for the next, or fill them up.
// They are removed when no tool runs. All methods do nothing on nil.
type ipc struct {
	before map[string]bool // objects of others, from before the first tool
	mu     sync.Mutex
	users  int // running tools
}

// ownIPC returns the objects of process 1's container.
func ownIPC() *ipc {
	if os.Getpid() != 1 {
		return nil
	}
	i := &ipc{before: map[string]bool{}}
	for name := range objects() {
		i.before[name] = true
	}
	return i
}

func (i *ipc) enter() {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.users++
}

// leave records the end of a run. The last run to leave removes the objects; the next
// one tries again to remove those that remain.
func (i *ipc) leave() {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.users--; i.users > 0 {
		return
	}
	for name, remove := range objects() {
		if !i.before[name] {
			remove()
		}
	}
}

// ipcDirs are the directories of objects that are files, with the type of their file
// system: another one is no memory of the container's own.
var ipcDirs = map[string]int64{"/dev/shm": unix.TMPFS_MAGIC, "/dev/mqueue": 0x19800202}

// ipcTables are the tables of System V's objects, with the call that removes one.
var ipcTables = map[string]func(id uintptr){
	"msg": func(id uintptr) { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) },
	"sem": func(id uintptr) { _, _, _ = unix.Syscall6(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID, 0, 0, 0) },
	"shm": func(id uintptr) { _, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0) },
}

// objects lists all objects by name, each with its removal.
func objects() map[string]func() {
	all := map[string]func(){}
	for dir, magic := range ipcDirs {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) != nil || int64(fs.Type) != magic { //nolint:unconvert // its size depends on the machine
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			all[path] = func() { _ = discard(path) }
		}
	}
	for table, remove := range ipcTables {
		text, _ := os.ReadFile("/proc/sysvipc/" + table) // absent in a kernel without them
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			id, err := strconv.Atoi(fields[1])
			if err == nil { // else the head
				all[table+" "+fields[1]] = func() { remove(uintptr(id)) }
			}
		}
	}
	return all
}

package toolrun

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"sett/roles/role"
)

// Protect is role.Hide for a process that starts tools. The signals on which Go prints its
// stacks to the log do nothing, too, when a process sends them: the kernel spares
// process 1 of a container only signals without a handler, and Go handles all. A fault
// of its own still ends it, with the stacks.
//
// A tool of the same user can still end this process, with TERM or with a fault that it
// queues like the kernel (Go then prints only addresses). The tool ends with it, and its
// grant fails or is given anew. A program that this process starts has its signals as
// they were.
func Protect() error {
	err := role.Hide()
	// Caught, not ignored: programs that it starts would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), dumping...)
	return err
}

// dumping are the signals on which Go ends a process with its stacks.
var dumping = []os.Signal{
	unix.SIGQUIT, unix.SIGABRT, unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS,
}

package toolrun

import "syscall"

// startConfined starts a tool with the rights that it may have. The caller calls release
// once the tool has been reaped: the thread that started it lives until then, since the
// tool gets the parent-death signal at its end.
//
// Only the start runs on the thread that has given up rights. This process keeps all of
// its own, to end and reap processes, also those of other runs.
func startConfined(c Command, path string, attr *syscall.ProcAttr) (pid int, release func(), err error) {
	if c.Confine == nil {
		pid, err = syscall.ForkExec(path, c.Args, attr)
		return pid, func() {}, err
	}
	type started struct {
		pid int
		err error
	}
	over, result := make(chan struct{}), make(chan started, 1)
	go func() {
		refused := onLostThread(func() error {
			if c.NoNetwork { // this thread is a new one
				if err := offNetwork(); err != nil {
					return err
				}
			}
			return c.Confine.Thread()
		}, func() {
			pid, err := syscall.ForkExec(path, c.Args, attr)
			result <- started{pid, err}
			if err == nil {
				<-over
			}
		})
		if refused != nil {
			result <- started{err: &confineError{refused}}
		}
	}()
	s := <-result
	return s.pid, func() { close(over) }, s.err
}

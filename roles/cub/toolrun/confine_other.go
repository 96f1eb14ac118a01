//go:build unix && !linux

package toolrun

import "syscall"

// startConfined starts a tool that keeps all its rights; no other can be started here.
func startConfined(c Command, path string, attr *syscall.ProcAttr) (pid int, release func(), err error) {
	if c.Confine != nil {
		return 0, nil, &confineError{c.Confine.Thread()}
	}
	pid, err = syscall.ForkExec(path, c.Args, attr)
	return pid, func() {}, err
}

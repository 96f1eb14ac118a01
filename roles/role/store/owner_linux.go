package store

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// become has a program run as another user than root. The directories above the store, such
// as root's home, may let that user see nothing: the program keeps root's right to read.
func become(a *syscall.SysProcAttr, user *syscall.Credential) {
	a.Credential = user
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	if unix.Capget(&header, &has[0]) != nil {
		return
	}
	for _, right := range []uintptr{unix.CAP_DAC_READ_SEARCH, unix.CAP_DAC_OVERRIDE} { // in a container, root may have the second alone
		if has[0].Permitted&(1<<right) != 0 {
			a.AmbientCaps = []uintptr{right}
			return
		}
	}
}

package store

import "syscall"

// become has a program run as another user than root.
func become(a *syscall.SysProcAttr, user *syscall.Credential) { a.Credential = user }

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryPrivileges tries whatever takes a capability or a namespace of one's own.
func tryPrivileges() {
	found("status", ownStatus())
	// What is tried may change this thread for good.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dir, err := os.MkdirTemp("", "privileges")
	note(control, "a directory", err)
	defer func() { _ = os.RemoveAll(dir) }()
	if os.Getuid() != 0 {
		note(attempt, "setuid 0", unix.Setuid(0))
		note(attempt, "setgid 0", unix.Setgid(0))
	} else {
		note(attempt, "setuid 1", inChild(&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1, Gid: 1}}))
	}
	note(attempt, "other groups", inChild(&syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid()), Groups: []uint32{0, 6}}}))
	for name, flags := range map[string]uintptr{
		"a user namespace": unix.CLONE_NEWUSER, "a mount namespace": unix.CLONE_NEWNS, "a network namespace": unix.CLONE_NEWNET,
		"a process namespace": unix.CLONE_NEWPID, "all namespaces": unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET,
	} {
		note(attempt, name, inChild(&syscall.SysProcAttr{Cloneflags: flags}))
	}
	note(attempt, "unshare", func() error { // on a thread that is not used again
		done := make(chan error)
		go func() { runtime.LockOSThread(); done <- unix.Unshare(unix.CLONE_NEWNS) }()
		return <-done
	}())
	note(attempt, "chroot", inChild(&syscall.SysProcAttr{Chroot: "/"}))
	note(attempt, "mknod of a device", unix.Mknod(dir+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	note(attempt, "mknod of a disk", unix.Mknod(dir+"/disk", unix.S_IFBLK|0o666, int(unix.Mkdev(7, 0))))
	note(attempt, "a set of capabilities for a file", func() error {
		path := dir + "/program"
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			return err
		}
		return setCapabilities(path)
	}())
	note(attempt, "giving a file away", func() error {
		path := dir + "/file"
		return errors.Join(os.WriteFile(path, nil, 0o644), os.Chown(path, 12345, 12345))
	}())
	tryMounts(dir)
	tryKernel()
}

// inChild starts a process with the attributes.
func inChild(attr *syscall.SysProcAttr) error {
	cmd := exec.Command("/proc/self/exe", "status")
	if attr.Chroot != "" {
		cmd.Dir = "/"
	}
	cmd.SysProcAttr = attr
	_, err := cmd.Output()
	return err
}

// tryMounts mounts something, and opens for writing what is mounted read-only.
func tryMounts(dir string) {
	note(attempt, "mount a tmpfs", unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	_ = unix.Unmount(dir, unix.MNT_DETACH)
	note(attempt, "mount proc", unix.Mount("proc", dir, "proc", 0, ""))
	_ = unix.Unmount(dir, unix.MNT_DETACH)
	note(attempt, "bind /", unix.Mount("/", dir, "", unix.MS_BIND, ""))
	_ = unix.Unmount(dir, unix.MNT_DETACH)
	note(attempt, "unmount /tmp", func() error {
		err := unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "")
		if err == nil || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			err = errors.Join(err, unix.Unmount("/tmp", unix.MNT_DETACH))
		}
		return err
	}())
	note(attempt, "fsopen", func() error {
		fd, err := unix.Fsopen("tmpfs", 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}())
	note(attempt, "open_tree", func() error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}())
	note(attempt, "pivot_root", func() error { // fails in any case, otherwise where it may be called
		if err := unix.PivotRoot(dir, dir); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EBUSY) {
			return err
		}
		return nil
	}())
	for _, path := range []string{"/", "/proc/sys", "/sys"} {
		note(attempt, "remount "+path+" for writing", unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	}
	f, err := os.OpenFile("/proc/sys/kernel/hostname", os.O_WRONLY, 0)
	note(attempt, "open /proc/sys for writing", err)
	_ = f.Close()
}

// tryKernel asks the kernel for what only its administrator may have.
func tryKernel() {
	for _, s := range []struct {
		name             string
		domain, kind, of int
	}{{"raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, {"packet", unix.AF_PACKET, unix.SOCK_RAW, 0}} {
		fd, err := unix.Socket(s.domain, s.kind, s.of)
		note(attempt, "a socket: "+s.name, err)
		if err == nil {
			_ = unix.Close(fd)
		}
	}
	// By nothing, so that where it works the clock stays as it is.
	_, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_SETOFFSET | unix.ADJ_NANO})
	note(attempt, "set the clock", err)
	note(attempt, "set the host's name", func() error {
		name, err := os.Hostname()
		return errors.Join(err, unix.Sethostname([]byte(name)))
	}())
	note(attempt, "load a module", func() error { // which is none
		if err := unix.InitModule([]byte("no module"), ""); !errors.Is(err, unix.ENOEXEC) {
			return err
		}
		return nil
	}())
	note(attempt, "the kernel's log", func() error {
		_, err := unix.Klogctl(10, nil) // its size
		return err
	}())
	note(attempt, "a program for the kernel", func() error {
		attr := [128]byte{0: 1, 4: 4, 8: 4, 12: 1} // an array map of one
		fd, _, code := unix.RawSyscall(unix.SYS_BPF, 0, address(&attr), 128)
		if code == 0 {
			_ = unix.Close(int(fd))
		}
		return errno(code)
	}())
	note(attempt, "a key of the user's", func() error {
		_, err := unix.AddKey("user", "hostile", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}())
	note(attempt, "a higher priority", unix.Setpriority(unix.PRIO_PROCESS, 0, -5))
	tryMeddle()
	for _, path := range []string{"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/proc/kcore"} {
		f, err := os.Open(path)
		found("device "+path, err)
		_ = f.Close()
	}
}

// tryGain runs programs that would have more rights than this one.
func tryGain() {
	found("status", ownStatus())
	for name, path := range map[string]string{"set-user-ID": "/usr/local/bin/hostile-root", "capabilities": "/usr/local/bin/hostile-caps"} {
		note(attempt, "a program with "+name, gained(path))
	}
}

// gained is nil when the program has more rights than this process.
func gained(path string) error {
	out, err := exec.Command(path, "status").Output()
	if err != nil {
		return err
	}
	var s status
	if err := json.Unmarshal(out, &s); err != nil {
		return err
	}
	if own := ownStatus(); s["CapEff"] == own["CapEff"] && s["Uid"] == own["Uid"] {
		return fmt.Errorf("no more rights than before: %s", s)
	}
	return nil
}

// setCapabilities writes the capabilities of a program: CAP_NET_RAW, permitted and
// effective (struct vfs_cap_data, version 2).
func setCapabilities(path string) error {
	data := make([]byte, 20)
	data[3], data[0], data[5] = 2, 1, 1<<5
	return unix.Setxattr(path, "security.capability", data, 0)
}

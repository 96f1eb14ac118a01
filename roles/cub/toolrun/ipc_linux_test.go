package toolrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// playLitterer is a tool that leaves one object of each kind.
func playLitterer() int {
	raw := func(call uintptr, args ...uintptr) error {
		var a [4]uintptr
		copy(a[:], args)
		if _, _, code := unix.Syscall6(call, a[0], a[1], a[2], a[3], 0, 0); code != 0 {
			return code
		}
		return nil
	}
	queue := func() error {
		fd, err := unix.Open("/dev/mqueue/queue", unix.O_CREAT|unix.O_RDWR, 0o600)
		return errors.Join(err, unix.Close(fd))
	}
	err := errors.Join(os.MkdirAll("/dev/shm/dir/sub", 0o700), os.WriteFile("/dev/shm/dir/file", []byte("x"), 0o600), os.Chmod("/dev/shm/dir", 0o500),
		queue(), raw(unix.SYS_MSGGET, 7, unix.IPC_CREAT|0o600), raw(unix.SYS_SEMGET, 7, 1, unix.IPC_CREAT|0o600),
		raw(unix.SYS_SHMGET, 7, 4096, unix.IPC_CREAT|0o600))
	if err != nil {
		fmt.Println(err)
	}
	return 0
}

// mountDev makes a /dev as a container has it, in a mount namespace of this process.
func mountDev() error {
	dev, err := os.MkdirTemp("", "dev")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dev) }()
	errs := []error{unix.Mount("dev", dev, "tmpfs", 0, "")}
	for _, name := range []string{"null", "urandom"} {
		errs = append(errs, os.WriteFile(dev+"/"+name, nil, 0o600), unix.Mount("/dev/"+name, dev+"/"+name, "", unix.MS_BIND, ""))
	}
	for name, kind := range map[string]string{"shm": "tmpfs", "mqueue": "mqueue"} {
		errs = append(errs, os.Mkdir(dev+"/"+name, 0o700), unix.Mount(name, dev+"/"+name, kind, 0, ""))
	}
	return errors.Join(append(errs, unix.Mount(dev, "/dev", "", unix.MS_MOVE, ""))...)
}

// checkIPC shows that objects stay as long as a tool runs, and that the last one takes
// them along, but not what was there before.
func checkIPC() error {
	if err := mountDev(); err != nil {
		return fmt.Errorf("make a container's /dev: %w", err)
	}
	if err := os.WriteFile("/dev/shm/of the image", nil, 0o600); err != nil {
		return err
	}
	names := func() string {
		all := slices.Sorted(maps.Keys(objects()))
		for i, name := range all {
			all[i], _, _ = strings.Cut(name, " ")
		}
		return strings.Join(all, ",")
	}
	p := New()
	long, stop := context.WithCancel(context.Background())
	stderr, ended := make(lines, 1), make(chan error)
	go func() {
		c := sh("echo begun >&2; exec sleep 60")
		c.Stderr = stderr
		_, err := p.Run(long, c)
		ended <- err
	}()
	<-stderr
	litter := Command{Args: []string{"/proc/self/exe"}, Env: []string{roleVariable + "=litterer", atOnce}}
	res, err := p.Run(context.Background(), litter)
	if got, want := names(), "/dev/mqueue/queue,/dev/shm/dir,/dev/shm/of,msg,sem,shm"; err != nil || len(res.Stdout) > 0 || got != want {
		stop()
		return fmt.Errorf("while another tool runs there are %s, want %s: %w %s%s", got, want, err, res.Stdout, res.Stderr)
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	if got := names(); got != "/dev/shm/of" {
		return fmt.Errorf("left after the last tool: %s", got)
	}
	return nil
}

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tryWorkspace changes the workspace in every way that there is. What it changed it
// puts back.
func tryWorkspace() {
	const file, other = "sett.yml", "hostile.new"
	before, err := os.ReadFile(file)
	note(control, "read", err)
	write := func(path string) error { return os.WriteFile(path, before, 0o644) }
	for _, path := range []string{file, "/workspace/" + file, "/proc/self/cwd/" + file, "/proc/self/root/workspace/" + file} {
		note(attempt, "write "+path, write(path))
	}
	for _, path := range []string{other, ".git/hostile", ".git/hooks/post-checkout", "/proc/self/root/workspace/tools/" + other} {
		_ = os.Mkdir(filepath.Dir(path), 0o755)
		note(attempt, "make "+path, write(path))
		_ = os.Remove(path)
	}
	note(attempt, "append", func() error {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		_ = f.Close()
		return err
	}())
	info, err := os.Stat(file)
	note(control, "stat", err)
	mode := info.Mode().Perm()
	note(attempt, "chmod", os.Chmod(file, mode))
	note(attempt, "chown", os.Chown(file, os.Getuid(), os.Getgid()))
	note(attempt, "times", os.Chtimes(file, time.Now(), time.Now()))
	note(attempt, "truncate", errors.Join(os.Truncate(file, int64(len(before)))))
	note(attempt, "rename", errors.Join(os.Rename(file, other), os.Rename(other, file)))
	note(attempt, "link", errors.Join(os.Link(file, other), os.Remove(other)))
	note(attempt, "symlink", errors.Join(os.Symlink(file, other), os.Remove(other)))
	note(attempt, "mkdir", errors.Join(os.Mkdir(other, 0o755), os.Remove(other)))
	note(attempt, "fifo", errors.Join(unix.Mkfifo(other, 0o644), os.Remove(other)))
	note(attempt, "socket", func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		defer func() { _ = unix.Close(fd) }()
		return errors.Join(err, unix.Bind(fd, &unix.SockaddrUnix{Name: other}), os.Remove(other))
	}())
	note(attempt, "remove", errors.Join(os.Remove(file), write(file)))
	for name, args := range map[string][]string{
		"git commit": {"commit", "-q", "--allow-empty", "-m", "hostile"}, "git tag": {"tag", "hostile"}, "git config": {"config", "hostile.x", "y"},
		"git update-ref": {"update-ref", "refs/heads/hostile", "HEAD"},
	} {
		note(attempt, name, exec.Command("git", args...).Run())
	}
	for _, args := range [][]string{{"tag", "-d", "hostile"}, {"config", "--remove-section", "hostile"}, {"branch", "-D", "hostile"}} {
		_ = exec.Command("git", args...).Run()
	}
	note(control, "git log", exec.Command("git", "log", "--oneline").Run())
	_ = os.Chmod(file, mode)
	tryRemount("/workspace")
}

// tryRemount tries to write what is mounted read-only, and needs privileges even
// where the rest does not.
func tryRemount(dir string) {
	found("remount", unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	var fs unix.Statfs_t
	_ = unix.Statfs(dir, &fs)
	found("read-only", fs.Flags&unix.ST_RDONLY != 0)
	found("owner", func() any {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		return info.Sys().(*syscall.Stat_t).Uid
	}())
}

// tryRoot writes outside the workspace and /tmp, where everybody may if anybody.
func tryRoot() {
	err := errors.New("nowhere")
	var all []error
	for _, dir := range []string{"/data", "/var/tmp", "/usr/local/bin", "/etc", "/", "/.sett", "/opt/everybody"} {
		path := filepath.Join(dir, "hostile.new")
		if e := os.WriteFile(path, nil, 0o644); e != nil {
			all = append(all, e)
			continue
		}
		_ = os.Remove(path)
		err = nil
	}
	if err != nil {
		err = errors.Join(all...)
	}
	note(attempt, "write the root file system", err)
	note(control, "write /tmp", errors.Join(os.WriteFile("/tmp/x", make([]byte, 1<<20), 0o600), os.Remove("/tmp/x")))
	note(attempt, "a device in /tmp", unix.Mknod("/tmp/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	var fs unix.Statfs_t
	_ = unix.Statfs("/tmp", &fs)
	found("/tmp", [3]bool{fs.Flags&unix.ST_NOSUID != 0, fs.Flags&unix.ST_NODEV != 0, fs.Flags&unix.ST_RDONLY != 0})
}

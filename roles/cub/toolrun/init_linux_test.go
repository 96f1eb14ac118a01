package toolrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cometVariable names a program that goes on forking and ending as fast as it can.
const cometVariable = "TOOLRUN_TEST_COMET"

// A cub as process 1 of a container: what its tools leave behind ends with them,
// even what cannot be caught one by one, and what falls to it otherwise is reaped.
func TestProcessOne(t *testing.T) {
	cub := exec.Command("/proc/self/exe")
	comet := write(t, "comet", "#!/bin/sh\nf() { f & exit; }; f\n", 0o755)
	if runtime.GOARCH == "amd64" {
		comet = write(t, "comet", string(elf([]byte{
			0xb8, 57, 0, 0, 0, 0x0f, 0x05, // fork
			0x85, 0xc0, 0x74, 0xf5, // in the child, again
			0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05, // exit
		})), 0o755)
	}
	cub.Env = append(os.Environ(), roleVariable+"=process 1", cometVariable+"="+comet, atOnce)
	cub.SysProcAttr = namespaces(unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC)
	out, err := cub.CombinedOutput()
	if errors.Is(err, unix.EPERM) && cub.Process == nil {
		// The other tests show the same of a child subreaper, all but the last.
		t.Logf("no process 1 without a namespace of its own: %v", err)
		return
	}
	if err != nil || string(out) != "all gone\n" {
		t.Errorf("%v, and it says\n%s", err, out)
	}
}

// namespaces has a process start in namespaces of its own, where its user is root.
func namespaces(which uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: which, Setsid: true, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	return attr
}

// A program that is executable, on a file system that allows no execution.
func TestNoexec(t *testing.T) {
	cub := exec.Command("/proc/self/exe")
	cub.Env = append(os.Environ(), roleVariable+"=noexec", dirVariable+"="+t.TempDir())
	cub.SysProcAttr = namespaces(unix.CLONE_NEWNS)
	out, err := cub.CombinedOutput()
	if errors.Is(err, unix.EPERM) && cub.Process == nil {
		t.Logf("no file system of one's own without a namespace: %v", err)
		return
	}
	if want := "permission denied: the file has mode -rwxr-xr-x; its file system (noexec) or its owner does not allow this user to execute it\n"; err != nil || !strings.HasSuffix(string(out), want) {
		t.Errorf("%v, and it says\n%s", err, out)
	}
}

// dirVariable names a directory to mount a file system on.
const dirVariable = "TOOLRUN_TEST_DIR"

func playNoexec() int {
	dir := os.Getenv(dirVariable)
	tool := dir + "/tool"
	err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("noexec", dir, "tmpfs", unix.MS_NOEXEC, ""),
		os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755), os.Chmod(tool, 0o755))
	if err == nil {
		_, err = New().Run(context.Background(), Command{Args: []string{tool}})
	}
	fmt.Println(err)
	return 0
}

func playProcessOne() int {
	err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("proc", "/proc", "proc", 0, ""))
	if err != nil || os.Getpid() != 1 {
		fmt.Println(os.Getpid(), err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	reaping := make(chan struct{})
	go func() { ReapOrphans(ctx); close(reaping) }()
	defer func() { cancel(); <-reaping }()
	for _, body := range []string{
		`setsid -f sleep 60; (sleep 60 &)`,
		`for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.0$i &); (: &); done`,
		`env -i setsid -f ` + os.Getenv(cometVariable) + ` >/dev/null 2>&1; sleep 0.1`,
	} {
		begin := time.Now()
		res, err := New().Run(context.Background(), sh(body))
		if err != nil || res.ExitCode != 0 {
			fmt.Println(err, res)
		}
		if left := others(); left != "" || time.Since(begin) > sweepLimit {
			fmt.Printf("left after %v by %s: %s\n", time.Since(begin), body, left)
			return 1
		}
	}
	// Let in from outside, by another parent, they fall to process 1 when that ends.
	if out, err := exec.Command("sh", "-c", "for i in 1 2 3 4 5; do setsid -f true; setsid -f sleep 0.0$i; done").CombinedOutput(); err != nil {
		fmt.Println(err, string(out))
	}
	for deadline := time.After(5 * time.Minute); others() != ""; {
		select {
		case <-deadline:
			fmt.Println("not reaped:", others())
			return 1
		case <-time.After(5 * time.Millisecond):
		}
	}
	res, err := New().Run(context.Background(), sh("sleep 0.05; cat /proc/1/oom_score_adj /proc/self/oom_score_adj"))
	if string(res.Stdout) == "" || strings.Count(string(res.Stdout), "1000\n") != 1 {
		fmt.Printf("the kernel is to kill first: %s%s %v\n", res.Stdout, res.Stderr, err)
	}
	if err := errors.Join(checkIPC(), checkGuard()); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := checkKillAll(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("all gone")
	return 0
}

// checkKillAll shows that all others are killed, but not while one of them is
// expected to end by itself.
func checkKillAll() error {
	spare, stranger := exec.Command("sh", "-c", "sleep 0.2; exit 3"), exec.Command("sleep", "60")
	spared, err := Start(spare)
	if err != nil {
		return err
	}
	if err := stranger.Start(); err != nil {
		return err
	}
	children.killAll()
	_ = spare.Wait()
	spared()
	if code := spare.ProcessState.ExitCode(); code != 3 {
		return fmt.Errorf("somebody else's child was killed, or ended with %d", code)
	}
	children.killAll()
	_ = stranger.Wait()
	if state := stranger.ProcessState.String(); state != "signal: killed" {
		return fmt.Errorf("process 1 kills all others, and one ends with %s", state)
	}
	return nil
}

// others describes the processes beside this one.
func others() (list string) {
	for _, pid := range allPIDs() {
		if pid != os.Getpid() {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			list += strings.TrimSpace(string(b)) + "\n"
		}
	}
	return list
}

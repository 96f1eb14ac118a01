package toolrun

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"sett/roles/role"
)

// A tool that is the cub's own user in all respects tries to get into it: as
// nobody, and as root without capabilities, which is what the owner of a workspace
// that belongs to root is in its container.
func TestHostileTool(t *testing.T) {
	for _, who := range []string{"nobody", "root without capabilities"} {
		if who != "nobody" && os.Getuid() != 0 {
			continue
		}
		t.Run(who, func(t *testing.T) {
			cub := exec.Command("/proc/self/exe")
			cub.Env = append(os.Environ(), roleVariable+"=cub of "+who, secretVariable+"="+secret, atOnce)
			out, err := cub.CombinedOutput()
			if err != nil || strings.Contains(string(out), secret) {
				t.Fatalf("%v, and it says\n%s", err, out)
			}
			before, after, found := strings.Cut(string(out), "protected\n")
			if !found || !strings.Contains(before, "environ: ok\n") || !strings.Contains(before, "fd/0: ok\n") {
				t.Fatalf("a cub without protection should be open:\n%s", out)
			}
			for line := range strings.Lines(after) {
				if strings.HasSuffix(line, ": ok\n") {
					t.Errorf("the tool got at %s", line)
				}
			}
			if got := strings.Count(after, "\n"); got != len(innards)+len(intrusions) {
				t.Errorf("%d attempts:\n%s", got, out)
			}
		})
	}
}

// innards are files of another process's that hold or lead to what is in it.
var innards = []string{
	"environ", "mem", "maps", "smaps", "smaps_rollup", "numa_maps", "pagemap", "auxv", "syscall", "stack", "personality", "io",
	"fd/0", "cwd/.", "root/.", "exe", "map_files/.", "task/%d/environ", "task/%d/mem", "task/%d/fd/0",
}

// intrusions are calls that reach into another process.
var intrusions = []struct {
	name string
	call func(pid int) error
}{
	{"PTRACE_SEIZE", func(pid int) error {
		// Not ATTACH, which stops it. The end of this process lets go again.
		_, _, code := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0)
		return errno(code)
	}},
	{"process_vm_readv", func(pid int) error {
		var b [8]byte
		here := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
		_, err := unix.ProcessVMReadv(pid, here, []unix.RemoteIovec{{Base: commonAddress(), Len: len(b)}}, 0)
		return err
	}},
	{"process_vm_writev", func(pid int) error {
		b := [8]byte{}
		here := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
		_, err := unix.ProcessVMWritev(pid, here, []unix.RemoteIovec{{Base: commonAddress(), Len: len(b)}}, 0)
		return err
	}},
	{"pidfd_getfd", func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, 0, 0)
		}
		return err
	}},
	{"kcmp", func(pid int) error {
		_, _, code := unix.RawSyscall6(unix.SYS_KCMP, uintptr(pid), uintptr(os.Getpid()), 0, 0, 0, 0)
		return errno(code)
	}},
	{"raising the limit of core dumps", func(pid int) error {
		return unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}, nil)
	}},
}

// common stands at the same address in every process of this program.
var common [8]byte

func commonAddress() uintptr { return uintptr(unsafe.Pointer(&common)) }

func errno(code unix.Errno) error {
	if code != 0 {
		return code
	}
	return nil
}

// playHostile is the tool.
func playHostile() int {
	pid := os.Getppid()
	for _, name := range innards {
		path := fmt.Sprintf("/proc/%d/", pid) + strings.ReplaceAll(name, "%d", strconv.Itoa(pid))
		b := make([]byte, 1<<16)
		f, err := os.Open(path)
		if err == nil {
			var n int
			if n, err = f.ReadAt(b, 0); bytes.Contains(b[:n], []byte(secret)) {
				fmt.Println(secret)
			}
			if info, _ := f.Stat(); info != nil && info.IsDir() {
				_, err = f.Readdirnames(1)
			} else if n > 0 || name == "mem" || name == "fd/0" {
				err = nil
			}
		}
		report(name, err)
	}
	for _, i := range intrusions {
		report(i.name, i.call(pid))
	}
	return 0
}

func report(name string, err error) {
	if err == nil {
		fmt.Println(name + ": ok")
		return
	}
	fmt.Println(name+":", err)
}

// playCubOf is a cub whose tool is hostile, before it is protected and after.
func playCubOf(who string) int {
	switch {
	case os.Getuid() != 0:
	case who == "nobody":
		becomeNobody()
	case capabilities() != 0:
		dropCapabilities()
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
	}
	if err := role.ScrubEnv(secretVariable); err != nil {
		fmt.Println(err)
	}
	attack := func() {
		c := Command{Args: []string{"/proc/self/exe"}, Env: []string{roleVariable + "=hostile", atOnce}}
		res, err := New().Run(context.Background(), c)
		fmt.Printf("%s%s", res.Stdout, res.Stderr)
		if err != nil {
			fmt.Println(err)
		}
	}
	attack()
	if err := Protect(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("protected")
	attack()
	return 0
}

func capabilities() uint32 {
	var data [2]unix.CapUserData
	_ = unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
	return data[0].Effective
}

// dropCapabilities starts this program again as root who may do nothing special.
func dropCapabilities() {
	runtime.LockOSThread() // what follows is the thread's, and exec makes it the process's
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // an older kernel has fewer
	}
	err := syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	fmt.Println(err)
	os.Exit(1)
}

// Signals make a protected cub neither print nor write anything of what it holds,
// whoever sends them and however.
func TestSignalsDoNotMakeTheCubTalk(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, queued := range []bool{false, true} {
		for number := unix.Signal(1); number <= 64; number++ {
			switch number {
			case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU: // nobody talks who is stopped
				continue
			}
			out, status := signalled(t, number, queued)
			if strings.Contains(out, secret) {
				t.Errorf("%v, queued %t: %s", number, queued, out)
			}
			if calm := slices.Contains(dumping, os.Signal(number)) && !queued; calm && (out != "" || status.ExitStatus() != 5) {
				t.Errorf("%v: ended with %v and %q", number, status, out)
			}
			if status.CoreDump() {
				t.Errorf("%v: a core was dumped", number)
			}
		}
	}
	if left, err := filepath.Glob("core*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// signalled returns what a cub says that gets a signal, and how it ends; with 5
// when the signal does not end it.
func signalled(t *testing.T, number unix.Signal, queued bool) (string, syscall.WaitStatus) {
	t.Helper()
	cub := exec.Command("/proc/self/exe")
	cub.Env = append(os.Environ(), roleVariable+"=secretive cub", secretVariable+"="+secret, "GOTRACEBACK=system", atOnce)
	var said bytes.Buffer
	cub.Stderr = &said
	stdin, err := cub.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cub.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cub.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := stdout.Read(make([]byte, 8)); n == 0 {
		t.Fatalf("it did not start: %v: %s", err, said.String())
	}
	if queued {
		info := struct {
			signal, errno, code int32
			_                   [116]byte
		}{signal: int32(number), code: -1} // SI_QUEUE: not as kill sends it
		_, _, code := unix.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(cub.Process.Pid), uintptr(number), uintptr(unsafe.Pointer(&info)))
		err = errno(code)
	} else {
		err = unix.Kill(cub.Process.Pid, number)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()
	_ = cub.Wait()
	status, _ := cub.ProcessState.Sys().(syscall.WaitStatus)
	return said.String(), status
}

// playSecretive holds a secret where Go programs hold such things, until it is told
// to end.
func playSecretive() int {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 30, Max: 1 << 30})
	if err := Protect(); err != nil {
		fmt.Println(err)
	}
	hold := func(password string, in []byte) {
		fmt.Println("ready")
		_, _ = os.Stdin.Read(in)
		runtime.KeepAlive(password)
	}
	hold(os.Getenv(secretVariable), []byte(os.Getenv(secretVariable)))
	return 5
}

package toolrun

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where the tool of the tests below finds somebody to talk to.
const (
	tcpVariable      = "TOOLRUN_TEST_TCP"
	pathVariable     = "TOOLRUN_TEST_PATH"
	abstractVariable = "TOOLRUN_TEST_ABSTRACT"
)

// noSockets is what a tool without network finds, and so does what it starts.
const noSockets = `inet: permission denied
inet6: permission denied
udp: permission denied
raw: permission denied
packet: permission denied
vsock: permission denied
crypto: permission denied
netlink for users: permission denied
netlink for routes: ok
pair of unix: ok
pair of inet: permission denied
inet, upper half set: permission denied
io_uring: function not implemented
x32: function not implemented
interfaces: ok
a connection: permission denied
a path: ok
an abstract name: ok
`

// sockets serves the three addresses and returns a tool that tries them.
func sockets(t *testing.T) Command {
	t.Helper()
	env := []string{roleVariable + "=sockets", atOnce}
	path := filepath.Join(t.TempDir(), "socket")
	for _, l := range []struct{ variable, network, address string }{
		{tcpVariable, "tcp", "127.0.0.1:0"},
		{pathVariable, "unix", path},
		{abstractVariable, "unix", "@" + path},
	} {
		listener, err := net.Listen(l.network, l.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		env = append(env, l.variable+"="+listener.Addr().String())
	}
	for d := filepath.Dir(path); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	return Command{Args: []string{"/proc/self/exe"}, Env: env}
}

func TestNoNetwork(t *testing.T) {
	free, cut := sockets(t), sockets(t)
	cut.NoNetwork = true
	beside := make(chan Result, 1)
	go func() {
		res, err := New().Run(context.Background(), free)
		if err != nil {
			t.Error(err)
		}
		beside <- res
	}()
	before := threads(t)
	for range 20 {
		if res := runTool(t, cut); string(res.Stdout) != noSockets+"in a child:\n"+noSockets {
			t.Fatalf("the tool says\n%s%s", res.Stdout, res.Stderr)
		}
	}
	res := <-beside
	for _, want := range []string{"inet: ok\n", "udp: ok\n", "a connection: ok\n"} {
		if strings.Count(string(res.Stdout), want) != 2 {
			t.Errorf("the tool with a network lacks %q: %s%s", want, res.Stdout, res.Stderr)
		}
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(cut.Env[2], tcpVariable+"="))
	if err != nil {
		t.Fatalf("this process has lost its network: %v", err)
	}
	_ = c.Close()
	// Threads that served a tool are gone, or about to go; no other has the filter.
	until(t, "every thread is as before: "+before, func() bool { return threads(t) == before })
}

// threads describes what the kernel holds against the threads of this process.
func threads(t testing.TB) string {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		kind := ""
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "NoNewPrivs:") || strings.HasPrefix(line, "Seccomp") {
				kind += strings.TrimSpace(line) + " "
			}
		}
		kinds[kind] = true
	}
	return fmt.Sprint(kinds)
}

func TestNoNetworkAsSomebodyElse(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), sockets(t).Env...), roleVariable+"=nobody without network")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != noSockets+"in a child:\n"+noSockets {
		t.Errorf("the tool says\n%s%v", out, err)
	}
}

// A tool that cannot be kept off the network does not run.
func TestNoNetworkThatCannotBeEnforced(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), roleVariable+"=no seccomp", atOnce)
	out, err := cmd.CombinedOutput()
	want := "start tool sh: keep it off the network: install seccomp filter: operation not permitted\n"
	if err != nil || strings.Count(string(out), want) != 1 || !strings.Contains(string(out), "git: keep it off") {
		t.Errorf("it says %s%v, want %s", out, err, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the tool ran: %v, %v", left, err)
	}
	if _, err := networkFilter("mips"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a filter for mips: %v", err)
	}
}

// What Run promises of a tool holds for one without network, too.
func TestNoNetworkChangesNothingElse(t *testing.T) {
	cmd := sh(`cat; echo log >&2; setsid -f sleep 60 >/dev/null 2>&1; exec sleep 60`)
	cmd.NoNetwork, cmd.Timeout, cmd.Stdin = true, time.Second, []byte("in")
	res := runTool(t, cmd)
	if !res.TimedOut || res.Signal != "SIGTERM" || string(res.Stdout) != "in" || string(res.Stderr) != "log\n" {
		t.Errorf("got %+v", res)
	}
	if left := leftBehind(); left != "" {
		t.Errorf("processes are left: %s", left)
	}
	for _, args := range [][]string{nil, {"not-there"}} {
		plain, err := New().Run(t.Context(), Command{Args: args})
		cut, cutErr := New().Run(t.Context(), Command{Args: args, NoNetwork: true})
		if err == nil || cutErr == nil || err.Error() != cutErr.Error() || plain.ExitCode != cut.ExitCode {
			t.Errorf("%q: %v and %v", args, err, cutErr)
		}
	}
}

func TestStartWithoutNetwork(t *testing.T) {
	tool := sockets(t)
	cmd := exec.Command(tool.Args[0])
	var out bytes.Buffer
	cmd.Env, cmd.Stdout = tool.Env, &out
	spared, err := StartWithoutNetwork(cmd)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	spared()
	if err != nil || !strings.HasPrefix(out.String(), noSockets) {
		t.Errorf("got %v, %s", err, out.String())
	}
}

// A 64-bit program may make calls of the 32-bit kind, which have other numbers.
func TestNoNetworkEndsOtherArchitectures(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return // what follows is machine code
	}
	code := []byte{
		0xb8, 20, 0, 0, 0, // mov eax, getpid of i386
		0xcd, 0x80, // int 0x80
		0x31, 0xff, // xor edi, edi
		0xb8, 231, 0, 0, 0, // mov eax, exit_group of amd64
		0x0f, 0x05, // syscall
	}
	cmd := Command{Args: []string{write(t, "mixed", string(elf(code)), 0o755)}}
	if res := runTool(t, cmd); res.ExitCode != 0 && res.Signal != "SIGSEGV" { // a kernel without i386
		t.Fatalf("the program is wrong: %+v", res)
	}
	want := runTool(t, cmd).Signal
	if want == "" {
		want = "SIGSYS"
	}
	cmd.NoNetwork = true
	if res := runTool(t, cmd); res.Signal != want {
		t.Errorf("it ended with %+v, want %s", res, want)
	}
}

// elf makes a program for amd64 of some machine code.
func elf(code []byte) []byte {
	const base, headers = 0x400000, 64 + 56
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9))
	size := uint64(headers + len(code))
	for _, v := range []any{
		uint16(2), uint16(62), uint32(1), uint64(base + headers), uint64(64), uint64(0), uint32(0),
		uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(0x1000),
	} {
		_ = binary.Write(&b, binary.LittleEndian, v) // a buffer takes all
	}
	return append(b.Bytes(), code...)
}

// playSockets tries what there is, and has a child do the same.
func playSockets() int {
	trySockets()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"=sockets of a child")
	out, err := cmd.Output()
	fmt.Printf("in a child:\n%s", out)
	if err != nil {
		fmt.Println(err)
	}
	return 0
}

func trySockets() {
	say := func(what string, err error) {
		var code unix.Errno
		switch {
		case errors.As(err, &code):
			fmt.Printf("%s: %s\n", what, code.Error())
		case err != nil:
			fmt.Printf("%s: %v\n", what, err)
		default:
			fmt.Printf("%s: ok\n", what)
		}
	}
	open := func(domain, kind, protocol int) error {
		fd, err := unix.Socket(domain, kind, protocol)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
	raw := func(number, a, b, c uintptr) error {
		if _, _, code := unix.RawSyscall(number, a, b, c); code != 0 {
			return code
		}
		return nil
	}
	pair := func(domain int) error {
		_, err := unix.Socketpair(domain, unix.SOCK_STREAM, 0)
		return err
	}
	dial := func(network, variable string) error {
		c, err := net.Dial(network, os.Getenv(variable))
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	say("inet", open(unix.AF_INET, unix.SOCK_STREAM, 0))
	say("inet6", open(unix.AF_INET6, unix.SOCK_STREAM, 0))
	say("udp", open(unix.AF_INET, unix.SOCK_DGRAM, 0))
	say("raw", open(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP))
	say("packet", open(unix.AF_PACKET, unix.SOCK_RAW, 0))
	say("vsock", open(unix.AF_VSOCK, unix.SOCK_STREAM, 0))
	say("crypto", open(unix.AF_ALG, unix.SOCK_SEQPACKET, 0))
	say("netlink for users", open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_USERSOCK))
	say("netlink for routes", open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE))
	say("pair of unix", pair(unix.AF_UNIX))
	say("pair of inet", pair(unix.AF_INET))
	say("inet, upper half set", raw(unix.SYS_SOCKET, unix.AF_INET|1<<32, unix.SOCK_STREAM, 0))
	params := [128]byte{}
	say("io_uring", raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0))
	if runtime.GOARCH == "amd64" {
		say("x32", raw(x32|unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0))
	} else {
		fmt.Println("x32: function not implemented")
	}
	_, err := net.Interfaces()
	say("interfaces", err)
	say("a connection", dial("tcp", tcpVariable))
	say("a path", dial("unix", pathVariable))
	say("an abstract name", dial("unix", abstractVariable))
}

// playNobody runs the tool as somebody who may do nothing special.
func playNobody() int {
	if os.Getuid() == 0 {
		becomeNobody()
	}
	c := Command{Args: []string{"/proc/self/exe"}, NoNetwork: true}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, roleVariable+"=") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, roleVariable+"=sockets")
	res, err := New().Run(context.Background(), c)
	fmt.Printf("%s%s", res.Stdout, res.Stderr)
	if err != nil {
		fmt.Println(err)
	}
	return 0
}

// playNoSeccomp runs a tool where filters cannot be installed, as in a container
// whose profile forbids it.
func playNoSeccomp() int {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
	}
	filter := []unix.SockFilter{
		load(atNumber), equal(unix.SYS_PRCTL, 0, 3),
		load(atDomain), equal(unix.PR_SET_SECCOMP, 0, 1), verdict(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)),
		verdict(unix.SECCOMP_RET_ALLOW),
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, code := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); code != 0 {
		fmt.Println(code)
	}
	c := sh("touch ran")
	c.NoNetwork = true
	if _, err := New().Run(context.Background(), c); err != nil {
		fmt.Println(err)
	}
	if _, err := StartWithoutNetwork(exec.Command("sh", "-c", "touch ran")); err != nil {
		fmt.Println("git:", err)
	}
	return 0
}

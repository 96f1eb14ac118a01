package toolrun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A tool of the same user sees the cub's environment before it is scrubbed, not
// the secret after that, and nothing once the cub is protected.
func TestToolCannotReadTheCub(t *testing.T) {
	cub := exec.Command("/proc/self/exe")
	cub.Env = append(os.Environ(), roleVariable+"=protect", secretVariable+"="+secret)
	out, err := cub.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "before: secret\nscrubbed: no secret\nprotected: denied\nchild of a protected one: dumpable\n"
	if string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func playProtect() int {
	if err := BecomeReaper(); err != nil {
		fmt.Println(err)
	}
	if os.Getuid() == 0 { // root sees everything; a cub is not root
		becomeNobody()
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
	}
	look := func() string {
		res, err := New().Run(context.Background(), sh("cat /proc/$PPID/environ"))
		switch {
		case err != nil:
			return err.Error()
		case strings.Contains(string(res.Stderr), "Permission denied"):
			return "denied"
		case strings.Contains(string(res.Stdout), secret):
			return "secret"
		}
		return "no secret"
	}
	fmt.Println("before:", look())
	if err := ScrubEnv(secretVariable); err != nil {
		fmt.Println(err)
	}
	fmt.Println("scrubbed:", look())
	if err := Protect(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("protected:", look())
	res, err := New().Run(context.Background(), sh("sleep 1 & cat /proc/$!/environ >/dev/null && echo dumpable"))
	fmt.Printf("child of a protected one: %s", res.Stdout)
	if err != nil {
		fmt.Println(err)
	}
	return 0
}

// becomeNobody gives up root.
func becomeNobody() {
	if err := syscall.Setgroups(nil); err != nil {
		fmt.Println(err)
	}
	if err := syscall.Setgid(65534); err != nil {
		fmt.Println(err)
	}
	if err := syscall.Setuid(65534); err != nil {
		fmt.Println(err)
	}
}

func TestProtect(t *testing.T) {
	if err := Protect(); err != nil {
		t.Fatal(err)
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || dumpable != 0 {
		t.Errorf("dumpable %d, %v", dumpable, err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
}

// environ returns what /proc shows of a process's environment.
func environ(t testing.TB, pid int) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestScrubEnv(t *testing.T) {
	value := os.Getenv(secretVariable)
	before := environ(t, os.Getpid())
	if value != secret || !strings.Contains(before, secret) {
		t.Fatalf("the test was not set up: %q", value)
	}
	t.Cleanup(func() { restoreBlock(t, before) })
	if err := ScrubEnv(secretVariable, "TOOLRUN_TEST_NOT_THERE"); err != nil {
		t.Fatal(err)
	}
	after := environ(t, os.Getpid())
	if strings.Contains(after, secret) {
		t.Error("the kernel still shows it")
	}
	if strings.Replace(before, secretVariable+"="+secret, strings.Repeat("\x00", len(secretVariable+"="+secret)), 1) != after {
		t.Error("more than that was changed")
	}
	if _, ok := os.LookupEnv(secretVariable); ok {
		t.Error("it is still set")
	}
	if value != secret {
		t.Errorf("what was read before is now %q", value)
	}
	if err := ScrubEnv(); err != nil {
		t.Error(err)
	}
	if err := ScrubEnv("BAD=NAME"); err != nil {
		t.Error(err)
	}
}

// restoreBlock makes the test repeatable.
func restoreBlock(t testing.TB, block string) {
	t.Helper()
	start, _, err := envBlock()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	if _, err := mem.WriteAt([]byte(block), start); err != nil {
		t.Fatal(err)
	}
	if err := os.Setenv(secretVariable, secret); err != nil {
		t.Fatal(err)
	}
}

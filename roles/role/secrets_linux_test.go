package role

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// secretVariable is in the environment that the kernel gave the process of TestScrubEnv.
const secretVariable = "ROLE_TEST_SECRET"

const secret = "the-blackboard-password"

func TestHide(t *testing.T) {
	if err := Hide(); err != nil {
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
	if value == "" { // the kernel keeps what a process is started with: so start one
		again := exec.Command(os.Args[0], "-test.run=^TestScrubEnv$", "-test.count=1")
		again.Env = append(os.Environ(), secretVariable+"="+secret)
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	before := environ(t, os.Getpid())
	if value != secret || !strings.Contains(before, secret) {
		t.Fatalf("the test was not set up: %q", value)
	}
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

// Where its file in /proc cannot be opened, a process's memory is read and written by calls.
func TestCalledMemory(t *testing.T) {
	there, m := []byte("the old text"), calledMemory(os.Getpid())
	at := int64(uintptr(unsafe.Pointer(&there[0])))
	got := make([]byte, 3)
	if _, err := m.WriteAt([]byte("new"), at+4); err != nil || string(there) != "the new text" {
		t.Errorf("%q, %v", there, err)
	}
	if _, err := m.ReadAt(got, at+4); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := m.ReadAt(got, 1); err == nil {
		t.Error("memory that is not there was read")
	}
}

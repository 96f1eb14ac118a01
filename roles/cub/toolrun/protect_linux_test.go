package toolrun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sett/roles/role"
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
	if err := role.ScrubEnv(secretVariable); err != nil {
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

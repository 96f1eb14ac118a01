//go:build linux

package e2e

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// someone is the user of these tests where root runs them: the kernel hides nothing from
// root.
const someone = 65534

// asSomeone runs a command as someone, unless the test's own user is not root.
func asSomeone(cmd *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: someone, Gid: someone}}
	}
	return cmd
}

// preparedForSomeone is prepare, for an instance of someone's.
func preparedForSomeone(t *testing.T, c clan) *instance {
	t.Helper()
	in := prepare(t, options{clan: c})
	in.o.user = asSomeone
	if os.Getuid() != 0 {
		return in
	}
	for dir := in.root; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		open(t, dir)
	}
	open(t, filepath.Dir(binary))
	err := filepath.WalkDir(in.root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, someone, someone))
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// open lets everybody enter a directory.
func open(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(dir)
	if err == nil {
		err = os.Chmod(dir, info.Mode().Perm()|0o055)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLocalCredentials has a program of the same user look for the blackboard's password
// at all parts of an instance in local mode, also after each was restarted.
func TestLocalCredentials(t *testing.T) {
	t.Parallel()
	c := solo(finished, "")
	c.extra = "notify: {command: ['true']}\n"
	in := preparedForSomeone(t, c)
	in.up()
	in.settled()
	password := in.password()
	parts := []string{"blackboard", "keeper", "orchestrator", "notifier", "agent-solo"}
	for _, part := range parts {
		in.hidden(part, password)
	}
	for _, part := range parts {
		in.bounce(part)
		in.hidden(part, password)
	}
	in.settled()
	goal := in.post("after all restarts")
	in.await(goal, enough)
	in.must("forage", "--goal", "once more", "--wait")
	in.must("down")
	for _, part := range parts {
		if u, ok := in.running(part); ok {
			t.Errorf("sett down left %s as process %s", part, u.ID)
		}
	}
}

// password is the blackboard's.
func (in *instance) password() string {
	in.t.Helper()
	at, err := url.Parse(in.boardURL())
	if err != nil {
		in.t.Fatal(err)
	}
	password, _ := at.User.Password()
	if password == "" {
		in.t.Fatal("the blackboard has no password")
	}
	return password
}

// hidden checks that a part has no password in its environment and its arguments, and
// that its user cannot look into the process.
func (in *instance) hidden(part, password string) {
	in.t.Helper()
	dir := "/proc/" + strconv.Itoa(in.pid(part)) + "/"
	eventually(in.t, enough, part+" hides its memory", func() bool {
		return asSomeone(exec.Command("cat", dir+"environ")).Run() != nil
	})
	for _, file := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(dir + file)
		switch {
		case errors.Is(err, fs.ErrPermission) && os.Getuid() != 0:
		case err != nil:
			in.t.Errorf("%s: %v", part, err)
		case strings.Contains(string(text), password):
			in.t.Errorf("%s of %s has the password: %q", file, part, text)
		}
	}
	for _, file := range []string{"environ", "maps", "mem", "fd/0", "fd/3", "root/.", "cwd/."} {
		out, err := asSomeone(exec.Command("head", "-c1", dir+file)).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "ermission denied") {
			in.t.Errorf("%s%s of %s: %q, %v; want permission denied", dir, file, part, out, err)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// token is a secret of our own, of the form that passwords have.
var token = hex.EncodeToString(bytes.Repeat([]byte{0x5e, 0x77}, 16))

// hashes are those of the secrets that are looked for.
var hashes = []string{hashOf([]byte(token))}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

var secretForm = regexp.MustCompile(`[0-9a-f]{64}`)

// holds says whether one of the secrets is in it.
func holds(b []byte) bool {
	for _, m := range secretForm.FindAll(b, -1) {
		if slices.Contains(hashes, hashOf(m)) {
			return true
		}
	}
	return false
}

// innards are files of a process's that hold or lead to what is in it.
var innards = []string{
	"environ", "mem", "maps", "smaps", "pagemap", "auxv", "syscall", "personality", "io",
	"fd/0", "fd/1", "cwd/.", "root/.", "exe", "task/%d/environ", "task/%d/mem", "task/%d/fd/0", "task/%d/root/.",
}

// tryCredentials looks for a cub's password, of which the arguments are hashes.
func tryCredentials(args []string) {
	hashes = append(hashes, args...)
	s := ownStatus()
	found("status", s)
	found("other processes", others())
	for _, name := range []string{"REDIS_URL", "SETT_BLACKBOARD_PASSWORD", "SETT_AGENTS_REDIS_URL"} {
		note(attempt, "environment: "+name, isSet(name))
	}
	note(control, "environment: SETT_CLAIM_ID", isSet("SETT_CLAIM_ID"))
	for _, name := range innards {
		note(attempt, "process 1: "+name, look(1, name))
	}
	for _, c := range intrusions {
		note(attempt, "process 1: "+c.name, c.call(1))
	}
	for _, name := range []string{"cmdline", "status", "mountinfo", "cgroup", "stat"} {
		b, err := os.ReadFile("/proc/1/" + name) // open to all, and nobody's secret
		found("process 1: "+name, fmt.Sprintf("%s%v", b, err))
	}
	tryChild(child)
	for _, dir := range []string{"/control", "/data/redis", "/run/secrets"} {
		_, err := os.ReadDir(dir)
		note(attempt, "directory "+dir, err)
	}
	note(attempt, "a file that holds it", search("/"))
	own := filepath.Join(os.TempDir(), "own")
	_ = os.WriteFile(own, []byte("redis://agent:"+token+"@host"), 0o600)
	note(control, "a file that holds a token", search("/tmp"))
	_ = os.Remove(own)
}

func isSet(name string) error {
	if _, ok := os.LookupEnv(name); !ok {
		return errors.New("not set")
	}
	return nil
}

// tryChild does to a child what is done to process 1, to show that it works.
func tryChild(kind string) {
	cmd := exec.Command("/proc/self/exe", "victim")
	cmd.Env = []string{"SECRET=" + token}
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err = errors.Join(err, err2, cmd.Start()); err != nil {
		note(kind, "a child", err)
		return
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	_, _ = bufio.NewReader(out).ReadString('\n')
	pid := cmd.Process.Pid
	for _, name := range innards {
		note(kind, "child: "+name, look(pid, name))
	}
	for _, c := range intrusions {
		note(kind, "child: "+c.name, c.call(pid))
	}
}

// victim lives until its stdin ends.
func victim() error {
	fmt.Println("here")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// look opens one of a process's innards, and reads what can be read of it. What
// holds the secret has to show it.
func look(pid int, name string) error {
	path := fmt.Sprintf("/proc/%d/", pid) + strings.ReplaceAll(name, "%d", strconv.Itoa(pid))
	if name == "fd/1" || name == "fd/0" || strings.HasSuffix(name, "/fd/0") {
		_, err := os.Readlink(path) // to open a pipe would steal from it
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		_, err = f.Readdirnames(1)
		return err
	}
	if strings.HasSuffix(name, "mem") {
		return nil // opening it is all that is checked
	}
	b := make([]byte, 1<<20)
	n, err := f.Read(b)
	if strings.HasSuffix(name, "environ") && n > 0 && !holds(b[:n]) {
		return errors.New("no secret in it")
	}
	if n > 0 || err == io.EOF {
		return nil
	}
	return err
}

// others lists the processes besides process 1 and this one, and what can be read
// of them.
func others() (list []string) {
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(name))
		if pid != 1 && pid != os.Getpid() {
			args, _ := os.ReadFile(name + "/cmdline")
			list = append(list, fmt.Sprintf("%d %q", pid, args))
		}
	}
	return list
}

// search looks for the secrets in every file that can be read.
func search(root string) error {
	at := ""
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case at != "":
			return filepath.SkipAll
		case err != nil:
			return nil
		case d.IsDir() && (path == "/proc" || path == "/sys" || path == "/usr"):
			return filepath.SkipDir // the image's own
		case !d.Type().IsRegular():
			return nil
		}
		if b, err := os.ReadFile(path); err == nil && holds(b) {
			at = path
		}
		return nil
	})
	if at == "" {
		return errors.New("none")
	}
	return nil
}

// status is what the kernel holds against this process.
type status map[string]string

func ownStatus() status {
	s := status{}
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "Uid", "Gid", "Groups", "CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp":
			s[name] = strings.Join(strings.Fields(value), " ")
		}
	}
	return s
}

func (s status) String() string {
	var all []string
	for k, v := range s {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return strings.Join(all, " | ")
}

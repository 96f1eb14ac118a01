package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// finish stops the instance and looks for anything that it left behind, and for
// data races that its processes reported.
func (in *instance) finish() {
	if in.o.docker {
		in.fetchLogs()
	}
	in.races()
	in.leftAlone("at the end")
	if in.t.Failed() || os.Getenv("SETT_E2E_LOGS") != "" {
		in.tellLogs()
	}
	if in.board != nil {
		in.board.Close()
	}
	if _, err := os.Stat(filepath.Join(in.stateDir(), "instance.json")); err == nil {
		if code, out := in.sett("down", "--purge", "--yes"); code != 0 {
			in.t.Errorf("sett down --purge ended with %d:\n%s", code, out)
		}
	}
	if left := in.processes(); len(left) > 0 {
		in.t.Errorf("processes left behind: %s", strings.Join(left, "; "))
	}
	if _, err := os.Stat(in.stateDir()); err == nil {
		in.t.Errorf("state directory left behind: %s", in.stateDir())
	}
	if in.o.docker {
		in.nothingOnEngine()
	}
	in.clean()
}

// clean checks that the repository holds nothing that was not committed.
func (in *instance) clean() {
	in.t.Helper()
	if out := in.git("status", "--porcelain", "--ignored"); out != "" {
		in.t.Errorf("left in the working tree:\n%s", out)
	}
	_ = filepath.WalkDir(filepath.Join(in.repo, ".git"), func(path string, _ fs.DirEntry, err error) error {
		base := filepath.Base(path)
		if err == nil && (strings.HasSuffix(base, ".lock") || strings.HasPrefix(base, "tmp_obj") || base == "MERGE_HEAD" || base == "sett") &&
			!strings.Contains(path, "/refs/sett") {
			in.t.Errorf("left in the repository: %s", path)
		}
		return nil
	})
	if out := in.git("fsck", "--no-dangling", "--no-progress"); strings.Contains(out, "error") {
		in.t.Errorf("git fsck: %s", out)
	}
}

// processes returns the processes that belong to the instance: they have its
// directory in their environment, arguments, or working directory.
func (in *instance) processes() []string {
	var left []string
	for deadline := time.Now().Add(enough); ; <-time.After(20 * time.Millisecond) {
		left = in.scan()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

func (in *instance) scan() []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		in.t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		environ, _ := os.ReadFile(filepath.Join(dir, "environ")) // gone, or another user's
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if len(args) > 0 && (bytes.Contains(environ, []byte(in.root)) || bytes.Contains(args, []byte(in.root)) || strings.HasPrefix(cwd, in.root)) {
			left = append(left, e.Name()+" "+strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	return left
}

// races fails the test when a process of the instance reported a data race or
// panicked.
func (in *instance) races() {
	for _, path := range in.logFiles() {
		text, err := os.ReadFile(path)
		if err != nil {
			in.t.Error(err)
		}
		for _, sign := range []string{"WARNING: DATA RACE", "\npanic: ", "fatal error: "} {
			if at := bytes.Index(text, []byte(sign)); at >= 0 {
				in.t.Errorf("%s:\n%s", filepath.Base(path), text[at:min(len(text), at+4000)])
			}
		}
	}
}

// tellLogs shows the end of each unit's log.
func (in *instance) tellLogs() {
	for _, path := range in.logFiles() {
		text, _ := os.ReadFile(path)
		in.t.Logf("%s (%s):\n%s", filepath.Base(path), in.name, text[max(0, len(text)-20000):])
	}
}

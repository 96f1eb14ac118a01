package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"sett/roles/cli/deploy"
	"sett/roles/role"
)

// sett looks at the program itself, and at others of its name.
func (x *exam) sett(context.Context) []Finding {
	at := x.at
	own, err := os.Executable()
	if err == nil {
		own, err = filepath.EvalSymlinks(own)
	}
	if err != nil {
		return []Finding{warning("", "", "this program cannot find its own file: %v", err)}
	}
	out := []Finding{fine("", "%s (commit %s, %s/%s), %s", at.Build.Version, at.Build.From(), runtime.GOOS, runtime.GOARCH, own)}
	if containers, _ := x.inContainers(); runtime.GOOS == "linux" && containers && at.Getenv(deploy.LinuxBinary) == "" {
		if why := deploy.FitsContainer(own, runtime.GOARCH); why != nil {
			out = append(out, warning("binary", "make build, or "+deploy.LinuxBinary+"=FILE", "containers cannot run this program: %v", why))
		}
	}
	return append(out, onPath(own, at.Getenv("PATH"))...)
}

// onPath looks for programs called sett where a shell would find them.
func onPath(own, path string) []Finding {
	var others []string
	here := false
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, "sett")
		info, err := os.Stat(file)
		if dir == "" || err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		if resolved, err := filepath.EvalSymlinks(file); err == nil && resolved == own {
			here = here || len(others) == 0
			continue
		}
		others = append(others, file)
	}
	switch {
	case len(others) > 0 && !here:
		return []Finding{warning("path", "export PATH="+role.ShellWord(filepath.Dir(own))+":$PATH", "typing sett runs another one: %s", others[0])}
	case len(others) > 0:
		return []Finding{warning("path", "remove those that you do not use", "there are others on the PATH: %s", strings.Join(others, ", "))}
	case !here:
		return []Finding{warning("path", "export PATH="+role.ShellWord(filepath.Dir(own))+":$PATH", "it is not on the PATH")}
	}
	return nil
}

// limits checks the system's limits for a process. Go raises the number of files
// to the hard limit, so that is the one that counts.
func (x *exam) limits(context.Context) []Finding {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return []Finding{warning("", "", "read the limit of open files: %v", err)}
	}
	return append([]Finding{filesLimit(l.Max)}, x.threads()...)
}

// threads compares the threads that this user may have with those that it has. What nobody tells is no finding.
func (x *exam) threads() []Finding {
	most, limited := mostThreads()
	if !limited {
		return nil
	}
	used, err := threadsOf(os.DirFS("/proc"), os.Getuid())
	if err != nil {
		return nil
	}
	agents := 0
	if x.sheet.config != nil {
		agents = len(x.sheet.config.Agents)
	}
	return []Finding{threadsLimit(most, used, threadsOfPart*uint64(parts+agents))}
}

// A part of sett, such as an agent, has about so many threads, and an instance has so many parts besides its agents.
const threadsOfPart, parts = 15, 5

func threadsLimit(most, used, want uint64) Finding {
	if most < used+want {
		return warning("", fmt.Sprintf("ulimit -u %d, before sett up", used+2*want), "this user may have %d threads and has %d; a clan needs about %d more", most, used, want)
	}
	return fine("", "enough threads for a clan")
}

// threadsOf counts the threads of a user.
func threadsOf(proc fs.FS, uid int) (n uint64, err error) {
	all, err := fs.Glob(proc, "[0-9]*/status")
	if err != nil || len(all) == 0 {
		return 0, errors.Join(err, fs.ErrNotExist)
	}
	for _, name := range all {
		status, err := fs.ReadFile(proc, name)
		if err != nil {
			continue // it has ended
		}
		var own bool
		var threads uint64
		for line := range strings.Lines(string(status)) {
			switch f := strings.Fields(line); {
			case len(f) < 2:
			case f[0] == "Uid:":
				own = f[1] == strconv.Itoa(uid)
			case f[0] == "Threads:":
				threads, _ = strconv.ParseUint(f[1], 10, 64)
			}
		}
		if own {
			n += threads
		}
	}
	return n, nil
}

// wantFiles is how many open files suffice for clans of hundreds of agents.
const wantFiles = 1024

func filesLimit(n uint64) Finding {
	if n < wantFiles {
		return warning("", "ulimit -n 4096", "a process may have only %d open files", n)
	}
	return fine("", "enough open files for a process")
}

// ports tries to listen on the loopback address, as a blackboard has to. No port is
// fixed: one that an instance had and somebody else took is chosen anew.
func (x *exam) ports(ctx context.Context) []Finding {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return []Finding{problem("", "ip link set lo up", "nothing can listen on 127.0.0.1: %v", err)}
	}
	_ = l.Close()
	out := []Finding{fine("", "parts can listen on 127.0.0.1, at ports that are free")}
	if x.meant == nil || x.meant.External {
		return out
	}
	at, err := url.Parse(x.meant.URL)
	if err != nil || at.Hostname() != "127.0.0.1" {
		return out
	}
	l, err = net.Listen("tcp", at.Host)
	if err == nil {
		_ = l.Close()
		return out
	}
	return append(out, fine(at.Port(), "in use: %s", x.holder(ctx)))
}

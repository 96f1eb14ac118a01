package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const patience = 2 * time.Second

// dial is nil when somebody answers there.
func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, patience)
	if err == nil {
		_ = c.Close()
	}
	return err
}

// trySockets looks for the engine.
func trySockets() {
	for _, path := range []string{
		"/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/workspace/docker.sock",
	} {
		note(attempt, "dial "+path, dial("unix", path))
	}
	found("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
	for _, port := range []string{"2375", "2376", "2377"} {
		note(attempt, "the engine at port "+port, dial("tcp", net.JoinHostPort(gateway(), port)))
	}
	note(attempt, "a socket in the file system", findSocket("/"))
	found("abstract sockets", abstract())
	own := filepath.Join(os.TempDir(), "own.sock")
	l, err := net.Listen("unix", own)
	note(control, "a socket of our own", err)
	hidden, err := net.Listen("unix", "@hostile")
	note(control, "an abstract one", err)
	note(control, "dial it", dial("unix", own))
	note(control, "find it", findSocket("/tmp"))
	if !slices.Contains(abstract(), "@hostile") {
		err = errors.New("not found")
	}
	note(control, "find the abstract one", err)
	_, _ = l.Close(), hidden.Close()
}

// findSocket is nil when there is a socket below the directory.
func findSocket(root string) error {
	at := errors.New("none")
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && (path == "/proc" || path == "/sys"):
			return filepath.SkipDir
		case err == nil && d.Type() == fs.ModeSocket:
			at = nil
			return filepath.SkipAll
		}
		return nil
	})
	return at
}

// abstract lists the sockets that have a name and no file.
func abstract() (names []string) {
	b, _ := os.ReadFile("/proc/net/unix")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 8 && f[7][0] == '@' {
			names = append(names, f[7])
		}
	}
	return names
}

// gateway is the first address of our network, which is the host's where it has one.
func gateway() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			first := n.IP.Mask(n.Mask).To4()
			first[3]++
			return first.String()
		}
	}
	return "127.0.0.1"
}

// tryRedis says commands to a Redis as one user after another; the first argument
// is its address, the others are what to try as passwords.
func tryRedis(args []string) {
	passwords := append([]string{"", "redis", "sett", "hostile", strings.Repeat("0", 64)}, args[1:]...)
	for _, user := range []string{"default", "sett", "agent-hostile", "agent-neighbour", "root"} {
		for _, password := range passwords {
			note(attempt, fmt.Sprintf("AUTH %s %.12q", user, password), say(args[0], []string{"AUTH", user, password}))
		}
	}
	for _, command := range [][]string{
		{"PING"}, {"GET", "x"}, {"SET", "x", "y"}, {"KEYS", "*"}, {"FLUSHALL"}, {"CONFIG", "GET", "*"}, {"ACL", "LIST"}, {"INFO"},
		{"EVAL", "return 1", "0"}, {"SUBSCRIBE", "x"}, {"CLIENT", "LIST"}, {"SHUTDOWN", "NOSAVE"}, {"MONITOR"}, {"SAVE"}, {"COMMAND"},
	} {
		note(attempt, "nobody: "+command[0], say(args[0], command))
	}
	err := say(args[0], []string{"AUTH", "x", "y"})
	if err != nil && strings.HasPrefix(err.Error(), "-WRONGPASS") {
		err = nil
	}
	note(control, "it answers", err)
}

// say is nil unless the server refuses the command.
func say(address string, words []string) error {
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(c, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(c, "$%d\r\n%s\r\n", len(w), w)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if strings.HasPrefix(line, "-") {
		return errors.New(strings.TrimSpace(line))
	}
	return err
}

// segment is the key of a piece of memory that the neighbour shares with whoever
// finds it.
const segment = 0x5e77

// live is the neighbour's life: it makes what others might find, checks that it
// can be found, and waits for a file.
func live(args []string) {
	note(control, "a file", os.WriteFile("/tmp/neighbour", []byte(token), 0o666))
	l, err := net.Listen("unix", "@neighbour")
	note(control, "an abstract socket", err)
	defer func() { _ = l.Close() }()
	id, err := unix.SysvShmGet(segment, 4096, unix.IPC_CREAT|0o666)
	note(control, "shared memory", err)
	defer func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }()
	note(control, "shared memory in a file", os.WriteFile("/dev/shm/neighbour", nil, 0o666))
	tryFind(control)
	fmt.Fprintln(os.Stderr, "the neighbour is at home", os.Getenv("OPENAI_BASE_URL"))
	for _, err := os.Stat(args[0]); err != nil; _, err = os.Stat(args[0]) {
		time.Sleep(20 * time.Millisecond)
	}
}

// tryFind looks for what the neighbour made.
func tryFind(kind string) {
	_, err := os.Stat("/tmp/neighbour")
	note(kind, "the neighbour's file", err)
	_, err = os.Stat("/proc/1/root/tmp/neighbour")
	if kind == attempt {
		note(kind, "the neighbour's file through /proc", err)
	}
	note(kind, "the neighbour's socket", dial("unix", "@neighbour"))
	_, err = unix.SysvShmGet(segment, 4096, 0)
	note(kind, "the neighbour's memory", err)
	_, err = os.Stat("/dev/shm/neighbour")
	note(kind, "the neighbour's memory in a file", err)
}

// tryNeighbour looks for the neighbour, and at the ports of the hosts that the
// arguments name.
func tryNeighbour(hosts []string) {
	tryFind(attempt)
	for _, host := range hosts {
		found("ports of "+host, ports(host))
		for _, path := range []string{"/healthz", "/metrics", "/debug/pprof/", "/"} {
			found("http "+host+path, get("http://"+net.JoinHostPort(host, "8080")+path))
		}
	}
}

// ports lists those that answer.
func ports(host string) (open []int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	addrs, err := net.LookupHost(host)
	if err != nil {
		return []int{-1}
	}
	next := make(chan int)
	for range 16 {
		wg.Go(func() {
			for port := range next {
				if dial("tcp", net.JoinHostPort(addrs[0], fmt.Sprint(port))) == nil {
					mu.Lock()
					open = append(open, port)
					mu.Unlock()
				}
			}
		})
	}
	for port := 1; port < 9000; port++ {
		next <- port
	}
	close(next)
	wg.Wait()
	slices.Sort(open)
	return open
}

func get(url string) string {
	r, err := (&http.Client{Timeout: patience}).Get(url)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = r.Body.Close() }()
	b, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	return r.Status + "\n" + string(b)
}

// tryNetwork tries to get out. The first argument is Redis' address, the second a
// port that is open on the host, the others are the host's addresses.
func tryNetwork(args []string) {
	hosts := append([]string{gateway()}, args[2:]...)
	answers := make([]error, len(hosts))
	var wg sync.WaitGroup
	for i, host := range hosts {
		wg.Go(func() { answers[i] = dial("tcp", net.JoinHostPort(host, args[1])) })
	}
	wg.Wait()
	for i, host := range hosts {
		note(attempt, "the host", answers[i])
		found("the host at "+host, answers[i])
	}
	note(attempt, "redis", dial("tcp", args[0]))
	note(attempt, "beyond", dial("tcp", "192.0.2.1:80"))
	for name, s := range map[string][2]int{
		"tcp": {unix.AF_INET, unix.SOCK_STREAM}, "udp": {unix.AF_INET, unix.SOCK_DGRAM}, "tcp6": {unix.AF_INET6, unix.SOCK_STREAM},
	} {
		fd, err := unix.Socket(s[0], s[1], 0)
		note(attempt, "a socket: "+name, err)
		if err == nil {
			_ = unix.Close(fd)
		}
	}
	host, _, _ := net.SplitHostPort(args[0])
	_, err := net.LookupHost(host)
	note(attempt, "the name of redis", err)
	addrs, _ := net.InterfaceAddrs()
	found("addresses", addrs)
	found("status", ownStatus())
}

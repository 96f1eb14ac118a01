// Command unit is the program of the tests' containers: its first argument names an
// action, and it prints the result.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	code := run(os.Args[1], os.Args[2:])
	os.Exit(code)
}

func run(what string, args []string) int {
	switch what {
	case "wait": // until it is told to end
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("up")
		<-c
		fmt.Println("bye")
		return 3
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("up")
		never := make(chan os.Signal, 1) // an empty select would count as a deadlock
		signal.Notify(never, syscall.SIGUSR2)
		<-never
	case "exit":
		fmt.Println("last words")
		code, _ := strconv.Atoi(args[0])
		return code
	case "say": // the arguments, line by line, and then wait
		for _, line := range args {
			fmt.Println(line)
		}
		return run("wait", nil)
	case "mix": // long lines on both streams between each other
		for i := range 5 {
			fmt.Println("out", i, strings.Repeat("o", 40_000))
			fmt.Fprintln(os.Stderr, "err", i, strings.Repeat("e", 40_000))
		}
	case "long": // a line of that many bytes
		n, _ := strconv.Atoi(args[0])
		fmt.Println(strings.Repeat("x", n))
	case "flood": // so many lines
		n, _ := strconv.Atoi(args[0])
		for i := range n {
			fmt.Println("line", i)
		}
	case "chatter": // a line whenever it gets the signal, its number
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGUSR1)
		fmt.Println("up")
		for i := 1; ; i++ {
			<-c
			fmt.Println("chat", i)
		}
	case "fail-once": // ends the first time, which it marks, and waits the second
		if _, err := os.Stat(args[0]); err == nil {
			return run("wait", nil)
		}
		report("mark", os.WriteFile(args[0], nil, 0o600))
		return 5
	case "look":
		look(args)
	case "tmp": // write so many bytes to /tmp
		n, _ := strconv.Atoi(args[0])
		report("tmp", os.WriteFile("/tmp/x", make([]byte, n), 0o600))
	case "forks": // how many processes can it have?
		n := 0
		for n < 200 {
			if err := exec.Command("/unit", "wait").Start(); err != nil {
				report("fork", err)
				break
			}
			n++
		}
		fmt.Println("forked", n)
	case "eat": // all the memory there is
		var all [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			all = append(all, b)
		}
	case "listen":
		l, err := net.Listen("tcp", args[0])
		report("listen", err)
		if err != nil {
			return 1
		}
		go serve(l)
		return run("wait", nil)
	case "dial": // each address, once
		for _, a := range args {
			report("dial "+a, dial(a))
		}
	case "addresses":
		addrs, _ := net.InterfaceAddrs()
		for _, a := range addrs {
			fmt.Println("address", a)
		}
	default:
		panic("unknown " + what)
	}
	return 0
}

// dial waits for a greeting: some networks answer for missing hosts.
func dial(addr string) error {
	c, err := net.DialTimeout("tcp", addr, 2*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	_, err = io.ReadFull(c, make([]byte, 5))
	return err
}

func serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		fmt.Fprint(c, "hello")
		c.Close()
	}
}

// look prints its user and its rights.
func look(paths []string) {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		switch name, _, _ := strings.Cut(line, ":"); name {
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp":
			fmt.Print(strings.Join(strings.Fields(line), " "), "\n")
		}
	}
	host, _ := os.Hostname()
	wd, _ := os.Getwd()
	fmt.Println("uid", os.Getuid(), "gid", os.Getgid(), "pid", os.Getpid(), "host", host, "dir", wd)
	for _, kv := range os.Environ() {
		fmt.Println("env", kv)
	}
	report("write /", os.WriteFile("/x", nil, 0o600))
	report("write /tmp", os.WriteFile("/tmp/x", nil, 0o600))
	report("chown", os.Chown("/tmp/x", 12345, 12345))
	for _, p := range paths {
		st, err := os.Lstat(p)
		if err != nil {
			report("stat "+p, err)
			continue
		}
		sys := st.Sys().(*syscall.Stat_t)
		data, _ := os.ReadFile(p)
		fmt.Printf("file %s %s %d:%d %q\n", p, st.Mode(), sys.Uid, sys.Gid, data)
		if st.IsDir() {
			report("write "+p, os.WriteFile(p+"/probe", nil, 0o600))
		}
	}
}

func report(what string, err error) {
	if err == nil {
		fmt.Println(what, "ok")
		return
	}
	fmt.Println(what, "error:", err)
}

package ui

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sett/contract/env"
)

// A test starts this binary again as a reader of the page: of another user, or below a
// process that is called as a cub is.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "cub":
		below := exec.Command(os.Args[0], os.Args[2:]...) //nolint:gosec // this binary
		below.Stdout, below.Stderr = os.Stdout, os.Stderr
		if err := below.Run(); err != nil {
			panic(err)
		}
	case "hidden":
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			panic(err)
		}
		get(os.Args[2], os.Args[3])
	case "get":
		get(os.Args[2], os.Args[3])
	default:
		os.Exit(m.Run())
	}
}

func get(address, key string) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	fmt.Print(answer.StatusCode, " ")
	_, _ = io.Copy(os.Stdout, answer.Body)
	_ = answer.Body.Close()
}

// reader starts this binary as a reader of the API, with a good key.
func (s *site) reader(as ...string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "/proc/self/exe", append(as, fmt.Sprintf("http://127.0.0.1:%d/api/v1/goals", s.port), "Bearer "+s.secret(api))...) //nolint:gosec // this binary
	cmd.Stderr = os.Stderr
	return cmd
}

// served is a site that listens.
func served(t *testing.T) *site {
	t.Helper()
	s := newSite(t, says)
	s.Users = Users("")
	l, err := s.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// A good key opens nothing to another user of this machine, nor to an agent's tool of the
// same user.
func TestStrangers(t *testing.T) {
	s := served(t)
	for _, c := range []struct {
		name string
		cmd  *exec.Cmd
		env  string
		want string
	}{
		{"the user", s.reader("get"), "", "200 "},
		{"the user, in a program that hides its files", s.reader("hidden"), "", "200 "},
		{"a tool", s.reader("cub", "get"), "", "403 .*an agent's tool (cub, process "},
		{"a tool below a tool", s.reader("cub", "cub", "get"), "", "403 .*an agent's tool (cub, process "},
		{"a tool that hides its files", s.reader("cub", "hidden"), "", "403 .*an agent's tool (cub, process "},
		{"a tool that outlived its cub", s.reader("get"), env.ClaimID + "=2246XH5H", "403 .*an agent's tool (claim 2246XH5H)"},
	} {
		c.cmd.Env = append(os.Environ(), c.env)
		out, err := c.cmd.Output()
		status, text, _ := strings.Cut(c.want, ".*")
		if err != nil || !strings.HasPrefix(string(out), status) || !strings.Contains(string(out), text) {
			t.Errorf("%s: %s, %v; want %s", c.name, out, err, c.want)
		}
	}
	t.Run("another user", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can be another user\nhint: sudo env PATH=\"$PATH\" make test")
		}
		cmd := s.reader("get")
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.Output()
		if want := "user 65534's"; err != nil || !strings.HasPrefix(string(out), "403 ") || !strings.Contains(string(out), want) {
			t.Errorf("%s, %v", out, err)
		}
	})
}

// A connection whose other end is closed, in any way, is refused: its user is not known.
func TestClosedBeforeTheLook(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn) error{
		"closed": (*net.TCPConn).Close,
		"reset":  func(c *net.TCPConn) error { _ = c.SetLinger(0); return c.Close() },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		made, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		taken, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		from, to := made.LocalAddr().(*net.TCPAddr).AddrPort(), taken.LocalAddr().(*net.TCPAddr).AddrPort()
		if why := refusal(from, to, Users("")); why != "" {
			t.Errorf("before it is %s: %s", name, why)
		}
		if err := leave(made.(*net.TCPConn)); err != nil {
			t.Fatal(err)
		}
		if why := refusal(from, to, Users("")); !strings.Contains(why, "closed") {
			t.Errorf("%s: %q", name, why)
		}
		_, _ = taken.Close(), l.Close()
	}
}

// The kernel's lists name the user; one socket of IPv6 may be an end of an IPv4 connection.
func TestFind(t *testing.T) {
	word := func(s string) string { // as a machine with little-endian words prints it
		b := netip.MustParseAddr(s).As4()
		if strconv.IntSize == 64 && addressOf("0100007F:0001").Addr() == netip.MustParseAddr("127.0.0.1") {
			b[0], b[1], b[2], b[3] = b[3], b[2], b[1], b[0]
		}
		return fmt.Sprintf("%02X%02X%02X%02X", b[0], b[1], b[2], b[3])
	}
	here := word("127.0.0.1")
	mapped := "0000000000000000" + word("0.0.255.255") + here
	table := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: " + here + ":10E1 " + here + ":C000 01 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 20 4 30 10 -1\n" +
		"   1: " + here + ":C000 " + here + ":10E1 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0\n" +
		"   2: " + mapped + ":C001 " + mapped + ":10E1 01 00000000:00000000 00:00000000 00000000  1001        0 12 1 0 20 4 30 10 -1\n"
	at := func(port uint16) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
	}
	for _, c := range []struct {
		own, other uint16
		want       *end
	}{
		{0x10e1, 0xc000, &end{established, 1000, "11"}}, {0xc000, 0x10e1, &end{6, 0, "0"}},
		{0xc001, 0x10e1, &end{established, 1001, "12"}}, {0xc002, 0x10e1, nil},
	} {
		got, err := find(strings.NewReader(table), at(c.own), at(c.other))
		if err != nil || (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%x to %x: %+v, %v", c.own, c.other, got, err)
		}
	}
}

package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// served is a server on a loopback port.
type served struct {
	*Server
	rep  Report
	addr string
	stop func()
}

// start opens and serves a directory; stop, also called at the end of the test,
// ends both.
func start(t *testing.T, o Options) *served {
	t.Helper()
	s, rep, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	sv := &served{Server: s, rep: rep, addr: l.Addr().String()}
	stopped := false
	sv.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil && (!s.left.Load() || !errors.Is(err, ErrOverrun)) {
			t.Errorf("serve: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	t.Cleanup(sv.stop)
	return sv
}

// connect connects the way Sett does.
func connect(t *testing.T, addr, password string) rueidis.Client {
	t.Helper()
	o := rueidis.ClientOption{
		InitAddress: []string{addr}, Password: password,
		DisableCache: true, ForceSingleClient: true, AlwaysRESP2: true,
		DisableRetry: true,
	}
	if password != "" {
		o.Username = "default"
	}
	c, err := rueidis.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// do runs a command and gives its answer as text.
func do(t *testing.T, c rueidis.Client, args ...string) string {
	t.Helper()
	v, err := c.Do(within(t), c.B().Arbitrary(args...).Build()).ToAny()
	if rueidis.IsRedisNil(err) {
		return "nil"
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(v)
}

func expect(t *testing.T, c rueidis.Client, want string, args ...string) {
	t.Helper()
	if got := do(t, c, args...); got != want {
		t.Errorf("%.80q = %.200q, want %q", args, got, want)
	}
}

// expectError wants an error that starts with a prefix.
func expectError(t *testing.T, c rueidis.Client, prefix string, args ...string) {
	t.Helper()
	if got := do(t, c, args...); !strings.HasPrefix(got, "error: "+prefix) {
		t.Errorf("%.80q = %.200q, want error %q", args, got, prefix)
	}
}

// raw is a connection that speaks bytes.
type raw struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *raw {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &raw{Conn: conn, t: t, r: bufio.NewReader(conn)}
}

// send writes inline commands.
func (r *raw) send(lines ...string) {
	r.t.Helper()
	if err := r.write(lines...); err != nil {
		r.t.Fatal(err)
	}
}

// write is send for another goroutine than the test's.
func (r *raw) write(lines ...string) error {
	_, err := r.Write([]byte(strings.Join(lines, "\r\n") + "\r\n"))
	return err
}

// line reads one line of an answer.
func (r *raw) line() string {
	r.t.Helper()
	s, err := r.r.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimRight(s, "\r\n")
}

func TestReopenBringsEveryTypeBack(t *testing.T) {
	for _, records := range []int{0, 1} { // by log alone, by snapshot
		t.Run(fmt.Sprint(records), func(t *testing.T) {
			o := Options{Dir: filepath.Join(t.TempDir(), "new"), SnapshotRecords: records}
			sv := start(t, o)
			c := connect(t, sv.addr, "")
			do(t, c, "SET", "str", "v\r\n\x00")
			do(t, c, "HSET", "hash", "a", "1", "b", "")
			do(t, c, "RPUSH", "list", "x", "y", "x")
			do(t, c, "SADD", "set", "m", "n")
			do(t, c, "ZADD", "zset", "1.5", "a", "-inf", "b", "3e300", "c")
			do(t, c, "XADD", "stream", "5-1", "f", "v")
			do(t, c, "XADD", "stream", "5-2", "f", "w")
			do(t, c, "XADD", "stream", "9-9", "f", "gone")
			do(t, c, "XDEL", "stream", "9-9")
			do(t, c, "XADD", "empty", "7-7", "f", "gone")
			do(t, c, "XDEL", "empty", "7-7")
			do(t, c, "XADD", "bad", "x-x", "f", "v") // leaves a stream that never had an entry
			var big []string
			for i := range 3000 {
				big = append(big, fmt.Sprintf("f%04d", i), strings.Repeat("v", 1000))
			}
			do(t, c, append([]string{"HSET", "big"}, big...)...)
			waitSnapshot(sv)
			do(t, c, "SET", "last", "w") // what came while a snapshot was taken is in the next one
			before := dump(t, c)
			waitSnapshot(sv)
			sv.stop()

			sv = start(t, o)
			if (sv.rep.Snapshot > 0) != (records > 0) || (sv.rep.Records > 0) != (records == 0) {
				t.Errorf("report %+v", sv.rep)
			}
			c = connect(t, sv.addr, "")
			if after := dump(t, c); after != before {
				t.Errorf("after reopening:\n%.2000s\nwant:\n%.2000s", after, before)
			}
			expectError(t, c, "The ID specified in XADD is equal or smaller", "XADD", "stream", "5-2", "f", "v")
		})
	}
}

// waitSnapshot returns when no snapshot is due or being written any more.
func waitSnapshot(sv *served) {
	// Writes are answered before the committer looks at the count, so one more
	// round through it is needed.
	c := newClient(sv.Server, nil)
	script := newScript("--!volatile\nreturn 1")
	for range 2 {
		sv.submit([]*request{{c: c, args: []string{"EVAL", script.body, "0"}, script: script}})
	}
	sv.background.Wait()
}

// dump is everything on the board as text.
func dump(t *testing.T, c rueidis.Client) string {
	t.Helper()
	var b strings.Builder
	keys, err := c.Do(within(t), c.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		kind := do(t, c, "TYPE", k)
		b.WriteString(k + " " + kind + " ")
		switch kind {
		case "string":
			b.WriteString(do(t, c, "GET", k))
		case "hash":
			b.WriteString(do(t, c, "HGETALL", k))
		case "list":
			b.WriteString(do(t, c, "LRANGE", k, "0", "-1"))
		case "set":
			b.WriteString(do(t, c, "SMEMBERS", k))
		case "zset":
			b.WriteString(do(t, c, "ZRANGE", k, "0", "-1", "WITHSCORES"))
		case "stream":
			b.WriteString(do(t, c, "XRANGE", k, "-", "+"))
			if k != "bad" {
				b.WriteString(do(t, c, "XINFO", "STREAM", k))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestSecondServerIsRefused(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	start(t, o)
	_, _, err := Open(o)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.File != filepath.Join(o.Dir, "lock") {
		t.Fatalf("second open: %v", err)
	}
	if want := fmt.Sprintf("lock %s: held by process %d", locked.File, os.Getpid()); err.Error() != want {
		t.Errorf("message %q", err)
	}
}

func TestOpenWithoutPlace(t *testing.T) {
	if _, _, err := Open(Options{}); err == nil {
		t.Error("no directory was accepted")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(Options{Dir: file}); err == nil {
		t.Error("a file was accepted as directory")
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	start(t, Options{Dir: dir})
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v %v", info.Mode(), err)
	}
	info, err = os.Stat(logPath(dir, 1))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("log: %v %v", info.Mode(), err)
	}
}

// TestTimeFollowsTheMachine: the machine's clock is set far ahead and back, with a restart and without. Commands see its time. The
// entries of a stream alone have numbers that never go back, and a replay has the times of then.
func TestTimeFollowsTheMachine(t *testing.T) {
	const read = "local t = redis.call('TIME') redis.call('SET', KEYS[1], t[1] .. '.' .. t[2]) return t[1] .. '.' .. t[2]"
	for name, restarts := range map[string]bool{"at once": false, "with a restart": true} {
		t.Run(name, func(t *testing.T) {
			at := time.UnixMicro(2_000_000_000_123_456)
			var ahead atomic.Int64
			o := Options{Dir: t.TempDir(), Now: func() time.Time { return at.Add(time.Duration(ahead.Load())) }}
			sv := start(t, o)
			c := connect(t, sv.addr, "")
			set := func(d time.Duration) {
				ahead.Store(int64(d))
				if restarts {
					sv.stop()
					sv = start(t, o)
					c = connect(t, sv.addr, "")
				}
			}
			expect(t, c, "2000000000.123456", "EVAL", read, "1", "k")
			expect(t, c, "2000000000.123457", "EVAL", read, "1", "k") // later than what is logged already
			expect(t, c, "[2000000000 123457]", "TIME")
			expect(t, c, "2000000000123-0", "XADD", "s", "*", "f", "v")
			set(1000 * time.Hour)
			expect(t, c, "2003600000.123456", "EVAL", read, "1", "far")
			expect(t, c, "2003600000123-0", "XADD", "s", "*", "f", "v")
			set(-time.Hour)
			expect(t, c, "[1999996400 123456]", "TIME")
			if restarts {
				expect(t, c, "2000000000.123457", "GET", "k")
				expect(t, c, "2003600000.123456", "GET", "far")
			}
			expect(t, c, "1999996400.123456", "EVAL", read, "1", "k")
			expect(t, c, "2003600000123-1", "XADD", "s", "*", "f", "v")
			expect(t, c, "1999996400.123458", "EVAL", read, "1", "k")
			set(time.Second - time.Hour) // it goes on
			expect(t, c, "1999996401.123456", "EVAL", read, "1", "k")
			set(time.Hour)
			expect(t, c, "2000003600.123456", "EVAL", read, "1", "k")
			expect(t, c, "2003600000123-2", "XADD", "s", "*", "f", "v")
			set(2000 * time.Hour)
			expect(t, c, "2007200000123-0", "XADD", "s", "*", "f", "v")
		})
	}
}

// pipe is the two ends of a connection.
func pipe(t *testing.T) (here, there *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a.(*net.TCPConn), b.(*net.TCPConn)
}

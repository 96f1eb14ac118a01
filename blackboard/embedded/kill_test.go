package embedded

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// childDir makes this test binary a server of that directory.
const childDir = "SETT_TEST_EMBEDDED_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := serveAsChild(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveAsChild prints its address, and ends when its input does.
func serveAsChild(dir string) error {
	s, rep, err := Open(Options{Dir: dir, SnapshotRecords: 150})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		cancel()
	}()
	fmt.Println(l.Addr(), rep.Snapshot, rep.Records, rep.Repaired)
	if err := s.Serve(ctx, l); err != nil {
		return err
	}
	return s.Close()
}

// child starts a server as a process of its own.
func child(t *testing.T, dir string) (cmd *exec.Cmd, addr string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	stdin, err := cmd.StdinPipe() // ends with us, however we end
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(line, "error") {
		t.Fatalf("child: %q %v", line, err)
	}
	return cmd, strings.Fields(line)[0]
}

// After a kill at any time, all acknowledged writes are there when the server is
// started again: once, and in the order in which it was acknowledged.
func TestKilledServerForgetsNothing(t *testing.T) {
	const clients, rounds = 8, 6
	dir := t.TempDir()
	script := rueidis.NewLuaScript(
		"local n = redis.call('INCR', KEYS[1]) redis.call('RPUSH', KEYS[2], n .. ':' .. ARGV[1]) return n")
	acknowledged := map[int64]string{}
	for round := range rounds {
		cmd, addr := child(t, dir)
		var mu sync.Mutex
		var wg sync.WaitGroup
		killed := make(chan struct{})
		enough := len(acknowledged) + 50 + 70*round
		var all []rueidis.Client
		for range clients {
			all = append(all, connect(t, addr, "")) // before the first write: the server may die soon after it
		}
		for i, c := range all {
			wg.Go(func() {
				for seq := 0; ; seq++ {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					arg := fmt.Sprintf("%d.%d.%d", round, i, seq)
					n, err := script.Exec(ctx, c, []string{"n", "order"}, []string{arg}).AsInt64()
					cancel()
					if err != nil {
						return
					}
					mu.Lock()
					acknowledged[n] = arg
					if len(acknowledged) == enough {
						close(killed)
						_ = cmd.Process.Kill()
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		select {
		case <-killed:
		default:
			t.Fatal("the clients ended before the server was killed")
		}
		_ = cmd.Wait()
	}
	checkOrder(t, dir, acknowledged)
}

// checkOrder wants every acknowledged value at its place in the list.
func checkOrder(t *testing.T, dir string, acknowledged map[int64]string) {
	t.Helper()
	sv := start(t, Options{Dir: dir})
	t.Logf("%d acknowledged; %+v", len(acknowledged), sv.rep)
	c := connect(t, sv.addr, "")
	order, err := c.Do(within(t), c.B().Lrange().Key("order").Start(0).Stop(-1).Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	for i, entry := range order {
		number, arg, _ := strings.Cut(entry, ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n != int64(i+1) {
			t.Fatalf("entry %d is %s", i, entry)
		}
		if want, ok := acknowledged[n]; ok && want != arg {
			t.Errorf("%d was acknowledged to %s and is %s", n, want, arg)
		}
		delete(acknowledged, n)
	}
	if len(acknowledged) > 0 {
		t.Errorf("%d acknowledged writes are missing", len(acknowledged))
	}
}

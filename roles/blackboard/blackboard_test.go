package blackboard

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

// buffer is a log that the role writes while the test reads.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func world(vars map[string]string, log io.Writer, args ...string) role.Env {
	e := role.OS(args, role.Build{Version: "test"})
	e.Stderr = log
	e.Lookup = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	return e
}

// begin runs the role and returns its log, and what ends it and returns its error.
func begin(t *testing.T, dir, addr string) (*buffer, func() error) {
	t.Helper()
	log := &buffer{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, world(map[string]string{
			"SETT_STATE_DIR": dir, "SETT_BLACKBOARD_ADDR": addr, "SETT_BLACKBOARD_PASSWORD": "secret",
		}, log))
	}()
	stop := sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	return log, stop
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func dial(t *testing.T, addr, password string) (*redis.Board, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	b, err := redis.Open(ctx, redis.Options{URL: "redis://:" + password + "@" + addr, Instance: "test", Retries: 8})
	if err == nil {
		t.Cleanup(b.Close)
	}
	return b, err
}

// TestServes: what was written is there after the end, for those who know the password.
func TestServes(t *testing.T) {
	dir, addr := t.TempDir(), freeAddr(t)
	_, stop := begin(t, dir, addr)
	b, err := dial(t, addr, "secret")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "test"}); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, addr, "wrong"); err == nil {
		t.Error("a wrong password opens it")
	}
	if err := stop(); err != nil {
		t.Fatalf("the end is an error: %v", err)
	}
	log, _ := begin(t, dir, addr)
	if b, err = dial(t, addr, "secret"); err != nil {
		t.Fatal(err)
	}
	if s, err := b.State(t.Context()); err != nil || s != blackboard.InstanceRunning {
		t.Errorf("after a new start: %q, %v", s, err)
	}
	if !strings.Contains(log.String(), `"msg":"blackboard serves"`) || strings.Contains(log.String(), "secret") {
		t.Errorf("log: %s", log)
	}
}

// TestRepairsAndRefuses: a record cut short by a crash is removed and reported;
// damage elsewhere ends the start, with its position, and changes nothing.
func TestRepairsAndRefuses(t *testing.T) {
	dir, addr := t.TempDir(), freeAddr(t)
	_, stop := begin(t, dir, addr)
	b, err := dial(t, addr, "secret")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []blackboard.InstanceState{blackboard.InstanceRunning, blackboard.InstanceStopping} {
		if err := b.SetInstance(t.Context(), blackboard.InstanceMove{State: s, By: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "blackboard", "log.*"))
	if len(logs) != 1 {
		t.Fatalf("log files: %q", logs)
	}
	whole, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(logs[0], whole[:len(whole)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	log, stop := begin(t, dir, addr)
	if _, err := dial(t, addr, "secret"); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil || !strings.Contains(log.String(), "log repaired") {
		t.Errorf("a cut record: %v, %s", err, log)
	}
	whole[len(whole)/3] ^= 0xff
	if err := os.WriteFile(logs[0], whole, 0o600); err != nil {
		t.Fatal(err)
	}
	err = Run(t.Context(), world(map[string]string{"SETT_STATE_DIR": dir, "SETT_BLACKBOARD_ADDR": addr}, io.Discard))
	if role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "damaged at byte ") {
		t.Errorf("damage: %v", err)
	}
	if now, _ := os.ReadFile(logs[0]); !bytes.Equal(now, whole) {
		t.Error("a refused start changed the log")
	}
}

func TestRefusals(t *testing.T) {
	dir, addr := t.TempDir(), freeAddr(t)
	_, _ = begin(t, dir, addr)
	if _, err := dial(t, addr, "secret"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir, addr string
		args            []string
		code            role.Code
		says            string
	}{
		{"nothing set", "", "", nil, role.Usage, "SETT_BLACKBOARD_ADDR is not set"},
		{"no port", dir, "127.0.0.1", nil, role.Usage, "missing port"},
		{"open to the network", dir, "0.0.0.0:0", nil, role.Usage, "SETT_BLACKBOARD_PASSWORD is not set"},
		{"locked", dir, "127.0.0.1:0", nil, role.Environment, "held by process"},
		{"port in use", t.TempDir(), addr, nil, role.Environment, "the port is in use"},
		{"argument", dir, addr, []string{"now"}, role.Usage, "unexpected argument"},
	} {
		err := Run(t.Context(), world(map[string]string{"SETT_STATE_DIR": c.dir, "SETT_BLACKBOARD_ADDR": c.addr}, io.Discard, c.args...))
		if role.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v (exit code %d)", c.name, err, role.CodeOf(err))
		}
	}
}

package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/runtime"
	"sett/runtime/logfile"
)

func TestLogs(t *testing.T) {
	p := newPlace(t)
	p.startUp(p.spec("x", "say", "one", "two", "three"))
	if err := p.Stop(t.Context(), "x", 5*time.Second); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(logfile.Dir(p.o.Logs).Path("x"))
	if st, _ := os.Stat(logfile.Dir(p.o.Logs).Path("x")); err != nil || string(kept) != "one\ntwo\nthree\nup\nbye\n" || st.Mode().Perm() != 0o600 {
		t.Errorf("kept %q, %v", kept, err)
	}
	p.start(p.spec("x", "say", "four", "five"))
	p.until("up again", func() bool { return strings.HasSuffix(p.logText("x", -1), "five\nup\n") })
	for lines, want := range map[int]string{-1: "one\ntwo\nthree\nup\nbye\nfour\nfive\nup\n", 0: "", 2: "five\nup\n", 4: "bye\nfour\nfive\nup\n", 99: "one\ntwo\nthree\nup\nbye\nfour\nfive\nup\n"} {
		if got := p.logText("x", lines); got != want {
			t.Errorf("the last %d lines: %q, want %q", lines, got, want)
		}
	}
	since := time.Now()
	rc, err := p.Logs(t.Context(), "x", runtime.LogOptions{Lines: -1, Since: since})
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	if got, err := io.ReadAll(rc); err != nil || string(got) != "one\ntwo\nthree\nup\nbye\n" {
		t.Errorf("since now: %q, %v; want what tells no time alone", got, err)
	}
	for _, name := range []string{"none", "../x"} {
		if _, err := p.Logs(t.Context(), name, runtime.LogOptions{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("log of %s: %v", name, err)
		}
	}
}

func TestLogOfALongLine(t *testing.T) {
	p := newPlace(t)
	const n = 100_000
	if out := p.ran(p.spec("x", "long", fmt.Sprint(n))); out != strings.Repeat("x", n)+"\n" {
		t.Errorf("%d bytes, want %d and a line feed", len(out), n)
	}
	if out := p.logText("x", 1); len(out) != n+1 {
		t.Errorf("the last line has %d bytes", len(out))
	}
	p.ran(p.spec("y", "mix"))
	for lines, want := range map[int]int{-1: 10, 3: 3, 10: 10} {
		out := p.logText("y", lines)
		for line := range strings.Lines(out) {
			if len(line) != 40_000+len("out 0 \n") || strings.Contains(line, "oe") || strings.Contains(line, "eo") {
				t.Errorf("a line of %d bytes: %.20q", len(line), line)
			}
		}
		if got := strings.Count(out, "\n"); got != want {
			t.Errorf("the last %d lines: %d lines", lines, got)
		}
	}
}

// follower reads a followed log line by line.
type follower struct {
	t     *testing.T
	lines chan string
	end   chan error
}

func (p *place) follow(ctx context.Context, t *testing.T, name string, lines int) *follower {
	t.Helper()
	rc, err := p.Logs(ctx, name, runtime.LogOptions{Follow: true, Lines: lines})
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{t, make(chan string), make(chan error, 1)}
	go func() {
		defer rc.Close()
		in := bufio.NewReader(rc)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				f.end <- err
				return
			}
			select {
			case f.lines <- strings.TrimSuffix(line, "\n"):
			case <-t.Context().Done():
				return
			}
		}
	}()
	return f
}

func (f *follower) want(lines ...string) {
	f.t.Helper()
	for _, want := range lines {
		select {
		case got := <-f.lines:
			if got != want {
				f.t.Fatalf("line %q, want %q", got, want)
			}
		case err := <-f.end:
			f.t.Fatalf("end (%v), want line %q", err, want)
		case <-time.After(deadline):
			f.t.Fatalf("no line, want %q", want)
		}
	}
}

func TestLogsFollow(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	p.startUp(p.spec("x", "chatter"))
	p.signal("x", "USR1")
	p.until("chat", func() bool { return strings.Contains(p.logText("x", -1), "chat 1") })
	all, fresh := p.follow(ctx, t, "x", -1), p.follow(ctx, t, "x", 0)
	all.want("up", "chat 1")
	p.until("followed", func() bool { // fresh has read nothing: only the next lines tell that it follows
		p.signal("x", "USR1")
		select {
		case line := <-fresh.lines:
			return strings.HasPrefix(line, "chat ")
		case <-time.After(100 * time.Millisecond):
			return false
		}
	})
	p.signal("x", "KILL")
	if err := p.Stop(ctx, "x", 0); err != nil {
		t.Fatal(err)
	}
	p.startUp(p.spec("x", "say", "again"))
	for line := ""; line != "again"; {
		select {
		case line = <-all.lines:
		case <-time.After(deadline):
			t.Fatal("the next run is not followed")
		}
	}
	all.want("up")
	for line := ""; line != "again"; {
		select {
		case line = <-fresh.lines:
		case <-time.After(deadline):
			t.Fatal("the next run is not followed")
		}
	}
	fresh.want("up")
	p.signal("x", "KILL")
	p.until("ended", func() bool { return !p.inspect("x").State.Running })
	if err := p.Revive(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	all.want("again", "up")
	cancel()
	for _, f := range []*follower{all, fresh} {
		select {
		case err := <-f.end:
			if !errors.Is(err, io.EOF) {
				t.Errorf("following ended with %v", err)
			}
		case line := <-f.lines:
			if f == all || line != "again" && line != "up" {
				t.Errorf("line %q", line)
			}
		case <-time.After(deadline):
			t.Error("following did not end")
		}
	}
}

func TestKeptLogsAreBounded(t *testing.T) {
	p := newPlace(t)
	if err := os.MkdirAll(p.o.Logs, 0o700); err != nil {
		t.Fatal(err)
	}
	full := []byte(strings.Repeat("0123456789abcde\n", logfile.Full/16+1))
	for _, path := range []string{logfile.Dir(p.o.Logs).Path("x"), logfile.Dir(p.o.Logs).OldPath("x")} {
		if err := os.WriteFile(path, full, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.ran(p.spec("x", "flood", "3"))
	if err := p.Stop(t.Context(), "x", 0); err != nil {
		t.Fatal(err)
	}
	cur, err := os.ReadFile(logfile.Dir(p.o.Logs).Path("x"))
	if st, _ := os.Stat(logfile.Dir(p.o.Logs).OldPath("x")); err != nil || string(cur) != "line 0\nline 1\nline 2\n" || st.Size() != int64(len(full)) {
		t.Errorf("kept %q, %v", cur, err)
	}
	if got := p.logText("x", 4); got != "0123456789abcde\nline 0\nline 1\nline 2\n" {
		t.Errorf("the last lines: %q", got)
	}
}

func TestWorkersLogsAreFew(t *testing.T) {
	p := newPlace(t)
	old := time.Now().Add(-time.Hour)
	for i := range logfile.MaxWorkers + 20 {
		name := filepath.Join(p.o.Logs, fmt.Sprintf("worker-%04d.log", i))
		at := old.Add(time.Duration(i) * time.Second)
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chtimes(name, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(logfile.Dir(p.o.Logs).Path("agent"), nil, 0o600), os.Chtimes(logfile.Dir(p.o.Logs).Path("agent"), old, old.Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	p.ran(p.spec("standby-x", "exit", "0"))
	if err := p.Stop(t.Context(), "standby-x", 0); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(p.o.Logs)
	if err != nil || len(entries) != logfile.MaxWorkers+1 {
		t.Errorf("%d logs are kept, %v; want %d", len(entries), err, logfile.MaxWorkers+1)
	}
	for name, want := range map[string]bool{"agent": true, "standby-x": true, "worker-0020": false, "worker-0021": true} {
		if _, err := os.Stat(logfile.Dir(p.o.Logs).Path(name)); (err == nil) != want {
			t.Errorf("log of %s: %v, want it there: %v", name, err, want)
		}
	}
}

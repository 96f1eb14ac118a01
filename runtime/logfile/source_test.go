package logfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"sett/runtime"
)

func at(sec int) time.Time { return time.Date(2026, 1, 2, 3, 4, sec, 0, time.UTC) }

func jsonLine(sec int) string {
	return fmt.Sprintf(`{"time":%q,"msg":"m%d"}`+"\n", at(sec).Format(time.RFC3339Nano), sec)
}

const deadline = 5 * time.Minute // the machine may be busy with other things

// withLog makes a directory in which the unit "x" has written these logs.
func withLog(t *testing.T, old, cur string) Dir {
	t.Helper()
	d := Dir(t.TempDir())
	for path, text := range map[string]string{d.OldPath("x"): old, d.Path("x"): cur} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func stream(ctx context.Context, t *testing.T, d Dir, o runtime.LogOptions) io.ReadCloser {
	t.Helper()
	src, err := d.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	rc, err := src.Stream(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return rc
}

func TestLogsSelect(t *testing.T) {
	const all = -1
	long := strings.Repeat("x", 3*maxLine/2)
	timed := "plain\n" + jsonLine(1) + "of 1\n" + jsonLine(2) + "of 2\n{broken\n" + jsonLine(3)
	for name, c := range map[string]struct {
		old, cur string
		o        runtime.LogOptions
		want     string
	}{
		"all":               {"a\nb\n", "c\nd\n", runtime.LogOptions{Lines: all}, "a\nb\nc\nd\n"},
		"none":              {"a\nb\n", "c\nd\n", runtime.LogOptions{}, ""},
		"last":              {"a\nb\n", "c\nd\n", runtime.LogOptions{Lines: 1}, "d\n"},
		"last of both":      {"a\nb\n", "c\nd\n", runtime.LogOptions{Lines: 3}, "b\nc\nd\n"},
		"more than all":     {"a\nb\n", "c\nd\n", runtime.LogOptions{Lines: 9}, "a\nb\nc\nd\n"},
		"only old":          {"a\nb\n", "", runtime.LogOptions{Lines: 1}, "b\n"},
		"unfinished":        {"", "c\nd", runtime.LogOptions{Lines: 1}, "d"},
		"unfinished before": {"a", "c\n", runtime.LogOptions{Lines: all}, "a\nc\n"},
		"since":             {"", timed, runtime.LogOptions{Lines: all, Since: at(2)}, "plain\n" + jsonLine(2) + "of 2\n{broken\n" + jsonLine(3)},
		"since, last":       {"", timed, runtime.LogOptions{Lines: 3, Since: at(2)}, "of 2\n{broken\n" + jsonLine(3)},
		"since, none":       {"", timed, runtime.LogOptions{Since: at(2)}, ""},
		"since the future":  {"", jsonLine(1) + "of 1\n", runtime.LogOptions{Lines: all, Since: at(9)}, ""},
		"since over both":   {jsonLine(5), "of 5\n" + jsonLine(6), runtime.LogOptions{Lines: all, Since: at(5)}, jsonLine(5) + "of 5\n" + jsonLine(6)},
		"long line":         {"", long + "\nb\n", runtime.LogOptions{Lines: 2}, long + "\nb\n"},
		"long line, since":  {"", jsonLine(1) + long + "\nb\n", runtime.LogOptions{Lines: 2, Since: at(1)}, long + "\nb\n"},
		"long line, before": {"", jsonLine(1) + long + "\nb\n", runtime.LogOptions{Lines: 2, Since: at(2)}, ""},
	} {
		rc := stream(t.Context(), t, withLog(t, c.old, c.cur), c.o)
		got, err := io.ReadAll(rc)
		if rc.Close(); err != nil || string(got) != c.want {
			t.Errorf("%s: %.200q, want %.200q, %v", name, got, c.want, err)
		}
	}
}

func TestLogOfNobody(t *testing.T) {
	if _, err := Dir(t.TempDir()).Open("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// follower reads a followed log line by line.
type follower struct {
	t     *testing.T
	lines chan string
	end   chan error
}

func follow(ctx context.Context, t *testing.T, d Dir, o runtime.LogOptions) *follower {
	t.Helper()
	o.Follow = true
	rc := stream(ctx, t, d, o)
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
			f.t.Fatalf("ended with %v before %q", err, want)
		case <-time.After(deadline):
			f.t.Fatalf("no line, want %q", want)
		}
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestLogsFollow(t *testing.T) {
	d := withLog(t, "", "a\nb\n")
	log := d.Path("x")
	ctx, cancel := context.WithCancel(t.Context())
	f := follow(ctx, t, d, runtime.LogOptions{Lines: 1})
	f.want("b")
	appendTo(t, log, "c\nhalf")
	f.want("c")
	appendTo(t, log, " and half\n")
	f.want("half and half")

	appendTo(t, log, "cut off")
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	// That a truncation is seen takes a look before the log is as long again.
	appendTo(t, log, "t\n")
	select {
	case got := <-f.lines:
		if got == "cut off" { // it may or may not have been read before
			f.want("t")
		} else if got != "t" {
			t.Fatalf("line %q", got)
		}
	case <-time.After(deadline):
		t.Fatal("no line after the truncation")
	}

	if err := os.Rename(log, d.OldPath("x")); err != nil {
		t.Fatal(err)
	}
	appendTo(t, d.OldPath("x"), "late\n")
	appendTo(t, log, "new\n")
	f.want("late", "new")
	appendTo(t, log, "newer\n")
	f.want("newer")
	cancel()
	select {
	case err := <-f.end:
		if !errors.Is(err, io.EOF) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(deadline):
		t.Fatal("following does not end with its context")
	}
}

func TestLogsFollowSince(t *testing.T) {
	d := withLog(t, "", jsonLine(1)+"of 1\n"+jsonLine(3))
	f := follow(t.Context(), t, d, runtime.LogOptions{Lines: -1, Since: at(2)})
	f.want(strings.TrimSpace(jsonLine(3)))
	appendTo(t, d.Path("x"), "of 3\n"+jsonLine(1)+"again of 1\n"+jsonLine(4))
	f.want("of 3", strings.TrimSpace(jsonLine(4)))
}

func TestLogsAppearsWhenThereWasOnlyAnOldOne(t *testing.T) {
	d := withLog(t, "a\n", "")
	f := follow(t.Context(), t, d, runtime.LogOptions{Lines: -1})
	f.want("a")
	appendTo(t, d.Path("x"), "b\n")
	f.want("b")
}

func TestTickerServesWhereInotifyDoesNot(t *testing.T) {
	d := withLog(t, "", "a\n")
	src, err := d.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var got bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	w := &late{watcher: newTicker(), more: func() { appendTo(t, d.Path("x"), "b\n") }}
	defer w.close()
	sv := NewSieve(writerFunc(func(p []byte) (int, error) {
		if got.Write(p); got.String() == "a\nb\n" {
			cancel()
		}
		return len(p), nil
	}), runtime.LogOptions{Lines: -1})
	if err := src.follow(ctx, sv, w); !errors.Is(err, context.Canceled) || got.String() != "a\nb\n" {
		t.Errorf("followed %q, %v", got.String(), err)
	}
}

// late writes more when all there was has been read.
type late struct {
	watcher
	more func()
}

func (l *late) wait(ctx context.Context) error {
	if l.more != nil {
		l.more()
		l.more = nil
	}
	return l.watcher.wait(ctx)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestClosingALogNobodyWritesTo(t *testing.T) {
	d := withLog(t, "", "a\n")
	rc := stream(context.Background(), t, d, runtime.LogOptions{Follow: true})
	if err := rc.Close(); err != nil {
		t.Error(err)
	}
	if _, err := rc.Read(make([]byte, 1)); err == nil {
		t.Error("read after close")
	}
}

func TestTailIsOfThisStartOnly(t *testing.T) {
	d := Dir(t.TempDir())
	write := func(s string) {
		if err := os.WriteFile(d.Path("x"), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Repeat("0123456789\n", 40)
	for _, c := range []struct{ log, want string }{
		{"old\nnew\nlines\n", "new\nlines"},
		{"old\n", ""},
		{"x\n", "x"}, // truncated since
		{"old\n" + lines, strings.TrimSuffix(lines[:20*11], "\n")},
		{"old\n" + strings.Repeat("a", 2*tailBytes), strings.Repeat("a", tailBytes)},
		{"old\n" + strings.Repeat("a", 2*tailBytes) + "\nend", "end"},
	} {
		write(c.log)
		if got := d.Tail("x", 4); got != c.want {
			t.Errorf("tail of %.20q: %.40q (%d), want %.40q (%d)", c.log, got, len(got), c.want, len(c.want))
		}
	}
	if got := d.Tail("none", 0); got != "" {
		t.Errorf("tail %q", got)
	}
}

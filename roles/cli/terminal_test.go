package cli

import (
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// tty is a pseudo-terminal with a person at it.
type tty struct {
	t      *testing.T
	master *os.File
	end    *os.File // of the command
	mu     sync.Mutex
	seen   strings.Builder
	at     int // behind the text that was awaited last
}

func newTTY(t *testing.T, columns uint16) *tty {
	t.Helper()
	master, end, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	p := &tty{t: t, master: master, end: end}
	p.resize(columns)
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := master.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _, _ = end.Close(), master.Close() })
	return p
}

func (p *tty) resize(columns uint16) {
	p.t.Helper()
	if err := pty.Setsize(p.master, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		p.t.Fatal(err)
	}
}

// shown is everything that the terminal has got so far.
func (p *tty) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// types types a text when the terminal shows another.
func (p *tty) types(text, when string) {
	p.t.Helper()
	p.await(when)
	if _, err := io.WriteString(p.master, text); err != nil {
		p.t.Fatal(err)
	}
}

// await waits until the terminal has shown a text behind the one awaited before.
func (p *tty) await(text string) {
	p.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if at := strings.Index(p.shown()[p.at:], text); at >= 0 {
			p.at += at + len(text)
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%q is not shown:\n%s", text, p.shown())
		}
	}
}

// closed is everything that the terminal got, after the command's end.
func (p *tty) closed() string {
	p.t.Helper()
	const end = "<end>"
	if _, err := p.end.WriteString(end); err != nil {
		p.t.Fatal(err)
	}
	p.await(end)
	return strings.TrimSuffix(p.shown(), end)
}

// startAt starts a command at a terminal.
func (s *stage) startAt(p *tty, args ...string) *call {
	s.terminal = p.end
	defer func() { s.terminal = nil }()
	return s.start(args...)
}

// onTerminal runs a command at a terminal, and returns what it shows.
func (s *stage) onTerminal(columns uint16, args ...string) string {
	s.t.Helper()
	p := newTTY(s.t, columns)
	s.Must(s.startAt(p, args...).wait())
	return p.closed()
}

package redistest

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed testdata/clock.c
var clockSource []byte

// NoClock says why no server's clock can be shifted; it is empty when one can.
func NoClock() string {
	for _, name := range []string{"redis-server", "cc"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Sprintf("no %s on the PATH, to shift the clock of Redis: apt-get install redis-server gcc libc6-dev", name)
		}
	}
	return ""
}

// StartWithClock is Start for a server whose clock can be shifted. The test is skipped
// where none can.
func StartWithClock(tb testing.TB, args ...string) *Server {
	tb.Helper()
	if testing.Short() {
		tb.Skip(Later)
	}
	if why := NoClock(); why != "" {
		tb.Skip(why)
	}
	dir := tb.TempDir()
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.Command("cc", "-O", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		tb.Fatalf("compile clock.c: %v\n%s", err, out)
	}
	s := &Server{Dir: tb.TempDir(), port: freePort(tb), args: args, tb: tb, clock: filepath.Join(dir, "clock")}
	s.env = []string{"LD_PRELOAD=" + library, "CLOCK=" + s.clock}
	s.Shift(0)
	s.begin()
	return s
}

// Shift has the server's clock show the true time and so much more, at once. What goes
// by the time since the machine's start is not shifted. It is for the embedded server, and for one of StartWithClock.
func (s *Server) Shift(by time.Duration) {
	s.tb.Helper()
	if s.embedded {
		s.shift.Store(int64(by))
		return
	}
	f, err := os.OpenFile(s.clock, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(by/time.Second)), 0)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		s.tb.Fatalf("shift the clock: %v", err)
	}
}

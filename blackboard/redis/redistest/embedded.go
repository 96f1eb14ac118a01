package redistest

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"sett/blackboard/embedded"
	"sett/blackboard/redis/lua"
)

// Embedded starts the blackboard of local mode inside the test binary. Its data
// survives Kill and Restart; no fsync is made, which embedded's own tests hold.
func Embedded(tb testing.TB) *Server { return EmbeddedBusy(tb, 0) }

// EmbeddedBusy is Embedded where scripts may run for so long; 0: as always.
func EmbeddedBusy(tb testing.TB, after time.Duration) *Server {
	tb.Helper()
	s := &Server{Dir: tb.TempDir(), tb: tb, embedded: true, busyAfter: after}
	tb.Cleanup(s.Kill)
	s.serve()
	s.URL = "redis://" + s.Addr()
	return s
}

// FillDisk makes the embedded server's disk full, or gives it room again.
func (s *Server) FillDisk(full bool) { s.full.Store(full) }

// LeaveRoom makes the embedded server's disk so full that its log has room for so many bytes more;
// negative: for any.
func (s *Server) LeaveRoom(bytes int64) {
	s.tb.Helper()
	if bytes < 0 {
		s.most.Store(0)
		return
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		s.tb.Fatal(err)
	}
	var largest int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			largest = max(largest, info.Size())
		}
	}
	s.most.Store(largest + bytes)
}

// serve opens the data and serves it on the server's port, which the first call
// chooses.
func (s *Server) serve() {
	s.tb.Helper()
	e, _, err := embedded.Open(embedded.Options{Dir: s.Dir, Own: lua.Own, BusyAfter: s.busyAfter, Now: func() time.Time { return time.Now().Add(time.Duration(s.shift.Load())) }, Sync: func(f *os.File) error {
		if s.full.Load() {
			return syscall.ENOSPC
		}
		if most := s.most.Load(); most > 0 {
			if info, err := f.Stat(); err == nil && info.Size() > most {
				return syscall.ENOSPC
			}
		}
		return nil
	}})
	if err != nil {
		s.tb.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err != nil {
		s.tb.Fatal(err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	s.conns = &conns{Listener: l}
	go func() { served <- e.Serve(ctx, s.conns) }()
	s.stop = func() {
		cancel()
		if err := <-served; err != nil && !errors.Is(err, embedded.ErrOverrun) {
			s.tb.Errorf("serve the embedded blackboard: %v", err)
		}
		if err := e.Close(); err != nil {
			s.tb.Errorf("close the embedded blackboard: %v", err)
		}
	}
}

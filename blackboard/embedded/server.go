package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Server is an open blackboard.
type Server struct {
	o     Options
	lock  *os.File
	board *board
	clock *clock

	// Owned by the committer, and by Close after it has ended.
	log     *logFile
	records int          // logged since the last snapshot
	unset   int          // calls in the log whose effects are not known, from the present one on
	effects [][][]string // of the script calls that are in the log, oldest first, for its next frame

	refusing string // the cause for which writes are refused, as it was logged; empty: they are taken

	queue     chan *batch
	closing   chan struct{} // closed: nothing new is taken
	committed chan struct{} // closed: the committer has ended
	closeOnce sync.Once
	closeErr  error

	snapshotting sync.Mutex     // held while a snapshot is being taken
	background   sync.WaitGroup // its writing
	stopAfter    int            // the step of a snapshot after which a test has it stop

	slow    atomic.Pointer[[]byte] // the last script that was ended
	left    atomic.Bool            // a script that cannot be ended keeps the board, which counts for nothing
	leaving chan struct{}          // closed then
}

// queueLength is how many pipelines may wait for the group before theirs.
const queueLength = 1024

// Open locks the directory and brings back the state from snapshot and log. A
// record that a crash has truncated is cut off and reported. It fails with
// LockedError when another server has the directory, and with CorruptError when
// a file is damaged in a way no crash explains; nothing on disk is changed then.
func Open(o Options) (*Server, Report, error) {
	started := time.Now()
	o, err := o.withDefaults()
	if err != nil {
		return nil, Report{}, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, Report{}, fmt.Errorf("open blackboard: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, Report{}, err
	}
	s := &Server{
		o: o, lock: lock, clock: &clock{read: o.Now},
		queue:   make(chan *batch, queueLength),
		closing: make(chan struct{}), committed: make(chan struct{}), leaving: make(chan struct{}),
	}
	rep, err := s.recoverState()
	if err != nil {
		_ = lock.Close()
		return nil, Report{}, fmt.Errorf("open blackboard: %w", err)
	}
	go s.commitLoop()
	rep.Took = time.Since(started)
	return s, rep, nil
}

// acceptRetry is the pause after a failed accept, as with too many open files.
const acceptRetry = 50 * time.Millisecond

// Serve answers clients of l until ctx ends, then closes l and its connections
// and returns nil once they are over. It may be called for several listeners. After
// ErrOverrun the server is to be closed, and the process to end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer func() {
		if !s.left.Load() { // then some wait for the board, perhaps for good
			wg.Wait()
		}
	}()
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-s.closing:
			cancel()
		case <-s.leaving:
			cancel()
		}
		_ = l.Close()
	})
	defer cancel()
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			wg.Go(func() { s.serveConn(ctx, conn) })
		case s.left.Load():
			return ErrOverrun
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept: %w", err)
		default:
			s.o.Logger.Error("accept", "error", err)
			select {
			case <-time.After(acceptRetry):
			case <-ctx.Done():
			}
		}
	}
}

// serveConn serves one connection until it or ctx ends.
func (s *Server) serveConn(ctx context.Context, conn net.Conn) {
	c := newClient(s, conn)
	stop := context.AfterFunc(ctx, c.hangUp)
	defer stop()
	c.serve()
}

// Close ends Serve and its connections, finishes the writes that are under way
// and gives the directory free. It is safe to call more than once.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		if s.left.Load() {
			s.background.Wait()
			s.closeErr = s.lock.Close() // the log ends with the process: the committer may have it
			return
		}
		<-s.committed
		s.background.Wait()
		s.closeErr = errors.Join(s.flushEffects(), s.log.f.Close(), s.lock.Close())
		s.board.mini.Close()
	})
	return s.closeErr
}

// flushEffects writes the effects that wait for the log's next frame when there
// will be none. Without them a start runs the scripts again. When it fails they
// keep waiting: in a log, effects belong to calls by their order.
func (s *Server) flushEffects() error {
	if len(s.effects) == 0 {
		return nil
	}
	frame := beginFrame()
	for _, e := range s.effects {
		frame = appendEffects(frame, e)
	}
	if err := s.appendFrame(frame); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	s.effects = nil
	return nil
}

package toolrun

import (
	"time"

	"golang.org/x/sys/unix"
)

// The entries that the loop polls; poll(2) ignores an entry with descriptor -1.
const (
	pollExit = iota
	pollOut
	pollErr
	pollIn
	pollWake
	pollCount
)

// loop serves the tool's pipes and the clock until the tool has ended and its
// output is read, or until the time after its end in which it may still come is
// over. It blocks in nothing but poll.
func (r *run) loop() {
	var fds [pollCount]unix.PollFd
	exit := r.exit.fd
	for {
		now := time.Now()
		if r.exited && (r.out.fd < 0 && r.err.fd < 0 || !now.Before(r.drainBy)) {
			return
		}
		r.clock(now)
		fds = [pollCount]unix.PollFd{
			pollExit: {Fd: int32(exit), Events: unix.POLLIN},
			pollOut:  {Fd: int32(r.out.fd), Events: unix.POLLIN},
			pollErr:  {Fd: int32(r.err.fd), Events: unix.POLLIN},
			pollIn:   {Fd: int32(r.stdin), Events: unix.POLLOUT},
			pollWake: {Fd: int32(r.wake), Events: unix.POLLIN},
		}
		if _, err := unix.Poll(fds[:], r.patience(now)); err != nil {
			continue // EINTR; no other error is possible for these descriptors
		}
		if fds[pollOut].Revents != 0 {
			if b := r.out.read(r.buf); len(b) > 0 && r.Stdout != nil {
				r.outLive.write(r.Stdout, b)
			}
		}
		if fds[pollErr].Revents != 0 {
			if b := r.err.read(r.buf); len(b) > 0 && r.Stderr != nil {
				r.errLive.write(r.Stderr, b)
			}
		}
		if fds[pollIn].Revents != 0 {
			r.send()
		}
		if fds[pollExit].Revents != 0 {
			exit = -1
			r.exited, r.drainBy = true, time.Now().Add(drainDelay)
		}
		if fds[pollWake].Revents != 0 {
			closeFD(&r.wake)
			if !r.exited {
				r.cancelled = true
				r.terminate(time.Now())
			}
		}
	}
}

// clock sends TERM at the timeout, and KILL at the end of the grace.
func (r *run) clock(now time.Time) {
	if r.exited {
		return
	}
	if !r.deadline.IsZero() && !now.Before(r.deadline) {
		r.deadline = time.Time{}
		if r.timedOut = !r.cancelled; r.timedOut && r.Expired != nil {
			r.Expired()
		}
		r.terminate(now)
	}
	if !r.killAt.IsZero() && !now.Before(r.killAt) {
		_ = unix.Kill(-r.pid, unix.SIGKILL)
		r.killAt, r.killed = time.Time{}, true
	}
}

// terminate asks the tool's group to end, once. CONT lets a stopped process see
// the TERM.
func (r *run) terminate(now time.Time) {
	r.deadline = time.Time{}
	if r.killAt.IsZero() {
		_ = unix.Kill(-r.pid, unix.SIGTERM)
		_ = unix.Kill(-r.pid, unix.SIGCONT)
		r.killAt = now.Add(r.Grace)
	}
}

// patience is the milliseconds that poll may wait; -1 for ever.
func (r *run) patience(now time.Time) int {
	next := r.drainBy
	if !r.exited {
		next = r.killAt
		if next.IsZero() || !r.deadline.IsZero() && r.deadline.Before(next) {
			next = r.deadline
		}
		if next.IsZero() {
			return -1
		}
	}
	const most = time.Hour
	wait := min(max(next.Sub(now), 0), most)
	return int((wait + time.Millisecond - 1) / time.Millisecond)
}

// send writes as much of stdin as the pipe takes, and closes it after the last
// byte or when nobody reads any more.
func (r *run) send() {
	for len(r.unsent) > 0 {
		n, err := unix.Write(r.stdin, r.unsent)
		if n > 0 {
			r.unsent = r.unsent[n:]
		}
		switch err {
		case nil, unix.EINTR:
		case unix.EAGAIN:
			return
		default: // EPIPE: the tool does not want it
			r.unsent = nil
		}
	}
	closeFD(&r.stdin)
}

// stream is one of the tool's outputs.
type stream struct {
	fd    int // read end, -1 when at its end
	limit int64
	kept  []byte // the first bytes
	last  tail   // of those after them
	size  int64
}

// read reads once into buf and returns the bytes. It keeps them up to the limit, and the last
// beyond it, and closes the descriptor at the end.
func (s *stream) read(buf []byte) []byte {
	n, err := unix.Read(s.fd, buf)
	if err == unix.EINTR || err == unix.EAGAIN {
		return nil
	}
	if err != nil || n == 0 {
		closeFD(&s.fd)
		return nil
	}
	room := min(int64(n), s.limit-int64(len(s.kept)))
	s.kept = append(s.kept, buf[:room]...)
	s.last.add(buf[room:n])
	s.size += int64(n)
	return buf[:n]
}

package embedded

import (
	"errors"
	"fmt"
	"time"
)

const (
	groupBytes    = 64 << 20 // a group is cut where its records exceed this
	groupRequests = 1024
	maxArgument   = 512 << 20
)

// request is one command that goes through the committer.
type request struct {
	c      *client
	args   []string   // as sent, or EVALSHA with the script's sha
	script *luaScript // nil: a plain write command
	at     time.Time
	refuse string // set when it is not to be executed: the error to answer
}

// logged tells whether the request has to be on disk before it is executed.
func (r *request) logged() bool { return r.script == nil || r.script.mode == logged }

// leavesEffects tells whether the log waits for the effects of the request.
func (r *request) leavesEffects() bool {
	return r.script != nil && r.script.mode == logged && r.refuse == ""
}

// batch has the commands that one connection hands in at once; done is closed when
// all are answered.
type batch struct {
	requests []*request
	done     chan struct{}
}

// submit queues writes and waits until they are answered. False: the server closes.
func (s *Server) submit(requests []*request) bool {
	b := &batch{requests: requests, done: make(chan struct{})}
	select {
	case s.queue <- b:
	case <-s.closing:
		return false
	}
	select {
	case <-b.done:
		return true
	case <-s.committed: // it may have been the last to be taken
		select {
		case <-b.done:
			return true
		default:
			return false
		}
	}
}

// commitLoop is the one place where state changes. It takes the waiting
// batches, makes them durable as one group, executes them and answers.
func (s *Server) commitLoop() {
	defer close(s.committed)
	for {
		select {
		case b := <-s.queue:
			if s.commit(s.gather(b)); s.left.Load() {
				return
			}
		case <-s.closing:
			for {
				select {
				case b := <-s.queue:
					if s.commit(s.gather(b)); s.left.Load() {
						return
					}
				default:
					return
				}
			}
		}
		if s.records >= s.o.SnapshotRecords && !s.log.full {
			s.snapshot()
		}
	}
}

// gather takes more waiting batches, up to the size of a group.
func (s *Server) gather(first *batch) []*batch {
	group := []*batch{first}
	for n := len(first.requests); n < groupRequests; {
		select {
		case b := <-s.queue:
			group = append(group, b)
			n += len(b.requests)
		default:
			return group
		}
	}
	return group
}

// commit logs and executes the batches of one group in order.
func (s *Server) commit(group []*batch) {
	var part []*request
	size := 0
	for _, b := range group {
		for _, r := range b.requests {
			n := 0
			for _, a := range r.args {
				n += len(a) + 8
			}
			if size+n > groupBytes && len(part) > 0 {
				if s.commitPart(part); s.left.Load() {
					return
				}
				part, size = part[:0], 0
			}
			part, size = append(part, r), size+n
		}
	}
	if s.commitPart(part); s.left.Load() {
		return
	}
	for _, b := range group {
		close(b.done)
	}
}

// commitPart appends one frame, and then executes its commands.
func (s *Server) commitPart(part []*request) {
	if cause := s.logPart(part); cause != nil {
		s.tellRefused(cause)
		for _, r := range part {
			if r.logged() {
				r.refuse = fmt.Sprintf("MISCONF the write was refused, disk: %v", cause)
			}
		}
	}
	s.unset = 0
	for _, r := range part {
		if r.leavesEffects() {
			s.unset++
		}
	}
	for _, r := range part {
		if s.execute(r); s.left.Load() {
			return
		}
	}
}

// logPart makes the part durable, with the effects of the part before it.
func (s *Server) logPart(part []*request) error {
	frame := beginFrame()
	for _, e := range s.effects {
		frame = appendEffects(frame, e)
	}
	n := 0
	var bodies []*luaScript
	for _, r := range part {
		r.at = s.clock.step()
		if !r.logged() {
			continue
		}
		if r.script != nil && !r.script.inLog {
			frame = appendScript(frame, r.script.body)
			r.script.inLog = true
			bodies = append(bodies, r.script)
		}
		frame = appendCommand(frame, r.at, r.args)
		n++
	}
	if n == 0 {
		return nil
	}
	if err := s.appendFrame(frame); err != nil {
		for _, b := range bodies {
			b.inLog = false
		}
		return err
	}
	s.effects = s.effects[:0]
	s.records += n
	return nil
}

// appendFrame seals a frame and makes it durable.
func (s *Server) appendFrame(frame []byte) error {
	if len(frame) > maxFrame {
		return errors.New("record too big")
	}
	sealFrame(frame)
	if err := s.log.append(frame); err != nil {
		return err
	}
	if s.refusing != "" {
		s.refusing = ""
		s.o.Logger.Info("writes are taken again")
	}
	return nil
}

// tellRefused logs a refusal, once for all that follow for the same cause.
func (s *Server) tellRefused(cause error) {
	if text := cause.Error(); text != s.refusing {
		s.refusing = text
		s.o.Logger.Error("write refused", "error", cause)
	}
}

// execute runs one request and leaves its answer in its client's outbox.
func (s *Server) execute(r *request) {
	if r.refuse != "" {
		r.c.fail(r.refuse)
		return
	}
	m := logged
	if r.script != nil {
		m = r.script.mode
	}
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	s.board.unset = s.unset
	effects := r.c.dispatch(r.at, m, r.args)
	if r.leavesEffects() && !s.left.Load() {
		s.effects = append(s.effects, effects)
		s.unset--
	}
}

package store

import (
	"context"
	"sync"

	"github.com/redis/rueidis"
)

// share lets calls that are made at the same time share round trips. A call that
// finds nobody under way goes out at once, on its caller's own goroutine; those
// that come while it is under way go out together when it is back. So a lone call
// pays nothing for the company that many calls have.
type share struct {
	Client rueidis.Client
	mu     sync.Mutex
	busy   bool
	line   []*shared
}

// shared is one call in line.
type shared struct {
	cmds    []rueidis.Completed
	results []rueidis.RedisResult
	turn    chan []*shared // the calls its caller has to send, this one first; nil: it has been sent
}

// Do sends the commands, in order, and returns their results.
func (s *share) Do(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	s.mu.Lock()
	if !s.busy {
		s.busy = true
		s.mu.Unlock()
		defer s.next()
		return s.Client.DoMulti(ctx, cmds...)
	}
	mine := &shared{cmds: cmds, turn: make(chan []*shared, 1)}
	s.line = append(s.line, mine)
	s.mu.Unlock()
	all := <-mine.turn // the call under way has a deadline, so this ends
	if all == nil {
		return mine.results
	}
	defer s.next()
	s.sendAll(ctx, all)
	return mine.results
}

// sendAll sends the calls of all in one round trip and hands out the results.
func (s *share) sendAll(ctx context.Context, all []*shared) {
	// The first's cancellation is not the others'; its deadline is like theirs.
	if deadline, ok := ctx.Deadline(); ok {
		bounded, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		ctx = bounded
	}
	var cmds []rueidis.Completed
	for _, call := range all {
		cmds = append(cmds, call.cmds...)
	}
	results := s.Client.DoMulti(ctx, cmds...)
	for _, call := range all {
		call.results, results = results[:len(call.cmds):len(call.cmds)], results[len(call.cmds):]
	}
	for _, call := range all[1:] {
		call.turn <- nil
	}
}

// mostShared is how many calls go out together.
const mostShared = 64

// next hands the line to the first in it.
func (s *share) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.line), mostShared)
	if n == 0 {
		s.busy = false
		return
	}
	all := s.line[:n:n]
	s.line = append([]*shared(nil), s.line[n:]...)
	all[0].turn <- all
}

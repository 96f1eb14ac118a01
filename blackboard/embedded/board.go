package embedded

import (
	"bufio"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// board is the state in memory: a miniredis in which one command runs at a
// time. miniredis has a lock of its own, but leaves it locked when a command
// panics; under ours nobody else can be waiting for it, so it can be freed.
type board struct {
	mu      sync.Mutex // held around every use of the fields below
	mini    *miniredis.Miniredis
	db      *miniredis.RedisDB
	tables  tables // within db
	srv     *server.Server
	quiet   *server.Peer // takes the answers nobody waits for
	lua     *interpreter
	scripts map[string]*luaScript
	own     func(sha string) bool
	waiting map[string]map[*waiter]struct{} // by stream

	run     execution // the command that is running
	caller  *client   // its client
	unset   int       // see foreign
	foreign atomic.Pointer[foreign]
}

// execution has the facts of a command for the hook, and its findings.
type execution struct {
	nested  bool // the command itself has passed the hook; later calls are from its script
	mode    mode
	effects [][]string
	grown   []string // streams that were added to
}

func newBoard(own func(sha string) bool) (*board, error) {
	mini := miniredis.NewMiniRedis()
	first, err := mini.Dial() // starts it without a listener
	if err != nil {
		return nil, fmt.Errorf("start miniredis: %w", err)
	}
	_ = first.Close()
	b := &board{
		mini: mini, db: mini.DB(0), srv: mini.Server(),
		quiet:   server.NewPeer(bufio.NewWriter(io.Discard)),
		scripts: map[string]*luaScript{}, own: own,
		waiting: map[string]map[*waiter]struct{}{},
	}
	if b.tables, err = graft(b.db); err != nil {
		mini.Close()
		return nil, err
	}
	b.srv.SetPreHook(b.hook)
	b.lua = newInterpreter(b)
	return b, nil
}

// unlock frees miniredis after a panic: it may have been locked by the command that
// panicked.
func (b *board) unlock() {
	b.mini.TryLock()
	b.mini.Unlock()
}

// dispatch executes one command and returns the write commands its script
// issued. The caller holds b.mu. A panic within miniredis comes back as error;
// the changes it made by then stay, here as in a replay.
func (b *board) dispatch(p *server.Peer, at time.Time, m mode, args []string) (effects [][]string, err error) {
	b.mini.SetTime(at)
	b.run = execution{mode: m}
	defer func() {
		if r := recover(); r != nil {
			b.unlock()
			err = fmt.Errorf("execute %.32s: %v", args[0], r)
		}
		effects = b.run.effects
		b.wake()
	}()
	if isScriptCall(args) {
		b.run.nested = true
		b.lua.run(p, b.scripts[args[1]], args)
	} else {
		b.srv.Dispatch(p, args)
	}
	p.Flush()
	return nil, nil
}

// hook runs before every command, also before those of scripts. It returns
// true when it has answered itself.
func (b *board) hook(p *server.Peer, name string, args ...string) bool {
	if !b.run.nested {
		b.run.nested = true
		b.note(name, args)
		return false
	}
	c := classes()[name]
	switch {
	case c == unknown:
		p.WriteError(refusal(name))
		return true
	case c == random && b.run.mode == logged:
		p.WriteError(fmt.Sprintf("ERR '%s' in a script: a replay would pick another member", name))
		return true
	case c == connection || c == subscribe || c == script:
		p.WriteError(fmt.Sprintf("ERR '%s' is not allowed in scripts", name))
		return true
	case (c == write || c == publish) && b.run.mode == readonly:
		p.WriteError("ERR Write commands are not allowed in read-only scripts")
		return true
	}
	whole := append([]string{name}, args...)
	switch {
	case name == "XRANGE" || name == "XREVRANGE":
		p.WriteRaw(string(b.xrange(nil, whole)))
		return true
	case c != write:
		return false
	}
	if msg := checkWrite(name, whole); msg != "" {
		p.WriteError(msg)
		return true
	}
	if f := b.foreign.Load(); f != nil && !f.write() {
		p.WriteError(msgKilled)
		return true
	}
	b.note(name, args)
	if b.run.mode == logged {
		b.run.effects = append(b.run.effects, whole)
	}
	return false
}

// note remembers which streams grow.
func (b *board) note(name string, args []string) {
	if name == "XADD" && len(args) > 0 {
		b.run.grown = append(b.run.grown, args[0])
	}
}

// wake tells the readers that wait for a stream that it may have grown.
func (b *board) wake() {
	for _, key := range b.run.grown {
		for w := range b.waiting[key] {
			select {
			case w.ready <- struct{}{}:
			default: // it has been told already
			}
		}
	}
}

// learn makes a script known to the board, or says why it cannot be one. The
// caller holds b.mu.
func (b *board) learn(body string) (s *luaScript, objection string) {
	s = newScript(body)
	if known := b.scripts[s.sha]; known != nil {
		return known, ""
	}
	if msg := s.compile(); msg != "" {
		return nil, msg
	}
	s.own = b.own(s.sha)
	b.scripts[s.sha] = s
	return s, ""
}

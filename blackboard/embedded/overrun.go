package embedded

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// defaultBusyAfter is the time that Redis gives a script.
const defaultBusyAfter = 5 * time.Second

// replayPatience is how many times the time of a script one may take that is run again at
// a start: it may have been acknowledged.
const replayPatience = 12

const (
	msgBusy       = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	msgNotBusy    = "NOTBUSY No scripts in execution right now."
	msgUnkillable = "UNKILLABLE Sorry the script already executed write commands against the dataset. " +
		"You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."
	msgKilled   = "ERR Error running script: Script killed by user with SCRIPT KILL."
	msgShutdown = "ERR SHUTDOWN is served only while a script without an end cannot be ended alone"
)

// ErrOverrun ends Serve: a script without an end could not be ended alone. The next Open
// has everything but that script's writes, and those of unlogged scripts.
var ErrOverrun = errors.New("a script without an end could not be ended alone: the blackboard has to be opened anew, without its writes")

// notCommitter is the unset of a script that another goroutine than the committer runs.
const notCommitter = -1

// closed is a channel that always is.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// foreign is a running script that is not the owner's. It is the context of the Lua
// state, which asks it at every instruction whether the script is to end.
type foreign struct {
	context.Context
	began  time.Time
	sha    string
	client *client // nil: at a start
	unset  int     // calls in the log, from this one on, whose effects are not known; or notCommitter

	cut atomic.Bool // it ends at the next instruction

	mu    sync.Mutex
	wrote bool
	over  bool      // it has returned
	asked time.Time // when it was first ended
}

// Done is closed when the script is to end; nil until then, which is looked at fastest.
func (f *foreign) Done() <-chan struct{} {
	if f.cut.Load() {
		return closed
	}
	return nil
}

// Err is the error with which the script ends.
func (f *foreign) Err() error { return errors.New(strings.TrimPrefix(msgKilled, "ERR ")) }

// write says whether the script may still write.
func (f *foreign) write() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrote = f.wrote || !f.cut.Load()
	return !f.cut.Load()
}

// watch puts the Lua state under the eyes of a foreign script's watch; own scripts have
// an end, and run faster without it. end is called when the script has returned.
func (b *board) watch(l *lua.LState, s *luaScript) (end func()) {
	if s.own {
		return func() {}
	}
	f := &foreign{Context: context.Background(), began: time.Now(), sha: s.sha, client: b.caller, unset: b.unset}
	l.SetContext(f)
	b.foreign.Store(f)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.over = true
		b.foreign.Store(nil)
		l.RemoveContext()
	}
}

// busy is the script that has run for longer than it may; nil: there is none.
func (s *Server) busy() *foreign {
	if f := s.board.foreign.Load(); f != nil && time.Since(f.began) >= s.o.BusyAfter {
		return f
	}
	return nil
}

// servedBusy says whether a command is served while a script keeps the board.
func servedBusy(next incoming) bool {
	switch next.name {
	case "HELLO", "QUIT", "SHUTDOWN", "SLOWLOG":
		return true
	case "SCRIPT":
		return len(next.args) > 1 && strings.EqualFold(next.args[1], "KILL")
	case "CLIENT":
		return len(next.args) > 1 && strings.EqualFold(next.args[1], "SETINFO")
	}
	return false
}

// killScript ends a script that has written nothing, and keeps its client for the log of
// slow commands, also that of a script that has written.
func (s *Server) killScript() (answer string) {
	f := s.busy()
	if f == nil {
		return "-" + msgNotBusy
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.over:
		return "-" + msgNotBusy
	case f.asked.IsZero():
		f.asked = time.Now()
		s.slow.Store(f.slow())
	}
	if f.wrote || f.stuck(s.o.BusyAfter) {
		return "-" + msgUnkillable
	}
	f.cut.Store(true)
	return "+OK"
}

// stuck says whether the script was ended and goes on: within one call of a library.
func (f *foreign) stuck(after time.Duration) bool {
	return !f.asked.IsZero() && time.Since(f.asked) > after
}

// slow is the entry of the log of slow commands, as SLOWLOG GET answers it.
func (f *foreign) slow() *[]byte {
	at, name := "", ""
	if f.client != nil {
		at, name = f.client.conn.RemoteAddr().String(), *f.client.name.Load()
	}
	b := appendInt(appendLen(nil, 6), 1)
	b = appendInt(b, int(time.Now().Unix()))
	b = appendInt(b, int(time.Since(f.began).Microseconds()))
	b = appendBulk(appendBulk(appendLen(b, 2), "EVALSHA"), f.sha)
	b = appendBulk(appendBulk(b, at), name)
	return &b
}

// slowlog answers SLOWLOG GET with the last script that was ended or is to be ended with
// the server. Redis answers that one only when it has ended.
func (s *Server) slowlog() []byte {
	entry := s.slow.Load()
	if entry == nil {
		return appendLen(nil, 0)
	}
	return append(appendLen(nil, 1), *entry...)
}

// leave ends the server without a script that cannot be ended alone. The log gets to know
// that the script, and those behind it in its frame, did nothing, so that the next start
// does not run them.
func (s *Server) leave() (answer string) {
	f := s.busy()
	if f == nil {
		return "-" + msgShutdown
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || !f.wrote && !f.stuck(s.o.BusyAfter) || s.left.Swap(true) {
		return "-" + msgShutdown
	}
	f.cut.Store(true)
	if f.unset != notCommitter { // the committer waits for this script, and touches nothing when it returns
		s.effects = append(s.effects, make([][][]string, f.unset)...)
		if err := s.flushEffects(); err != nil {
			s.o.Logger.Error("ended script not noted", "error", err)
		}
	}
	s.o.Logger.Error("blackboard ends without a script that had no end", "script", f.sha, "ran", time.Since(f.began))
	close(s.leaving)
	return "+OK"
}

// hello answers HELLO while the board is not to be had.
func hello() []byte {
	b := appendLen(nil, 14)
	for _, s := range []string{"server", "miniredis", "version", "8.4.0"} {
		b = appendBulk(b, s)
	}
	b = appendInt(appendBulk(b, "proto"), 2)
	b = appendInt(appendBulk(b, "id"), 1)
	for _, s := range []string{"mode", "standalone", "role", "master", "modules"} {
		b = appendBulk(b, s)
	}
	return appendLen(b, 0)
}

// named keeps the name that a client gives its connection.
func (c *client) named(next incoming) {
	switch {
	case next.name == "CLIENT" && len(next.args) == 3 && strings.EqualFold(next.args[1], "SETNAME"):
		c.name.Store(&next.args[2])
	case next.name == "HELLO":
		for i := 1; i+1 < len(next.args); i++ {
			if strings.EqualFold(next.args[i], "SETNAME") {
				c.name.Store(&next.args[i+1])
			}
		}
	}
}

// endlessError says that a script which a start runs again has no end.
type endlessError struct{ from, calls int }

func (e *endlessError) Error() string {
	return "a script at the end of the log has no end: call " + strconv.Itoa(e.from)
}

// again runs a call at the end of a log. A foreign script without an end keeps the board
// that it runs on, so that the start begins anew without it.
func (rp *replay) again(it item) (effects [][]string, ended bool) {
	b := rp.s.board
	if b.scripts[it.list[1]].own {
		return rp.run(it), true
	}
	done := make(chan [][]string, 1)
	go func() { done <- rp.run(it) }()
	late := time.NewTimer(replayPatience * rp.s.o.BusyAfter)
	defer late.Stop()
	select {
	case effects := <-done:
		return effects, true
	case <-late.C:
		if f := b.foreign.Load(); f != nil {
			f.cut.Store(true)
		}
		return nil, false
	}
}

package embedded

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// readAhead is how many commands of a pipeline are read before they are executed.
const readAhead = 128

// client is one connection. Three goroutines serve it: one reads commands, one
// executes them in order, one sends answers. So a slow reader holds up nobody,
// and a disconnect is noticed while a command is blocked.
type client struct {
	s    *Server
	conn net.Conn
	gate gate // used by the reading goroutine alone
	in   chan incoming
	gone chan struct{} // closed when nobody is left to answer
	once sync.Once

	name atomic.Pointer[string] // as the client calls itself

	out  *outbox
	w    *bufio.Writer // between peer and out
	peer *server.Peer  // miniredis' side of the connection

	pending  []*request // writes of this pipeline, not yet handed in
	bytes    int        // their size
	channels map[string]struct{}
	patterns map[string]struct{}
}

// incoming is a command, or the answer to a line that is none.
type incoming struct {
	name   string
	args   []string
	answer string
	last   bool // the connection ends with it
}

func newClient(s *Server, conn net.Conn) *client {
	out := newOutbox(conn)
	w := bufio.NewWriterSize(out, 16<<10)
	c := &client{
		s: s, conn: conn, out: out, w: w, peer: server.NewPeer(w),
		gate: gate{password: s.o.Password, open: s.o.Password == ""},
		in:   make(chan incoming, readAhead), gone: make(chan struct{}),
		channels: map[string]struct{}{}, patterns: map[string]struct{}{},
	}
	c.name.Store(new(string))
	return c
}

// serve runs the connection to its end.
func (c *client) serve() {
	var wg sync.WaitGroup
	wg.Go(c.read)
	wg.Go(c.out.send)
	c.executeAll()
	c.unsubscribe()
	c.out.close() // its replies are sent, and then the connection closed
	wg.Wait()
}

// hangUp ends the connection from outside.
func (c *client) hangUp() {
	c.once.Do(func() { close(c.gone) })
	c.out.abort()
}

// read reads commands until the connection ends.
func (c *client) read() {
	defer close(c.in)
	defer c.once.Do(func() { close(c.gone) })
	r := bufio.NewReaderSize(c.conn, 16<<10)
	for {
		lim := strangerLimits
		if c.gate.open {
			lim = clientLimits
		}
		args, err := readCommand(r, lim)
		var broken protocolError
		if err != nil && !errors.As(err, &broken) {
			return
		}
		next := incoming{args: args}
		switch {
		case err != nil:
			next.answer, next.last = "-ERR "+broken.Error(), true
		case len(args) == 0:
			continue
		default:
			next.name = strings.ToUpper(args[0])
			next.answer = c.gate.pass(next.name, args)
			next.last = next.name == "QUIT"
		}
		select {
		case c.in <- next:
		case <-c.gone:
			return
		}
		if next.last {
			return
		}
	}
}

// executeAll executes commands in order. Writes are collected for as long as
// the pipeline has more, and handed in together.
func (c *client) executeAll() {
	for {
		var next incoming
		var ok bool
		if len(c.pending) > 0 {
			select {
			case next, ok = <-c.in:
			default:
				if !c.flush() {
					return
				}
				continue
			}
		} else {
			next, ok = <-c.in
		}
		if !ok || !c.handle(next) {
			c.flush()
			return
		}
	}
}

// enqueue adds a write to the pipeline's.
func (c *client) enqueue(r *request) bool {
	c.pending = append(c.pending, r)
	for _, a := range r.args {
		c.bytes += len(a)
	}
	if len(c.pending) >= groupRequests || c.bytes >= groupBytes {
		return c.flush()
	}
	return true
}

// flush hands the collected writes in and waits for their answers. False: the
// connection is over.
func (c *client) flush() bool {
	if len(c.pending) == 0 {
		return true
	}
	requests := c.pending
	c.pending, c.bytes = nil, 0
	if !c.out.drain() || !c.s.submit(requests) {
		c.out.abort() // half of a pipeline answered would be answers to the wrong commands
		return false
	}
	return true
}

// handle executes one command, or collects it. False: the connection is over.
func (c *client) handle(next incoming) bool {
	kind := classes()[next.name]
	listening := len(c.channels)+len(c.patterns) > 0
	if next.answer == "" && !servedBusy(next) && c.s.busy() != nil {
		next.answer = "-" + msgBusy
	}
	switch {
	case next.answer != "" || kind == unknown:
	case listening && kind != subscribe && next.name != "PING" && next.name != "QUIT":
		next.answer = "-ERR Can't execute '" + strings.ToLower(next.name) +
			"': only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT are allowed in this context"
	case kind == write:
		if message := checkWrite(next.name, next.args); message != "" {
			next.answer = "-" + message
			break
		}
		return c.enqueue(&request{c: c, args: next.args})
	case kind == script:
		return c.script(next)
	}
	if !c.flush() || !c.out.drain() {
		return false
	}
	switch {
	case next.answer != "":
		c.answer(next.answer)
	case kind == unknown:
		c.fail(refusal(next.name))
	case kind == stream:
		c.stream(next)
	case kind == subscribe:
		c.subscribe(next)
	case kind == connection:
		c.connection(next)
	default:
		c.direct(readonly, next.args)
	}
	return !next.last
}

// answer sends one line.
func (c *client) answer(line string) {
	if message, isError := strings.CutPrefix(line, "-"); isError {
		c.fail(message)
		return
	}
	_, _ = c.out.Write([]byte(line + "\r\n"))
}

// fail sends an error.
func (c *client) fail(message string) {
	_, _ = c.out.Write(appendError(nil, message))
}

// direct executes a command that is not logged.
func (c *client) direct(m mode, args []string) {
	c.s.board.mu.Lock()
	defer c.s.board.mu.Unlock()
	if c.s.left.Load() {
		c.out.abort() // half of a script's writes are to be seen by nobody
		return
	}
	c.s.board.unset = notCommitter
	c.dispatch(c.s.clock.now(), m, args)
}

// dispatch executes a command and puts its answer into the outbox. The caller
// holds the board.
func (c *client) dispatch(at time.Time, m mode, args []string) (effects [][]string) {
	before := c.out.written()
	c.s.board.caller = c
	effects, err := c.s.board.dispatch(c.peer, at, m, args)
	if err == nil {
		return effects
	}
	c.s.o.Logger.Error("command panicked", "command", args[0], "error", err)
	c.peer.Block(func(*server.Writer) { c.w.Reset(c.out) }) // its answers so far
	if c.out.written() != before {
		c.out.abort() // part of an answer is out, and cannot be taken back
		return effects
	}
	c.fail("ERR " + err.Error())
	return effects
}

// connection answers the commands that are about the connection.
func (c *client) connection(next incoming) {
	args := next.args
	c.named(next)
	switch {
	case next.name == "QUIT":
		c.answer("+OK")
	case next.name == "SHUTDOWN":
		c.answer(c.s.leave())
	case next.name == "SLOWLOG" && len(args) > 1 && strings.EqualFold(args[1], "GET"):
		_, _ = c.out.Write(c.s.slowlog())
	case next.name == "SLOWLOG":
		c.fail("ERR unknown subcommand: the embedded blackboard serves SLOWLOG GET")
	case next.name == "HELLO" && c.s.busy() != nil:
		_, _ = c.out.Write(hello())
	case next.name == "HELLO":
		c.direct(readonly, []string{"HELLO", "2"})
	case next.name == "SELECT" && len(args) == 2 && args[1] != "0":
		c.fail("ERR DB index is out of range: there is one database, 0")
	case next.name == "CLIENT" && len(args) == 4 && strings.EqualFold(args[1], "SETINFO"):
		c.answer("+OK")
	default:
		c.direct(readonly, args)
	}
}

// subscribe changes the subscriptions of the connection.
func (c *client) subscribe(next incoming) {
	c.direct(readonly, next.args)
	set := c.channels
	if strings.HasPrefix(next.name, "P") {
		set = c.patterns
	}
	names := next.args[1:]
	switch {
	case strings.HasSuffix(next.name, "UNSUBSCRIBE") && len(names) == 0:
		clear(set)
	case strings.HasSuffix(next.name, "UNSUBSCRIBE"):
		for _, n := range names {
			delete(set, n)
		}
	default:
		for _, n := range names {
			set[n] = struct{}{}
		}
	}
	c.out.listen(len(c.channels)+len(c.patterns) > 0)
}

// unsubscribe makes miniredis forget a connection that is over.
func (c *client) unsubscribe() {
	if len(c.channels)+len(c.patterns) > 0 {
		c.direct(readonly, []string{"UNSUBSCRIBE"})
		c.direct(readonly, []string{"PUNSUBSCRIBE"})
	}
}

// stream answers the commands that read streams.
func (c *client) stream(next incoming) {
	b := c.s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.s.left.Load() {
		c.out.abort()
		return
	}
	if next.name != "XREAD" {
		_, _ = c.out.Write(b.xrange(nil, next.args))
		return
	}
	x, message := parseXread(next.args)
	if message == "" {
		message = b.resolve(&x)
	}
	if message != "" {
		c.fail(message)
		return
	}
	reply, found, message := b.collect(nil, &x)
	if !found && message == "" && x.waits {
		reply, found, message = c.await(&x)
	}
	switch {
	case message != "":
		c.fail(message)
	case found:
		_, _ = c.out.Write(reply)
	default:
		_, _ = c.out.Write([]byte(nilArray))
	}
}

// await blocks until one of the streams has something to read, the time is
// over, or the client is gone. The caller holds the board, and has it again
// when await returns.
func (c *client) await(x *xread) (reply []byte, found bool, message string) {
	b := c.s.board
	w := &waiter{ready: make(chan struct{}, 1)}
	for _, key := range x.keys {
		if b.waiting[key] == nil {
			b.waiting[key] = map[*waiter]struct{}{}
		}
		b.waiting[key][w] = struct{}{}
	}
	defer func() {
		for _, key := range x.keys {
			if delete(b.waiting[key], w); len(b.waiting[key]) == 0 {
				delete(b.waiting, key)
			}
		}
	}()
	var timeout <-chan time.Time
	if x.block > 0 {
		timer := time.NewTimer(x.block)
		defer timer.Stop()
		timeout = timer.C
	}
	for over := false; !over && !found && message == ""; {
		b.mu.Unlock()
		select {
		case <-w.ready:
		case <-timeout:
			over = true
		case <-c.gone:
			over = true
		}
		b.mu.Lock()
		reply, found, message = b.collect(nil, x)
	}
	return reply, found, message
}

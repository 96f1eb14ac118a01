package embedded

import (
	"net"
	"strconv"
	"strings"
	"sync"
)

const nilArray = "*-1\r\n"

func appendLen(b []byte, n int) []byte {
	b = strconv.AppendInt(append(b, '*'), int64(n), 10)
	return append(b, '\r', '\n')
}

func appendInt(b []byte, n int) []byte {
	b = strconv.AppendInt(append(b, ':'), int64(n), 10)
	return append(b, '\r', '\n')
}

func appendBulk(b []byte, s string) []byte {
	b = strconv.AppendInt(append(b, '$'), int64(len(s)), 10)
	b = append(append(b, '\r', '\n'), s...)
	return append(b, '\r', '\n')
}

// appendError writes an error reply; always one line.
func appendError(b []byte, message string) []byte {
	message = strings.NewReplacer("\r", " ", "\n", " ").Replace(message)
	return append(append(append(b, '-'), message...), '\r', '\n')
}

const (
	// outboxSoft is how many unsent bytes make a connection stop executing
	// commands, and a subscriber that many bytes behind be cut off.
	outboxSoft = 64 << 20
	// outboxHard bounds the waiting bytes of a connection, one huge reply included.
	outboxHard = 1 << 30
)

// outbox holds the bytes for a client, so that no answer and no publishing ever waits
// for a network.
type outbox struct {
	conn    net.Conn
	mu      sync.Mutex
	change  *sync.Cond
	buf     []byte
	total   int64 // bytes ever written
	pushed  bool  // the client subscribes: unread messages pile up without its asking
	closed  bool  // nothing more goes in
	aborted bool  // and nothing more goes out
}

func newOutbox(conn net.Conn) *outbox {
	o := &outbox{conn: conn}
	o.change = sync.NewCond(&o.mu)
	return o
}

// Write never waits. It always reports success; a closed outbox forgets.
func (o *outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return len(p), nil
	}
	o.buf = append(o.buf, p...)
	o.total += int64(len(p))
	if len(o.buf) > outboxHard || o.pushed && len(o.buf) > outboxSoft {
		o.cut()
	}
	o.change.Broadcast()
	return len(p), nil
}

// written is how many bytes were ever put in.
func (o *outbox) written() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// listen says whether the client has subscriptions.
func (o *outbox) listen(on bool) {
	o.mu.Lock()
	o.pushed = on
	o.mu.Unlock()
}

// drain waits until less than outboxSoft is unsent; false when the outbox is closed.
func (o *outbox) drain() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buf) > outboxSoft && !o.closed {
		o.change.Wait()
	}
	return !o.closed
}

// close ends the outbox: its bytes are still sent.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.change.Broadcast()
	o.mu.Unlock()
}

// abort ends it at once, and the connection with it.
func (o *outbox) abort() {
	o.mu.Lock()
	o.cut()
	o.mu.Unlock()
}

// cut is abort for a caller that holds o.mu. Closing the connection frees send from a
// client that does not read.
func (o *outbox) cut() {
	o.closed, o.aborted, o.buf = true, true, nil
	_ = o.conn.Close()
	o.change.Broadcast()
}

// send writes the bytes of the outbox to the connection, until the outbox is closed and
// empty or the connection fails. It closes the connection.
func (o *outbox) send() {
	defer o.conn.Close()
	var spare []byte
	for {
		o.mu.Lock()
		for len(o.buf) == 0 && !o.closed {
			o.change.Wait()
		}
		if len(o.buf) == 0 || o.aborted {
			o.mu.Unlock()
			return
		}
		out := o.buf
		o.buf = spare[:0]
		o.change.Broadcast()
		o.mu.Unlock()
		if _, err := o.conn.Write(out); err != nil {
			o.abort()
			return
		}
		if spare = out; cap(spare) > 1<<20 {
			spare = nil // one huge reply does not stay for the connection's life
		}
	}
}

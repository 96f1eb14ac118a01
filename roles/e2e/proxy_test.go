package e2e

import (
	"bufio"
	"crypto/sha1"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// moment is when, seen from a write, a process dies.
type moment string

const (
	before moment = "before" // the write was never made
	after  moment = "after"  // the write was made, and nobody learned of it
)

// trap kills whoever makes the n-th write of those that go by a client name.
type trap struct {
	client string // "" for any
	script string // "" for any
	n      int    // from 1
	when   moment
	kill   func()

	seen  int
	words []string // of the write that it sprang on, before kill is called
	once  sync.Once
	fired chan struct{} // closed when it has killed
}

// spring kills, once: what the server did not know the script of is counted
// again, and so two commands under way can be the n-th.
func (t *trap) spring(words []string) {
	t.once.Do(func() {
		t.words = words
		t.kill()
		close(t.fired)
	})
}

// minds says whether a write counts for the trap.
func (t *trap) minds(client, script string) bool {
	return t != nil && (t.client == "" || t.client == client) && (t.script == "" || t.script == script)
}

// proxy stands between the processes and the blackboard. It knows the protocol
// well enough to tell writes from the rest and messages from replies.
type proxy struct {
	t        testing.TB
	listener net.Listener
	upstream string
	moves    map[string]string // each script's source text by its name

	mu      sync.Mutex
	links   map[*link]bool
	names   map[string]string // scripts by SHA-1
	trap    *trap
	closed  bool
	refuse  bool                        // new connections, until it is over
	deliver func(channel string) int    // how often a notice is delivered; nil: once
	pause   func(client, script string) // called before a write is passed on; nil: not
	seen    map[write]bool              // who made which write so far
}

// write is a kind of write, and who makes it.
type write struct{ client, script string }

// link is one client's connection.
type link struct {
	p          *proxy
	down, up   net.Conn
	name       string
	subscribed bool
	waiting    chan pending // for replies
}

// pending is a command that was passed on and has not been answered.
type pending struct {
	script string   // "" when it is not one
	trap   *trap    // to spring on the reply
	words  []string // of the command, for the trap
}

func newProxy(t testing.TB, upstream string) *proxy {
	t.Helper()
	return newProxyAt(t, "127.0.0.1", upstream)
}

// newProxyAt is newProxy where the clients reach this machine at another address.
func newProxyAt(t testing.TB, host, upstream string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: l, upstream: upstream, moves: readMoves(t), links: map[*link]bool{}, names: map[string]string{}, seen: map[write]bool{}}
	go p.accept()
	t.Cleanup(p.close)
	return p
}

// readMoves reads the scripts' sources, to know them again in what is sent.
func readMoves(t testing.TB) map[string]string {
	t.Helper()
	files, _ := filepath.Glob("../../blackboard/redis/lua/*.lua")
	moves := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimSuffix(filepath.Base(f), ".lua"); name != "_lib" {
			moves[name] = string(text)
		}
	}
	if len(moves) == 0 {
		t.Fatal("no scripts found")
	}
	return moves
}

func (p *proxy) url() string { return "redis://" + p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		down, err := p.listener.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", p.upstream)
		p.mu.Lock()
		if err != nil || p.closed || p.refuse {
			p.mu.Unlock()
			_ = down.Close()
			if err == nil {
				_ = up.Close()
			}
			continue
		}
		l := &link{p: p, down: down, up: up, waiting: make(chan pending, 1<<16)}
		p.links[l] = true
		p.mu.Unlock()
		go l.commands()
		go l.replies()
	}
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.cut()
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		_ = l.down.Close()
		_ = l.up.Close()
	}
}

// isolate breaks all connections and refuses new ones until told otherwise.
func (p *proxy) isolate(on bool) {
	p.mu.Lock()
	p.refuse = on
	p.mu.Unlock()
	if on {
		p.cut()
	}
}

// notices sets how often a message of a channel is delivered; nil: once.
func (p *proxy) notices(deliver func(channel string) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deliver = deliver
}

// hold sets what is called before a write is passed on; nil: nothing.
func (p *proxy) hold(f func(client, script string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pause = f
}

// arm sets the trap. There is one at a time.
func (p *proxy) arm(t *trap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.seen, t.fired = 0, make(chan struct{})
	p.trap = t
}

// disarm takes the trap away and says whether it had sprung. A trap that is about to
// spring has killed when disarm returns.
func (p *proxy) disarm() bool {
	p.mu.Lock()
	t := p.trap
	p.trap = nil
	about := t != nil && t.seen >= t.n
	p.mu.Unlock()
	if !about {
		return false
	}
	select {
	case <-t.fired:
	case <-time.After(enough): // the answer to the write never came
	}
	return true
}

func (l *link) end() {
	_ = l.down.Close()
	_ = l.up.Close()
	l.p.mu.Lock()
	delete(l.p.links, l)
	l.p.mu.Unlock()
}

// commands passes on what the client sends.
func (l *link) commands() {
	defer l.end()
	defer close(l.waiting)
	r := bufio.NewReaderSize(l.down, 64<<10)
	for {
		raw, words, err := readMessage(r)
		if err != nil || len(words) == 0 {
			return
		}
		c, alive := l.look(words)
		if !alive {
			return
		}
		if !l.subscribing(words) { // whose replies are not one by one
			l.waiting <- c
		}
		if _, err := l.up.Write(raw); err != nil {
			return
		}
	}
}

func (l *link) subscribing(words []string) bool {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if strings.EqualFold(words[0], "SUBSCRIBE") {
		l.subscribed = true
	}
	return l.subscribed
}

// look takes note of a command, and kills its sender where that is its fate:
// then alive is false.
func (l *link) look(words []string) (c pending, alive bool) {
	switch strings.ToUpper(words[0]) {
	case "CLIENT":
		if len(words) == 3 && strings.EqualFold(words[1], "SETNAME") {
			l.nameIs(words[2])
		}
		return pending{}, true
	case "HELLO":
		for i, w := range words[:len(words)-1] {
			if strings.EqualFold(w, "SETNAME") {
				l.nameIs(words[i+1])
			}
		}
		return pending{}, true
	case "EVAL", "EVALSHA":
	default:
		return pending{}, true
	}
	p := l.p
	script := p.scriptOf(words)
	if script == "beat" || script == "renew" || script == "mark" { // the last only reads
		return pending{}, true
	}
	p.mu.Lock()
	pause := p.pause
	p.seen[write{l.name, script}] = true
	p.mu.Unlock()
	if pause != nil {
		pause(l.name, script)
	}
	p.mu.Lock()
	t := p.trap
	if t.minds(l.name, script) {
		if t.seen++; t.seen != t.n {
			t = nil
		}
	} else {
		t = nil
	}
	p.mu.Unlock()
	if t != nil && t.when == before {
		t.spring(words)
		return pending{}, false
	}
	return pending{script, t, words}, true
}

// nameIs notes the client's name.
func (l *link) nameIs(name string) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.name = name
}

// scriptOf names the script that is called; "" when it has not been seen yet.
func (p *proxy) scriptOf(words []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(words) < 2 {
		return ""
	}
	if strings.EqualFold(words[0], "EVALSHA") {
		return p.names[words[1]]
	}
	sum := sha1.Sum([]byte(words[1]))
	sha := hex.EncodeToString(sum[:])
	for name, text := range p.moves {
		if strings.HasSuffix(words[1], text) {
			p.names[sha] = name
		}
	}
	return p.names[sha]
}

// replies passes on what the server sends.
func (l *link) replies() {
	defer l.end()
	r := bufio.NewReaderSize(l.up, 64<<10)
	for {
		raw, words, err := readMessage(r)
		if err != nil {
			return
		}
		times := 1
		if l.isMessage(words) {
			times = l.times(words[1])
		} else if c, ok := l.answered(); ok {
			if strings.HasPrefix(string(raw), "-NOSCRIPT") {
				l.uncount(c)
			} else if c.trap != nil {
				c.trap.spring(c.words)
				return
			}
		}
		for range times {
			if _, err := l.down.Write(raw); err != nil {
				return
			}
		}
	}
}

// uncount forgets a call that the server did not know the script of: the same
// comes again with the script.
func (l *link) uncount(c pending) {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.trap; t.minds(l.name, c.script) {
		t.seen--
	}
}

func (l *link) answered() (pending, bool) {
	l.p.mu.Lock()
	subscribed := l.subscribed
	l.p.mu.Unlock()
	if subscribed {
		return pending{}, false
	}
	select {
	case c, ok := <-l.waiting:
		return c, ok
	case <-time.After(time.Second):
		return pending{}, false
	}
}

func (l *link) isMessage(words []string) bool {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	return l.subscribed && len(words) == 3 && words[0] == "message"
}

func (l *link) times(channel string) int {
	l.p.mu.Lock()
	deliver := l.p.deliver
	l.p.mu.Unlock()
	if deliver == nil {
		return 1
	}
	return deliver(channel)
}

// Package boardtest is a blackboard for a test: on the embedded server inside the
// test binary, or on a real redis-server, with the moves that tests make all the
// time. A move that fails ends the test. It is for tests only.
package boardtest

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
)

// Patience is how long a test waits for an expected condition.
const Patience = 5 * time.Minute

// Board is a blackboard whose leader is the test.
type Board struct {
	testing.TB
	Server *redistest.Server
	Moves  *redis.Board
	Epoch  string // of the lead that the test holds
	Ctx    context.Context
	NewID  func() string
}

// Start returns a board on the embedded server, which needs nothing but Go.
func Start(tb testing.TB, instance string) *Board {
	tb.Helper()
	return Open(tb, redistest.Embedded(tb), instance)
}

// Open returns a board on a server, with the lead taken.
func Open(tb testing.TB, server *redistest.Server, instance string) *Board {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // t.Context ends before the cleanups
	tb.Cleanup(cancel)
	b := &Board{TB: tb, Server: server, Ctx: ctx, NewID: NewID}
	var err error
	b.Moves, err = redis.Open(ctx, redis.Options{URL: server.URL, Instance: instance, Name: "test", Retries: 20})
	b.Must(err)
	tb.Cleanup(b.Moves.Close)
	return b
}

// Lead takes the lead for the test.
func (b *Board) Lead() *Board {
	b.Helper()
	lead, _, err := b.Moves.Leader.TakeLead(b.Ctx, "test", "", time.Hour)
	b.Must(err)
	b.Epoch = lead.Epoch
	return b
}

// NewID returns a random id.
func NewID() string { return blackboard.NewID(time.Now(), rand.Reader) }

// Must ends the test on an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Must ends the test on an error.
func (b *Board) Must(err error) {
	b.Helper()
	Must(b.TB, err)
}

// Until waits for a condition and ends the test when it does not come.
func Until(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for began := time.Now(); !done(); <-time.After(min(max(2*time.Millisecond, time.Since(began)/20), 50*time.Millisecond)) {
		if time.Since(began) > Patience { // looks take time from the awaited work, so they get rarer
			tb.Fatalf("waited in vain for %s", what)
		}
	}
}

// Until waits for a condition and ends the test when it does not come.
func (b *Board) Until(what string, done func() bool) {
	b.Helper()
	Until(b.TB, what, done)
}

// Send sends the server one command past everything that Sett checks, and returns
// the first line of the reply.
func (b *Board) Send(args ...string) string {
	b.Helper()
	reply, err := Send(b.Server.Addr(), args...)
	b.Must(err)
	return reply
}

// TrySend is Send for a command that the server may refuse.
func (b *Board) TrySend(args ...string) (string, error) { return Send(b.Server.Addr(), args...) }

// Send sends one command to the server at an address, and returns the first line
// of the reply.
func Send(addr string, args ...string) (string, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(Patience)); err != nil {
		return "", err
	}
	return send(c, args)
}

func send(c net.Conn, args []string) (string, error) {
	var msg strings.Builder
	msg.WriteString("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, a := range args {
		msg.WriteString("$" + strconv.Itoa(len(a)) + "\r\n" + a + "\r\n")
	}
	if _, err := c.Write([]byte(msg.String())); err != nil {
		return "", err
	}
	var line []byte
	for one := make([]byte, 1); len(line) == 0 || line[len(line)-1] != '\n'; line = append(line, one...) {
		if _, err := c.Read(one); err != nil {
			return "", err
		}
	}
	text := strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "-") {
		return "", errors.New(args[0] + ": " + text)
	}
	return text, nil
}

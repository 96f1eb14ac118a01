package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
)

// refuser is a server that refuses a script once, with an error of the test's choice.
type refuser struct {
	net.Listener
	refusal atomic.Pointer[string]
}

func startRefuser(t *testing.T) *refuser {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &refuser{Listener: l}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { r.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return r
}

// serve answers each command by its name. The other words of a command need no look.
func (r *refuser) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for in := bufio.NewReader(conn); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		answer := ""
		switch strings.TrimSpace(strings.ToUpper(line)) {
		case "PING":
			answer = "+PONG\r\n"
		case "HELLO":
			answer = "*2\r\n$5\r\nproto\r\n:2\r\n"
		case "CLIENT", "SELECT":
			answer = "+OK\r\n"
		case "HGETALL":
			answer = "*0\r\n"
		case "EVALSHA", "EVAL":
			answer = "*1\r\n$2\r\nok\r\n"
			if refusal := r.refusal.Swap(nil); refusal != nil {
				answer = "-" + *refusal + "\r\n"
			}
		default:
			continue
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// A move is made again after each transient error: sent by the server, raised in a
// script of Redis 7 or of an older one. So it is after the user was refused. Other errors end it, such as a
// right that a script lacks when it may be half done.
func TestTransient(t *testing.T) {
	r := startRefuser(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c, err := Open(ctx, Options{URL: "redis://" + r.Addr().String(), Instance: "test", Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Client.Close()
	move := func(refusal string) error {
		r.refusal.Store(&refusal)
		_, err := c.Do(ctx, "renew")
		return err
	}
	passes := []string{"ERR max number of clients reached", "NOAUTH Authentication required.", "WRONGPASS invalid username-password pair or user is disabled.",
		"NOPERM this user has no permissions to run the 'evalsha' command"}
	for code := range transient {
		passes = append(passes, code+" for a while.",
			code+" for a while. script: 5b6d, on @user_script:12.",
			"ERR Error running script (call to f_5b6d): @user_script:12: @user_script: 12: -"+code+" for a while.")
	}
	for _, refusal := range passes {
		if err := move(refusal); err != nil {
			t.Errorf("%q ended the move: %v", refusal, err)
		}
	}
	for _, refusal := range []string{
		"ERR unknown command", "WRONGTYPE Operation against a key",
		"ERR Error running script (call to f_5b6d): @user_script:12: @user_script: 12: -NOPERM The user executing the script can't run this command or subcommand",
		"NOPERM ACL failure in script: User u has no permissions to run the 'xadd' command", "ERR The user executing the script can't run this command or subcommand script: 5b6d, on @user_script:12.",
		"BUSYGROUP Consumer Group name already exists", "BUSYKEY Target key name already exists.",
		"ERR user_script:3: it said -READONLY script: 5b6d, on @user_script:3.",
		"ERR Error running script (call to f_5b6d): @user_script:12: @user_script: 12: attempt to index a nil value",
	} {
		err := move(refusal)
		if err == nil {
			t.Errorf("%q: the move was made again", refusal)
			continue
		}
		var half *blackboard.HalfMadeError
		if is := errors.As(err, &half); is != (strings.Contains(refusal, "user executing") || strings.Contains(refusal, "ACL failure")) || is && strings.Contains(err.Error(), "script:") {
			t.Errorf("%q: %v", refusal, err)
		}
	}
}

// The names of commands are read from the words of all servers, and never their arguments.
func TestLacks(t *testing.T) {
	r := startRefuser(t)
	c, err := Open(t.Context(), Options{URL: "redis://" + r.Addr().String(), Instance: "test", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Client.Close()
	for text, want := range map[string]string{
		"ERR unknown command 'XADD', with args beginning with: 'secret' 'more'":                                             "[XADD]",
		"ERR unknown command `evalsha`, with args beginning with: `a`, ":                                                    "[EVALSHA]",
		"ERR Unknown Redis command called from script script: 6f1123ac1f9b, on @user_script:8.":                             "[]",
		"ERR Error running script (call to f_6f11): @user_script:8: @user_script: 8: Unknown Redis command called from Lua": "[]",
		"ERR wrong number of arguments for 'get' command":                                                                   "",
	} {
		r.refusal.Store(&text)
		_, err := c.Do(t.Context(), "renew")
		var lacks *blackboard.CommandError
		if is := errors.As(err, &lacks); err == nil || is != (want != "") || is && fmt.Sprint(lacks.Commands) != want || is && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

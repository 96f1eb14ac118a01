package redis

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// overran is a server with a script without an end on it, and the ends that its
// administrator was told of.
type overran struct {
	*redistest.Server
	admin string
	ended chan blackboard.Overrun
	stays chan error
}

// overrun has the agent a run a script under a connection's name of its choice.
func overrun(t *testing.T, name, script string) *overran {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users.acl")
	must(t, os.WriteFile(file, ACLFile("test", adminPassword, Users{Agents: []string{"a", "b"}}), 0o600))
	s := &overran{redistest.Start(t, "--aclfile", file, "--busy-reply-threshold", "20", "--appendonly", "yes"), "",
		make(chan blackboard.Overrun, 16), make(chan error, 64)}
	s.admin = (&url.URL{Scheme: "redis", User: url.UserPassword(AdminUser, adminPassword), Host: s.Addr()}).String()
	b := open(t, s.admin)
	must(t, b.SetInstance(testContext(t), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "test"}))
	attacker := dial(t, s.Addr())
	if got := attacker.say("AUTH", AgentUser("a"), AgentPassword(adminPassword, "a")); got != "+OK" {
		t.Fatal(got)
	}
	if got := attacker.say("CLIENT", "SETNAME", name); got != "+OK" {
		t.Fatal(got)
	}
	attacker.send("EVAL", script, "1", "sett:{test}:events")
	until(t, "a busy server", func() bool { return b.Ping(t.Context()) != nil })
	return s
}

// open connects as an orchestrator does.
func (s *overran) open(t *testing.T, restart bool, retries int) (*Board, error) {
	b, err := Open(testContext(t), store.Options{URL: s.admin, Instance: "test", Name: "orchestrator", Retries: retries, Backoff: 10 * time.Millisecond,
		Overruns: Overruns{Ended: func(o blackboard.Overrun) { s.ended <- o }, Failed: func(err error) { s.stays <- err }, Restart: restart}})
	if err == nil {
		t.Cleanup(b.Close)
	}
	return b, err
}

// An agent's script without an end is ended by an orchestrator that has just begun, and
// the agent is named by its user, whatever it calls itself.
func TestOverrunIsEnded(t *testing.T) {
	for name, script := range map[string]string{
		"":      "while true do end",
		"cub-b": "while true do pcall(function() while true do redis.call('GET', KEYS[1] .. 'x') end end) end",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := overrun(t, name, script)
			b, err := s.open(t, true, 100)
			must(t, err)
			must(t, b.Ping(testContext(t)))
			o := <-s.ended
			if o.Agent != "a" || o.User != AgentUser("a") || o.Name != name || o.Addr == "" || o.Ran < 20*time.Millisecond || o.Restarted {
				t.Errorf("ended %+v", o)
			}
			lead, _, err := b.Leader.TakeLead(testContext(t), "o", "", time.Hour)
			must(t, err)
			for range 2 {
				must(t, b.Leader.NoteOverrun(testContext(t), lead.Epoch, "01", o))
			}
			wantError(t, "a stale leader's entry", b.Leader.NoteOverrun(testContext(t), "1 x", "02", o), blackboard.ErrStale)
			events, err := b.Ledger.History(testContext(t), blackboard.Beginning, 100)
			must(t, err)
			var said []string
			for _, e := range events {
				if e.Kind == blackboard.EventOverrun {
					said = append(said, e.Agent+" "+e.Attributes["user"])
				}
			}
			wantList(t, "ledger", said, "a agent-a")
		})
	}
}

// wrote is a script without an end that has written.
const wrote = "redis.call('SET', string.gsub(KEYS[1], 'events', 'half'), 1) while true do end"

// A script that has written ends with the server, which somebody starts again: nothing
// of it is there then.
func TestOverrunThatWroteRestarts(t *testing.T) {
	t.Parallel()
	s := overrun(t, "cub-a", wrote)
	opened := make(chan error, 1)
	var b *Board
	go func() {
		var err error
		b, err = s.open(t, true, 100)
		opened <- err
	}()
	if o := <-s.ended; !o.Restarted {
		t.Errorf("ended %+v", o)
	}
	until(t, "the server's end", func() bool {
		conn, err := net.Dial("tcp", s.Addr())
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	s.Kill()
	s.Restart()
	must(t, <-opened)
	if half, err := b.c.Text(testContext(t), "look", "GET", "sett:{test}:half"); half != "" || err != nil {
		t.Errorf("half of it is there: %q %v", half, err)
	}
	if state, err := b.State(testContext(t)); state != blackboard.InstanceRunning || err != nil {
		t.Errorf("state %q %v", state, err)
	}
}

// A server that is not Sett's own is not ended: it is said how to.
func TestOverrunThatWroteElsewhere(t *testing.T) {
	t.Parallel()
	s := overrun(t, "cub-a", wrote)
	_, err := s.open(t, false, 3)
	if !errors.Is(err, blackboard.ErrBusy) || !errors.Is(err, blackboard.ErrUnavailable) {
		t.Errorf("opened: %v", err)
	}
	if why := fmt.Sprint(<-s.stays); !strings.Contains(why, "SHUTDOWN NOSAVE") {
		t.Errorf("it stays: %s", why)
	}
}

// Who is no orchestrator ends no script.
func TestOverrunIsNotEveryonesToEnd(t *testing.T) {
	t.Parallel()
	s := overrun(t, "", "while true do end")
	_, err := Open(testContext(t), store.Options{URL: s.admin, Instance: "test", Retries: 2, Backoff: time.Millisecond})
	if !errors.Is(err, blackboard.ErrBusy) {
		t.Errorf("opened: %v", err)
	}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Overruns tell the cure of a script without an end. While one runs, the server
// answers everybody else with BUSY, for good.
type Overruns struct {
	// Ended is told of each script that was ended; nil: no script is ended.
	Ended func(blackboard.Overrun)
	// Failed is told why one could not be ended.
	Failed func(error)
	// Restart allows to end the server with a script that has written, which cannot be
	// ended alone. Somebody has to start the server again.
	Restart bool
}

// Prefixes of names on a server.
const (
	CubName   = "cub-"   // a cub's connection; the agent's name follows
	AgentUser = "agent-" // an agent's user; its name follows
)

// busy says whether the server runs a script for longer than it allows.
func busy(err error) bool {
	var re *rueidis.RedisError
	return errors.As(err, &re) && code(re.Error()) == "BUSY"
}

// endScript ends the script that keeps the server busy, and tells of it.
func (c *Conn) endScript(ctx context.Context) {
	if c.Options.Overruns.Ended == nil || !c.ending.TryLock() {
		return
	}
	defer c.ending.Unlock()
	ctx, cancel := context.WithTimeout(ctx, c.Options.Timeout)
	defer cancel()
	o, ended, err := c.endOverrun(ctx)
	switch {
	case err != nil:
		c.Options.Overruns.Failed(fmt.Errorf("end a script that keeps the blackboard busy: %w", err))
	case ended:
		c.Options.Overruns.Ended(o)
	}
}

// endOverrun ends the script on a connection of its own. A busy server takes no name of
// a new connection, and nothing but a few commands.
func (c *Conn) endOverrun(ctx context.Context) (o blackboard.Overrun, ended bool, err error) {
	opt, err := ClientOption(c.Options)
	if err != nil {
		return o, false, err
	}
	opt.ClientName = ""
	if c.Client != nil {
		opt.InitAddress, opt.Sentinel.MasterSet = []string{c.homeAddr(ctx)}, ""
	}
	client, err := rueidis.NewClient(opt)
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return o, false, err
	}
	err = client.Do(ctx, client.B().ScriptKill().Build()).Error()
	var re *rueidis.RedisError
	switch {
	case err == nil:
		o, err = c.culprit(ctx, client)
		return o, true, err
	case !errors.As(err, &re):
		return o, false, err
	case code(re.Error()) == "NOTBUSY":
		return o, false, nil
	case code(re.Error()) != "UNKILLABLE":
		return o, false, fmt.Errorf("%w: on that server, type SCRIPT KILL", err)
	case !c.Options.Overruns.Restart:
		return o, false, errors.New("it has written, so it cannot be ended alone, and the server is not Sett's own: " +
			"on that server, type SHUTDOWN NOSAVE, and start it again")
	}
	// Sett's own server names the client while the script runs, Redis does not.
	entries, _ := client.Do(ctx, client.B().SlowlogGet().Count(16).Build()).ToArray()
	o = slowestOf(entries)
	o.Agent = agentOf(o)
	_ = client.Do(ctx, client.B().Arbitrary("SHUTDOWN", "NOSAVE").Build()).Error() // it answers by hanging up
	o.Restarted = true
	return o, true, nil
}

// slow is an entry of the server's log of slow commands.
type slow struct {
	at         int64 // when it ended, in seconds
	ran        time.Duration
	script     bool
	addr, name string
}

// culprit finds the client of the script that was just ended: the slowest of the last
// calls of a script in the server's log of slow commands.
func (c *Conn) culprit(ctx context.Context, client rueidis.Client) (o blackboard.Overrun, err error) {
	var entries []rueidis.RedisMessage
	for {
		entries, err = client.Do(ctx, client.B().SlowlogGet().Count(16).Build()).ToArray()
		if !busy(err) {
			break
		}
		select { // the script takes a moment to end
		case <-ctx.Done():
			return o, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	o = slowestOf(entries)
	o.User = userAt(ctx, client, o.Addr)
	o.Agent = agentOf(o)
	return o, allowed(err)
}

// slowestOf is the slowest of the last calls of a script.
func slowestOf(entries []rueidis.RedisMessage) (o blackboard.Overrun) {
	var last int64
	for _, e := range entries { // newest first
		call := readSlow(e)
		last = max(last, call.at)
		if call.script && call.at > last-2 && call.ran > o.Ran {
			o.Ran, o.Addr, o.Name = call.ran, call.addr, call.name
		}
	}
	return o
}

// agentOf is the agent of a client, by its user, else by its name; empty: it is no cub.
func agentOf(o blackboard.Overrun) string {
	if agent, is := strings.CutPrefix(o.User, AgentUser); is {
		return agent
	}
	// All clients have one user, or this one has hung up.
	if agent, is := strings.CutPrefix(o.Name, CubName); is {
		return agent
	}
	return ""
}

// readSlow reads an entry: number, time, microseconds, the command's words, address and
// name of the client.
func readSlow(m rueidis.RedisMessage) (s slow) {
	fields, _ := m.ToArray()
	if len(fields) < 6 {
		return s // of a server before Redis 4
	}
	s.at, _ = fields[1].AsInt64()
	micros, _ := fields[2].AsInt64()
	s.ran = time.Duration(micros) * time.Microsecond
	words, _ := fields[3].AsStrSlice()
	s.script = len(words) > 0 && (strings.HasPrefix(strings.ToUpper(words[0]), "EVAL") || strings.HasPrefix(strings.ToUpper(words[0]), "FCALL"))
	s.addr, _ = fields[4].ToString()
	s.name, _ = fields[5].ToString()
	return s
}

// userAt returns the user of the client at an address; empty: it has hung up, or the
// server does not tell.
func userAt(ctx context.Context, client rueidis.Client, addr string) (user string) {
	clients, _ := client.Do(ctx, client.B().ClientList().Build()).ToString()
	for line := range strings.Lines(clients) {
		facts := map[string]string{}
		for _, field := range strings.Fields(line) {
			name, value, _ := strings.Cut(field, "=")
			facts[name] = value
		}
		if addr != "" && facts["addr"] == addr {
			return facts["user"]
		}
	}
	return ""
}

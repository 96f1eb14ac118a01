package store

import (
	"context" // #nosec G505 -- Redis names scripts by it
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/lua"
)

// Move is a call of a script, not yet made.
type Move struct {
	Script string
	Args   []string
}

// Reply is the answer of a script: its status and the rest.
type Reply struct {
	Status string
	Rest   []rueidis.RedisMessage
	err    error // of a script that Redis could not run
}

// Text returns an element of the rest; empty when there is none.
func (r Reply) Text(i int) string {
	if i >= len(r.Rest) {
		return ""
	}
	s, err := r.Rest[i].ToString()
	if err != nil {
		return ""
	}
	return s
}

// Do makes one move, again and again while Redis cannot be reached, within the
// bounds of the options. That is safe, because every script may be repeated.
func (c *Conn) Do(ctx context.Context, name string, args ...string) (Reply, error) {
	rs, err := c.DoAll(ctx, Move{name, args})
	if err == nil && rs[0].Status == "miscounted" {
		// Not in one round trip: a server that does not know the first script makes the second before it.
		if _, err = c.DoAll(ctx, Move{"recount", []string{rs[0].Text(0), "a count would have fallen below zero"}}); err == nil {
			rs, err = c.DoAll(ctx, Move{name, args})
		}
	}
	if err != nil {
		return Reply{}, err
	}
	return rs[0], nil
}

// DoAll makes moves in order, in one round trip. When Redis becomes unreachable
// in between, all are repeated: those already made answer that they were. UnsureError: one
// attempt may have made them, or made them without the word of the replicas.
func (c *Conn) DoAll(ctx context.Context, moves ...Move) ([]Reply, error) {
	var out []Reply
	unsure, made := false, false
	name := moves[0].Script
	err := c.retry(ctx, name, c.Options.Timeout+onTheWay(moves), func(ctx context.Context) (err error) {
		if led[name] {
			if err := c.sure(ctx); err != nil {
				return err
			}
		}
		out, err = c.call(ctx, moves)
		unsure = unsure || unanswered(err)
		made = made || errors.Is(err, errUnconfirmed) && len(out) > 0 && Refused(out[0]) == nil
		return err
	})
	if (unsure || made) && errors.Is(err, blackboard.ErrUnavailable) {
		err = &blackboard.UnsureError{Made: made, Err: err}
	}
	if err == nil && led[name] {
		went(c, out[0])
	}
	return out, err
}

// unanswered says that a call was sent, as far as anybody knows, and not answered. One that replicas have
// not confirmed was answered.
func unanswered(err error) bool {
	if err == nil || errors.Is(err, errUnconfirmed) {
		return false
	}
	var dialled *net.OpError
	_, answered := rueidis.IsRedisErr(err)
	return !answered && (!errors.As(err, &dialled) || dialled.Op != "dial")
}

// slowest is the least speed of a link or server that still counts as an answer, in
// bytes per second.
const slowest = 1 << 20

// onTheWay is the time that the arguments of moves may take, which a call gets on top
// of its usual limit. Without it a result of many MiB would be repeated for ever over a
// link that is a little slow.
func onTheWay(moves []Move) time.Duration {
	var size int
	for _, m := range moves {
		for _, arg := range m.Args {
			size += len(arg)
		}
	}
	return time.Duration(size/slowest) * time.Second
}

// call sends the moves once. A script that the server has forgotten, as after a restart,
// is sent whole.
func (c *Conn) call(ctx context.Context, moves []Move) ([]Reply, error) {
	switch name := moves[0].Script; {
	case relied[name] && c.Spread():
		return c.confirmed(ctx, moves)
	case name == "finish" || name == "start":
		return c.send(ctx, c.Client, moves) // an agent does one thing at a time: behind its bids it would wait twice
	}
	return c.send(ctx, inLine{c}, moves)
}

// send is call by a sender.
func (c *Conn) send(ctx context.Context, to sender, moves []Move) ([]Reply, error) {
	cmds, keys := make(rueidis.Commands, len(moves)), c.scriptKeys()
	for i, m := range moves {
		s := lua.Move(m.Script)
		cmds[i] = c.Client.B().Evalsha().Sha1(s.SHA).Numkeys(int64(len(keys))).Key(keys...).Arg(m.Args...).Build()
	}
	out := make([]Reply, len(moves))
	for i, res := range to.DoMulti(ctx, cmds...) {
		m := moves[i]
		if re, ok := rueidis.IsRedisErr(res.Error()); ok && re.IsNoScript() {
			if err := c.mended(ctx); err != nil {
				return nil, err
			}
			s := lua.Move(m.Script)
			res = to.Do(ctx, c.Client.B().Eval().Script(s.Source).Numkeys(int64(len(keys))).Key(keys...).Arg(m.Args...).Build())
		}
		r, err := readReply(res)
		if _, is := rueidis.IsRedisErr(err); err != nil && is && !passes(c, err) && len(moves) > 1 {
			// A record that breaks one move is no reason to undo the others.
			r, err = Reply{Status: "broken", err: plain(ctx, c, err)}, nil
		}
		if err != nil {
			return nil, err
		}
		out[i] = r
	}
	return out, nil
}

func readReply(res rueidis.RedisResult) (Reply, error) {
	rest, err := res.ToArray()
	if err != nil {
		return Reply{}, err
	}
	if len(rest) == 0 {
		return Reply{}, errors.New("empty reply")
	}
	status, err := rest[0].ToString()
	return Reply{Status: status, Rest: rest[1:]}, err
}

// connecting is the name of the call that makes the first connection.
const connecting = "connect"

// Retry calls f until it succeeds, fails for a reason that will not pass, or the
// bounds are reached.
func (c *Conn) Retry(ctx context.Context, what string, f func(context.Context) error) error {
	return c.retry(ctx, what, c.Options.Timeout, f)
}

// retry is Retry with a limit for each call.
func (c *Conn) retry(ctx context.Context, what string, limit time.Duration, f func(context.Context) error) error {
	wait := c.Options.Backoff
	for attempt := 0; ; attempt++ {
		once, cancel := context.WithTimeout(ctx, limit)
		began := time.Now()
		err := f(once)
		cancel()
		if end, bounded := ctx.Deadline(); err != nil && bounded && !time.Now().Before(end) {
			<-ctx.Done() // a connection can see the end of the time a moment before the context: callers ask the context
		}
		lost := err != nil && passes(c, err)
		if c.Options.Observe != nil {
			c.Options.Observe(time.Since(began), lost)
		}
		if !lost {
			return plain(ctx, c, err)
		}
		c.dialled.Add(1) // the next attempt may need a new connection
		if busy(err) {
			c.endScript(ctx)
		}
		if attempt >= c.Options.Retries || ctx.Err() != nil {
			if refusal := c.NoWrites(err); refusal != nil {
				return refusal
			}
			if denied := Denied(c, err); denied != nil {
				return fmt.Errorf("%s: %w: %w", what, blackboard.ErrUnavailable, denied)
			}
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				missing := "answer"
				if what == connecting {
					missing = "connection" // which takes several answers
				}
				err = fmt.Errorf("no %s within %s", missing, limit) // Go's words for it are no user's
			}
			if errors.Is(err, errUnconfirmed) {
				return fmt.Errorf("%s: %s: %w", what, c.Addr, err)
			}
			away := blackboard.ErrUnavailable
			if busy(err) {
				away = blackboard.ErrBusy
			}
			return fmt.Errorf("%s: %w: %s: %w", what, away, c.Addr, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, MaxBackoff)
		}
	}
}

// plain turns a server's error that stays into one for people, if it is known.
func plain(ctx context.Context, c *Conn, err error) error {
	if lacks := Lacks(c, err); lacks != nil {
		return lacks
	}
	if half := halfMade(c, err); half != nil {
		return half
	}
	if wrong := foreign(ctx, c, err); wrong != nil {
		return wrong
	}
	return err
}

// Done returns the error of a move: of its call, or of a reply that is no success. The
// format names the move.
func Done(r Reply, err error, format string, args ...any) error {
	if err == nil {
		err = Refused(r)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// Refused turns a reply that is no success into its error.
func Refused(r Reply) error {
	switch r.Status {
	case "ok", "already":
		return nil
	case "broken":
		return r.err
	case "stale":
		return blackboard.ErrStale
	case "stopping":
		return blackboard.ErrStopping
	case "miscounted":
		return &blackboard.RefusedError{Reason: "the counts of goal " + r.Text(0) + " contradict its claims"}
	}
	return &blackboard.RefusedError{Reason: r.Text(0)}
}

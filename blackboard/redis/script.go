package redis

import (
	"context"
	"crypto/sha1" // #nosec G505 -- Redis names scripts by it
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

//go:embed lua/*.lua lua/_lib.lua
var luaFiles embed.FS

// script is one atomic move: its source and the name Redis knows it by.
type script struct {
	name, source, sha string
}

// loadScripts reads every move, each with the shared part in front.
func loadScripts() map[string]script {
	lib := readLua("_lib.lua")
	entries, err := luaFiles.ReadDir("lua")
	if err != nil {
		panic(err) // the files are part of the binary
	}
	all := make(map[string]script, len(entries))
	for _, e := range entries {
		if e.Name() == "_lib.lua" {
			continue
		}
		source := compose(luaKeys+lib, readLua(e.Name()))
		sum := sha1.Sum([]byte(source)) // #nosec G401
		name := strings.TrimSuffix(e.Name(), ".lua")
		all[name] = script{name, source, hex.EncodeToString(sum[:])}
	}
	return all
}

// compose puts in front of a move the shared definitions that it uses, and no
// others: Redis makes each of them anew at every call, which cost more than the
// move itself. A definition is a top-level `local` with its lines up to the next
// one; a move uses those it names, and those that these name.
func compose(shared, move string) string {
	defs := definitions(shared)
	used := make([]bool, len(defs))
	text := move
	for i := len(defs) - 1; i >= 0; i-- { // a definition only uses earlier ones
		if used[i] = mentions(text, defs[i].name); used[i] {
			text += defs[i].text
		}
	}
	var b strings.Builder
	for i, d := range defs {
		if used[i] {
			b.WriteString(d.text)
		}
	}
	return b.String() + move
}

type definition struct{ name, text string }

func definitions(shared string) []definition {
	var defs []definition
	for line := range strings.Lines(shared) {
		if strings.HasPrefix(line, "--") || strings.TrimSpace(line) == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "local "); ok {
			rest = strings.TrimPrefix(rest, "function ")
			end := strings.IndexFunc(rest, func(r rune) bool { return !partOfName(r) })
			defs = append(defs, definition{rest[:end], line})
			continue
		}
		defs[len(defs)-1].text += line
	}
	return defs
}

// mentions says whether the word occurs in the text.
func mentions(text, word string) bool {
	for {
		before, after, ok := strings.Cut(text, word)
		if !ok {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		first, _ := utf8.DecodeRuneInString(after)
		if !partOfName(last) && !partOfName(first) {
			return true
		}
		text = after
	}
}

func partOfName(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func readLua(name string) string {
	b, err := luaFiles.ReadFile(path.Join("lua", name))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// move is a call of a script, not yet made.
type move struct {
	script string
	args   []string
}

// reply is what a script answered: how it went, and what came with it.
type reply struct {
	status string
	rest   []rueidis.RedisMessage
	err    error // of a script that Redis could not run
}

func (r reply) text(i int) string {
	if i >= len(r.rest) {
		return ""
	}
	s, err := r.rest[i].ToString()
	if err != nil {
		return ""
	}
	return s
}

// do makes one move, again and again while Redis cannot be reached, within the
// bounds of the options. That is safe, because every script may be repeated.
func (b *Board) do(ctx context.Context, name string, args ...string) (reply, error) {
	rs, err := b.doAll(ctx, move{name, args})
	if err != nil {
		return reply{}, err
	}
	return rs[0], nil
}

// doAll makes moves in order, in one round trip. When Redis becomes unreachable
// in between, all are repeated: those already made answer that they were.
func (b *Board) doAll(ctx context.Context, moves ...move) ([]reply, error) {
	var out []reply
	err := b.retry(ctx, moves[0].script, func(ctx context.Context) (err error) {
		out, err = b.call(ctx, moves)
		return err
	})
	return out, err
}

// call sends the moves once. A script that the server has forgotten is sent
// whole.
func (b *Board) call(ctx context.Context, moves []move) ([]reply, error) {
	cmds := make(rueidis.Commands, len(moves))
	for i, m := range moves {
		s := b.scripts[m.script]
		cmds[i] = b.client.B().Evalsha().Sha1(s.sha).Numkeys(1).Key(b.keys.events()).Arg(m.args...).Build()
	}
	out := make([]reply, len(moves))
	send := b.share.do
	if name := moves[0].script; name == "finish" || name == "start" {
		send = b.client.DoMulti // an agent does one thing at a time: behind its bids it would wait twice
	}
	for i, res := range send(ctx, cmds...) {
		m := moves[i]
		if re, ok := rueidis.IsRedisErr(res.Error()); ok && re.IsNoScript() {
			s := b.scripts[m.script]
			res = b.client.Do(ctx, b.client.B().Eval().Script(s.source).Numkeys(1).Key(b.keys.events()).Arg(m.args...).Build())
		}
		r, err := readReply(res)
		if _, is := rueidis.IsRedisErr(err); err != nil && is && !transient(err) && len(moves) > 1 {
			// A record that breaks one move is no reason to undo the others.
			r, err = reply{status: "broken", err: err}, nil
		}
		if err != nil {
			return nil, err
		}
		out[i] = r
	}
	return out, nil
}

func readReply(res rueidis.RedisResult) (reply, error) {
	rest, err := res.ToArray()
	if err != nil {
		return reply{}, err
	}
	if len(rest) == 0 {
		return reply{}, errors.New("empty reply")
	}
	status, err := rest[0].ToString()
	return reply{status: status, rest: rest[1:]}, err
}

// retry calls f until it succeeds, fails for a reason that will not pass, or the
// bounds are reached.
func (b *Board) retry(ctx context.Context, what string, f func(context.Context) error) error {
	wait := b.o.Backoff
	for attempt := 0; ; attempt++ {
		once, cancel := context.WithTimeout(ctx, b.o.Timeout)
		began := time.Now()
		err := f(once)
		cancel()
		lost := err != nil && transient(err)
		if b.o.Observe != nil {
			b.o.Observe(time.Since(began), lost)
		}
		if !lost {
			return err
		}
		if attempt >= b.o.Retries || ctx.Err() != nil {
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				err = fmt.Errorf("no answer within %s", b.o.Timeout) // Go's words for it are no user's
			}
			return fmt.Errorf("%s: %w: %s: %w", what, blackboard.ErrUnavailable, b.o.addr, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, maxBackoff)
		}
	}
}

// transient says whether an error may pass by itself: the network, a server that
// is starting, or one that has no room just now. What a script or the server
// refuses for good does not.
func transient(err error) bool {
	if rueidis.IsRedisNil(err) || errors.Is(err, context.Canceled) || errors.Is(err, blackboard.ErrNotFound) ||
		errors.Is(err, blackboard.ErrCorrupt) {
		return false
	}
	var re *rueidis.RedisError
	if !errors.As(err, &re) {
		return !errors.Is(err, rueidis.ErrClosing) && !rueidis.IsParseErr(err)
	}
	for _, prefix := range []string{"OOM", "MISCONF", "LOADING", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "BUSY", "READONLY"} {
		if strings.HasPrefix(re.Error(), prefix) {
			return true
		}
	}
	return false
}

// refused turns a reply that is no success into its error.
func refused(r reply) error {
	switch r.status {
	case "ok", "already":
		return nil
	case "broken":
		return r.err
	case "stale":
		return blackboard.ErrStale
	case "stopping":
		return blackboard.ErrStopping
	}
	return &blackboard.RefusedError{Reason: r.text(0)}
}

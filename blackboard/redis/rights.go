package redis

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/lua"
)

// The commands that all parts together need of the user of a Redis of one's own, without those of imports,
// exports and conversions. Those of a kind are checked alike: with a key of the instance, with a channel, or alone.
const (
	keyedCommands   = "del exists get hdel hget hgetall hincrby hlen hmget hset hsetnx hstrlen llen lrange mget rpush sadd set sismember xadd xlen xrange xrevrange zadd zcard zrange zrem zrevrange zscore"
	channelCommands = "publish subscribe"
	otherCommands   = store.LooseCommands
)

// scriptOnKeys is a script with a key among the commands that are asked for, in letters that tell it from one without.
const scriptOnKeys = "EVALSHA"

// Rights returns the rights that the user of this board lacks; nil: nothing, as far as the server tells. One before
// Redis 7 does not. The error is a CommandError where the server has no such commands.
func (b *Board) Rights(ctx context.Context) (*blackboard.RightsError, error) {
	keyed, onChannels, others := strings.Fields(keyedCommands), strings.Fields(channelCommands), strings.Fields(otherCommands)
	var asked [][]string
	for _, name := range keyed {
		asked = append(asked, []string{name, b.c.Keys.Events()})
	}
	for _, name := range onChannels {
		asked = append(asked, []string{name, b.c.Keys.OrchestratorEvents()})
	}
	asked = append(asked, []string{"xread", "streams", b.c.Keys.Events(), "0"}, []string{scriptOnKeys, strings.Repeat("0", 40), "1", b.c.Keys.Events()})
	for _, name := range others {
		asked = append(asked, []string{name})
	}
	lacks := &blackboard.RightsError{Addr: b.c.Addr, User: store.UserOf(b.c.Options.URL)}
	answer, err := b.c.AskHome(ctx, "ask for rights", "EVAL", lua.Move("rights").Source, "0", store.Encode(asked))
	if denied := store.Denied(b.c, err); denied != nil && !denied.Login {
		lacks.Commands, lacks.Rule = []string{"eval", "evalsha"}, "+eval +evalsha"
		return lacks, nil
	}
	if err != nil {
		return nil, err
	}
	places, err := answer.AsStrSlice()
	if err != nil || len(places) < 2 {
		return nil, err
	}
	var missing []string
	for _, place := range places[1:] {
		switch at, err := strconv.Atoi(place); {
		case err != nil || at == 0 || max(at, -at) > len(asked):
		case at < 0 && asked[-at-1][0] == scriptOnKeys: // it is asked for without a key, too
		case at < 0:
			missing = append(missing, strings.ToUpper(asked[-at-1][0]))
		default:
			lacks.Commands = append(lacks.Commands, asked[at-1][0])
		}
	}
	if len(missing) > 0 {
		return nil, &blackboard.CommandError{Addr: b.c.Addr, Commands: missing}
	}
	lacks.Rule = ruleOf(lacks, b.c.Keys.Prefix, keyed, onChannels)
	return lacks, nil
}

// ruleOf is the rule for Redis' ACL that gives a user what it lacks. Commands that a pattern of it gives are no longer named.
func ruleOf(lacks *blackboard.RightsError, prefix string, keyed, onChannels []string) string {
	var rule []string
	lacking := func(name string) bool { return slices.Contains(lacks.Commands, name) }
	all := func(names []string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !lacking(name) })
	}
	// The server does not tell why a command is refused. A pattern is given only where it surely helps: a user that has
	// all keys, or all channels, gets no other. A script that may be made without keys, and not with one, lacks the right to read
	// or to write keys.
	onKeys := lacking(scriptOnKeys)
	lacks.Commands = slices.DeleteFunc(lacks.Commands, func(name string) bool { return name == scriptOnKeys })
	if all(keyed) || onKeys && !lacking("evalsha") {
		lacks.Keys = true
		rule = append(rule, "~"+prefix+"*")
		lacks.Commands = slices.DeleteFunc(lacks.Commands, func(name string) bool { return name == "xread" || slices.Contains(keyed, name) })
	}
	if all(onChannels) {
		rule = append(rule, "&"+prefix+"*")
	}
	for _, name := range lacks.Commands {
		rule = append(rule, "+"+name)
	}
	return strings.Join(rule, " ")
}

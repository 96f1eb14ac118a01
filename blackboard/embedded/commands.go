package embedded

import (
	"fmt"
	"strings"
	"sync"
)

// class is the way in which the server handles a command.
type class int

const (
	unknown    class = iota
	connection       // about the connection itself
	subscribe        // changes the subscriptions
	read             // looks at keys
	random           // looks at keys by chance: not for scripts, a replay would differ
	stream           // reads a stream, answered without miniredis
	publish          // reaches the subscribers, leaves nothing behind
	write            // changes keys and can be logged and replayed exactly
	script           // runs or loads a script
)

// classes lists every command that is served. A command that is not here is
// refused, also within scripts: miniredis knows more than can be restored.
var classes = sync.OnceValue(func() map[string]class {
	return table(map[class]string{
		connection: "AUTH HELLO PING ECHO QUIT CLIENT SELECT SLOWLOG SHUTDOWN",
		subscribe:  "SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE",
		read: `BITCOUNT BITPOS COMMAND DBSIZE EXISTS GET GETBIT GETRANGE HEXISTS HGET HGETALL HKEYS HLEN HMGET HSCAN
		HSTRLEN HVALS INFO KEYS LINDEX LLEN LPOS LRANGE MGET OBJECT PTTL PUBSUB SCAN SCARD SDIFF SINTER SINTERCARD
		SISMEMBER SMEMBERS SMISMEMBER SSCAN STRLEN SUNION TIME TOUCH TTL TYPE XINFO XLEN ZCARD ZCOUNT ZINTER
		ZLEXCOUNT ZMSCORE ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE
		ZREVRANK ZSCAN ZSCORE ZUNION`,
		random:  "HRANDFIELD RANDOMKEY SRANDMEMBER ZRANDMEMBER",
		stream:  "XRANGE XREAD XREVRANGE",
		publish: "PUBLISH",
		write: `APPEND BITOP DECR DECRBY DEL FLUSHALL FLUSHDB GETDEL GETSET HDEL HINCRBY HINCRBYFLOAT HMSET HSET HSETNX
		INCR INCRBY INCRBYFLOAT LINSERT LMOVE LMPOP LPOP LPUSH LPUSHX LREM LSET LTRIM MSET MSETNX RENAME RENAMENX
		RPOP RPOPLPUSH RPUSH RPUSHX SADD SDIFFSTORE SET SETBIT SETNX SETRANGE SINTERSTORE SMOVE SREM SUNIONSTORE
		UNLINK XADD XDEL XTRIM ZADD ZINCRBY ZINTERSTORE ZMPOP ZPOPMAX ZPOPMIN ZREM ZREMRANGEBYLEX
		ZREMRANGEBYRANK ZREMRANGEBYSCORE ZUNIONSTORE`,
		script: "EVAL EVALSHA EVALSHA_RO EVAL_RO SCRIPT",
	})
})

// reasons say why the commands people may expect are missing.
var reasons = sync.OnceValue(func() map[string]string {
	return table(map[string]string{
		"keys do not expire here":                  "EXPIRE EXPIREAT GETEX HEXPIRE HPERSIST HPTTL HSETEX HTTL PERSIST PEXPIRE PEXPIREAT PSETEX SETEX",
		"there are no transactions, send a script": "DISCARD EXEC MULTI UNWATCH WATCH",
		"there are no consumer groups":             "XACK XAUTOCLAIM XCLAIM XGROUP XPENDING XREADGROUP",
		"there are no blocking pops":               "BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN",
		"there is one database":                    "MOVE SWAPDB",
		"a replay would pick another member":       "SPOP",
	})
})

// table turns lists of names into a lookup by name.
func table[V comparable](lists map[V]string) map[string]V {
	t := map[string]V{}
	for v, names := range lists {
		for _, name := range strings.Fields(names) {
			t[name] = v
		}
	}
	return t
}

// refusal is the error for a command that is not served, in Redis' words for
// one that nobody knows.
func refusal(name string) string {
	if why, ok := reasons()[name]; ok {
		return fmt.Sprintf("ERR '%s' is not served by the embedded blackboard: %s", name, why)
	}
	return fmt.Sprintf("ERR unknown command '%.64s'", name)
}

// checkWrite finds the forms of served write commands that cannot be restored.
// It returns the error to answer, or nothing. The arguments include the name.
func checkWrite(name string, args []string) string {
	if name != "SET" || len(args) < 4 {
		return ""
	}
	for _, option := range args[3:] {
		switch strings.ToUpper(option) {
		case "EX", "PX", "EXAT", "PXAT", "KEEPTTL":
			return "ERR SET with an expiry is not served by the embedded blackboard: keys do not expire here"
		}
	}
	return ""
}

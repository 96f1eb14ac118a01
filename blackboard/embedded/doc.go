// Package embedded is a Redis-protocol server inside the process, for running
// Sett without a Redis. It is carried by miniredis, which executes commands in
// memory; this package runs the Lua scripts, and adds durability of
// acknowledged writes, authentication, and bounds, so that one slow or hostile
// client cannot stall or crash it.
//
// # How a write becomes durable
//
// Every write passes one committer. It appends the commands that wait to the
// log, with the time they will see, as one frame; calls fsync once for all of
// them; executes them in that order; and only then lets the replies go. A
// failed append executes nothing, refuses the writes by name of the cause, and leaves
// nothing of them in the log. Where the cause is a full disk, no write is taken until
// there is room for 256 KiB; reading goes on.
//
// The log holds commands because they are known before they are executed. It
// also holds, in the frame that follows, the effects of each script: the write
// commands the script turned out to issue. A start replays effects where it
// finds them, which is several times faster than running Lua, and exact even
// where a script looked at state that is not logged (see below). Only the
// scripts of the last frame before a crash are run again.
//
// # Scripts
//
// A script with a line that starts with --!volatile is executed in the same
// serial order and not logged: its writes may be lost, as a heartbeat may.
// A script with a line that starts with --!readonly is not logged either and
// may not write. All other scripts are logged. Scripts see TIME as the time of
// their record, which follows the machine's clock, also back, as on Redis; a replay has the times of then. As long as
// that clock is not set back each record has a later time than the one before it. Only the numbers of a stream's entries
// never go back.
//
// # Slow commands
//
// All scripts run in one Lua state, which is kept; for each, miniredis would set up
// one of its own, 150 µs. Hashes, sets, ZADD, ZREM, ZSCORE, ZCARD, XADD and the reading
// of streams cost the same at any size, but for XREAD in a script, which compares every
// entry of the stream, 45 ms for 500,000. Not so, with 100,000 members in a sorted set:
// any ZRANGE, ZRANGEBYSCORE, ZRANGEBYLEX, ZREVRANGE, ZRANK, ZCOUNT or ZPOPMIN sorts all
// of it, 15 to 45 ms; SCAN and KEYS sort all keys, 75 ms for 200,000. Small sorted sets
// are fine.
//
// # Scripts without an end
//
// Scripts that Options.Own does not know are watched, at a cost of their own. When one has
// run for Options.BusyAfter, others are told BUSY, and may end it with SCRIPT KILL, in the
// words of Redis; SLOWLOG GET names its client. One that has written, or is stuck in one call
// of a library, cannot be ended alone: SHUTDOWN NOSAVE notes in the log that it did
// nothing, and ends the server with ErrOverrun. A start that finds such a script at the end
// of the log leaves it out, with the calls behind it, none of which was acknowledged.
//
// # Limits
//
// It is no general Redis. Keys do not expire; there are no transactions, no
// consumer groups, no blocking pops, one database, and no RESP3. Each of these is
// refused with a reason, because it could not be logged or restored exactly.
package embedded

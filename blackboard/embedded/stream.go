package embedded

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Streams are read here and not by miniredis, which looks at every entry from
// the beginning: 45 ms for the end of a stream of 500,000, and again for each
// blocked reader at every write. Here it is a binary search, and a blocked
// reader is woken by its own streams only.

// streamID is an entry's id: milliseconds and a counter.
type streamID struct{ ms, seq uint64 }

const (
	msgInvalidID  = "ERR Invalid stream ID specified as stream command argument"
	msgSyntax     = "ERR syntax error"
	msgNotInteger = "ERR value is not an integer or out of range"
	msgUnbalanced = "ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified."
)

// parseID reads "ms" or "ms-seq"; a missing counter is seq.
func parseID(s string, seq uint64) (streamID, bool) {
	first, second, both := strings.Cut(s, "-")
	ms, err := strconv.ParseUint(first, 10, 64)
	if err != nil {
		return streamID{}, false
	}
	if both {
		if seq, err = strconv.ParseUint(second, 10, 64); err != nil {
			return streamID{}, false
		}
	}
	return streamID{ms, seq}, true
}

func (a streamID) less(b streamID) bool {
	return a.ms < b.ms || a.ms == b.ms && a.seq < b.seq
}

// next is the smallest id after a; ok is false when there is none.
func (a streamID) next() (streamID, bool) {
	switch {
	case a.seq < math.MaxUint64:
		return streamID{a.ms, a.seq + 1}, true
	case a.ms < math.MaxUint64:
		return streamID{a.ms + 1, 0}, true
	default:
		return a, false
	}
}

// from is the position of the first entry whose id is not less than id.
func from(entries []miniredis.StreamEntry, id streamID) int {
	return sort.Search(len(entries), func(i int) bool {
		e, _ := parseID(entries[i].ID, 0)
		return !e.less(id)
	})
}

// waiter is a connection that is blocked on streams.
type waiter struct{ ready chan struct{} }

// xread is a parsed XREAD.
type xread struct {
	count int // 0: all
	block time.Duration
	waits bool // with BLOCK; block 0 then means for ever
	keys  []string
	ids   []string
	after []streamID
}

// parseXread reads the arguments of XREAD, the name included; a message is the
// error to answer.
func parseXread(args []string) (x xread, message string) {
	for args = args[1:]; len(args) > 1; args = args[2:] {
		switch strings.ToUpper(args[0]) {
		case "COUNT":
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return x, msgNotInteger
			}
			x.count = max(n, 0)
		case "BLOCK":
			ms, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || ms > math.MaxInt64/int64(time.Millisecond) {
				return x, "ERR timeout is not an integer or out of range"
			}
			if ms < 0 {
				return x, "ERR timeout is negative"
			}
			x.waits, x.block = true, time.Duration(ms)*time.Millisecond
		case "STREAMS":
			if args = args[1:]; len(args)%2 != 0 {
				return x, msgUnbalanced
			}
			x.keys, x.ids = args[:len(args)/2], args[len(args)/2:]
			return x, ""
		default:
			return x, msgSyntax
		}
	}
	return x, msgSyntax
}

// resolve turns the ids into positions; "$" is the end as it is now. The caller
// holds b.mu.
func (b *board) resolve(x *xread) (message string) {
	x.after = make([]streamID, len(x.ids))
	for i, id := range x.ids {
		if id == "$" {
			entries, err := b.db.Stream(x.keys[i])
			if err != nil {
				return err.Error()
			}
			if len(entries) > 0 {
				id = entries[len(entries)-1].ID
			} else {
				id = "0"
			}
		}
		var ok bool
		if x.after[i], ok = parseID(id, 0); !ok {
			return msgInvalidID
		}
	}
	return ""
}

// collect appends the answer to x, or nothing when there is nothing to read.
// The caller holds b.mu.
func (b *board) collect(out []byte, x *xread) (reply []byte, found bool, message string) {
	var body []byte
	n := 0
	for i, key := range x.keys {
		entries, err := b.db.Stream(key)
		if err != nil {
			return nil, false, err.Error()
		}
		first, ok := x.after[i].next()
		if !ok {
			continue
		}
		if entries = entries[from(entries, first):]; len(entries) == 0 {
			continue
		}
		if x.count > 0 && len(entries) > x.count {
			entries = entries[:x.count]
		}
		n++
		body = appendBulk(appendLen(body, 2), key)
		body = appendEntries(body, entries)
	}
	if n == 0 {
		return out, false, ""
	}
	return append(appendLen(out, n), body...), true, ""
}

// xrange answers XRANGE and XREVRANGE. The caller holds b.mu.
func (b *board) xrange(out []byte, args []string) []byte {
	name := strings.ToUpper(args[0])
	if len(args) != 4 && len(args) != 6 {
		if len(args) < 4 {
			return appendError(out, "ERR wrong number of arguments for '"+strings.ToLower(name)+"' command")
		}
		return appendError(out, msgSyntax)
	}
	count := -1
	if len(args) == 6 {
		n, err := strconv.Atoi(args[5])
		if !strings.EqualFold(args[4], "COUNT") {
			return appendError(out, msgSyntax)
		}
		if err != nil {
			return appendError(out, msgNotInteger)
		}
		count = max(n, 0)
	}
	low, high := args[2], args[3]
	if name == "XREVRANGE" {
		low, high = high, low
	}
	start, ok1 := lowerBound(low)
	end, ok2 := upperBound(high)
	if !ok1 || !ok2 {
		return appendError(out, msgInvalidID)
	}
	entries, err := b.db.Stream(args[1])
	if err != nil {
		return appendError(out, err.Error())
	}
	i, j := from(entries, start), len(entries)
	if after, ok := end.next(); ok {
		j = from(entries, after)
	}
	entries = entries[min(i, j):j]
	if name == "XREVRANGE" {
		return appendEntries(out, lastReversed(entries, count))
	}
	if count >= 0 && len(entries) > count {
		entries = entries[:count]
	}
	return appendEntries(out, entries)
}

// lowerBound and upperBound read the ends of a range: "-", "+", an id, and "("
// before an id to leave it out.
func lowerBound(s string) (streamID, bool) {
	if s == "-" {
		return streamID{}, true
	}
	if s == "+" {
		return streamID{math.MaxUint64, math.MaxUint64}, true
	}
	id, ok := parseID(strings.TrimPrefix(s, "("), 0)
	if ok && s[0] == '(' {
		return id.next()
	}
	return id, ok
}

func upperBound(s string) (streamID, bool) {
	if s == "-" || s == "+" {
		return lowerBound(s)
	}
	id, ok := parseID(strings.TrimPrefix(s, "("), math.MaxUint64)
	if !ok || s[0] != '(' {
		return id, ok
	}
	if id, _ = parseID(s[1:], 0); id == (streamID{}) {
		return id, false
	}
	if id.seq == 0 {
		return streamID{id.ms - 1, math.MaxUint64}, true
	}
	return streamID{id.ms, id.seq - 1}, true
}

// lastReversed is the last count entries, newest first; all if count is negative.
func lastReversed(entries []miniredis.StreamEntry, count int) []miniredis.StreamEntry {
	if count < 0 || count > len(entries) {
		count = len(entries)
	}
	out := make([]miniredis.StreamEntry, count)
	for i := range out {
		out[i] = entries[len(entries)-1-i]
	}
	return out
}

func appendEntries(b []byte, entries []miniredis.StreamEntry) []byte {
	b = appendLen(b, len(entries))
	for _, e := range entries {
		b = appendBulk(appendLen(b, 2), e.ID)
		b = appendLen(b, len(e.Values))
		for _, v := range e.Values {
			b = appendBulk(b, v)
		}
	}
	return b
}

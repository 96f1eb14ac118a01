package embedded

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"
)

// A frame's payload is made of items, each a kind and its fields.
const (
	itemScript  = 'S' // body
	itemCommand = 'C' // time, arguments; a script call is an EVALSHA
	itemEffects = 'E' // the commands that the oldest script call without effects issued
	itemString  = 'k' // key, value
	itemHash    = 'h' // key, fields with values; a big key comes in several items
	itemList    = 'l' // key, elements
	itemSet     = 's' // key, members
	itemZset    = 'z' // key, members, scores
	itemStream  = 'x' // key, last id ever given; comes after the entries
	itemEntry   = 'X' // key, entry id, fields and values
	itemEnd     = 'Z' // time, number of keys: the last item of a snapshot
)

// errItem says that a payload with a good checksum makes no sense.
var errItem = errors.New("unknown or incomplete item")

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendStrings(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

// appendScript, appendCommand and appendEffects write the items of the log.
func appendScript(b []byte, body string) []byte {
	return appendString(append(b, itemScript), body)
}

func appendCommand(b []byte, at time.Time, args []string) []byte {
	b = binary.AppendVarint(append(b, itemCommand), at.UnixMicro())
	return appendStrings(b, args)
}

func appendEffects(b []byte, effects [][]string) []byte {
	b = binary.AppendUvarint(append(b, itemEffects), uint64(len(effects)))
	for _, args := range effects {
		b = appendStrings(b, args)
	}
	return b
}

// decoder takes a payload apart. The strings it gives are parts of one string,
// which spares an allocation for each. The first error stays.
type decoder struct {
	rest string
	err  error
}

func newDecoder(payload []byte) *decoder { return &decoder{rest: string(payload)} }

func (d *decoder) fail() {
	d.err = errItem
	d.rest = ""
}

func (d *decoder) kind() byte {
	if d.rest == "" {
		d.fail()
		return 0
	}
	k := d.rest[0]
	d.rest = d.rest[1:]
	return k
}

func (d *decoder) uvarint() uint64 {
	var v uint64
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		c := d.rest[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			return v
		}
	}
	d.fail()
	return 0
}

// count is a uvarint that says how many things of at least one byte follow.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) time() time.Time {
	u := d.uvarint() // zigzag, as binary.AppendVarint writes it
	return time.UnixMicro(int64(u>>1) ^ -int64(u&1)).UTC()
}

func (d *decoder) string() string {
	n := d.count()
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) strings() []string {
	n := d.count()
	list := make([]string, n)
	for i := range list {
		list[i] = d.string()
	}
	return list
}

func (d *decoder) hash() map[string]string {
	n := d.count()
	h := make(map[string]string, n)
	for range n {
		field := d.string()
		h[field] = d.string()
	}
	return h
}

func (d *decoder) scores() []float64 {
	n := d.count()
	list := make([]float64, n)
	for i := range list {
		if len(d.rest) < 8 {
			d.fail()
			return nil
		}
		list[i] = math.Float64frombits(binary.LittleEndian.Uint64([]byte(d.rest[:8])))
		d.rest = d.rest[8:]
	}
	return list
}

func appendScores(b []byte, scores []float64) []byte {
	b = binary.AppendUvarint(b, uint64(len(scores)))
	for _, s := range scores {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s))
	}
	return b
}

// item is one decoded item. Which fields are set depends on its kind.
type item struct {
	kind   byte
	key    string // key or script body
	at     time.Time
	list   []string
	hash   map[string]string
	scores []float64
	nested [][]string
	count  int
}

// next reads one item; ok is false at the end of the payload and on errors.
func (d *decoder) next() (it item, ok bool) {
	if d.rest == "" {
		return it, false
	}
	it.kind = d.kind()
	switch it.kind {
	case itemScript:
		it.key = d.string()
	case itemCommand:
		it.at, it.list = d.time(), d.strings()
		if len(it.list) == 0 {
			d.fail()
		}
	case itemEffects:
		it.nested = make([][]string, d.count())
		for i := range it.nested {
			if it.nested[i] = d.strings(); len(it.nested[i]) == 0 {
				d.fail()
			}
		}
	case itemHash:
		it.key, it.hash = d.string(), d.hash()
	case itemString, itemList, itemSet, itemStream, itemEntry:
		it.key, it.list = d.string(), d.strings()
	case itemZset:
		it.key, it.list, it.scores = d.string(), d.strings(), d.scores()
		if len(it.list) != len(it.scores) {
			d.fail()
		}
	case itemEnd:
		it.at, it.count = d.time(), int(d.uvarint())
	default:
		d.fail()
	}
	return it, d.err == nil
}

// isScriptCall tells a logged script from a plain command.
func isScriptCall(args []string) bool {
	return len(args) > 1 && strings.EqualFold(args[0], "EVALSHA")
}

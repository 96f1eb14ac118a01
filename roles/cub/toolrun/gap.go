package toolrun

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// mostEnd is the most of the end of an output that is kept beside its beginning, in bytes: the
// reason of a failure stands there.
const mostEnd = 64 << 10

// gapRoom is more than the line of a gap takes, in bytes.
const gapRoom = 128

// Gap is the line in place of so many bytes, with the reason why they are left out.
func Gap(bytes int64, why string) string {
	return fmt.Sprintf("[%d bytes left out here: %s]\n", bytes, why)
}

// tail keeps the last mostEnd bytes of all that is added. It takes memory only once something is.
type tail struct {
	ring []byte
	at   int // the oldest byte of a full ring
}

func (t *tail) add(b []byte) {
	b = b[max(0, len(b)-mostEnd):]
	n := min(len(b), mostEnd-len(t.ring))
	t.ring, b = append(t.ring, b[:n]...), b[n:]
	for len(b) > 0 {
		n := copy(t.ring[t.at:], b)
		t.at, b = (t.at+n)%mostEnd, b[n:]
	}
}

// text is the kept bytes, in their order.
func (t *tail) text() []byte { return slices.Concat(t.ring[t.at:], t.ring[:t.at]) }

// text is the whole output, up to the limit. Of a longer one it is the beginning and the end, with
// the line of a gap between them.
func (s *stream) text() []byte {
	if s.size == int64(len(s.kept)) {
		return s.kept
	}
	most := int(min(mostEnd, s.limit/2))
	end := s.last.text()
	if short := most - len(end); short > 0 {
		end = slices.Concat(s.kept[max(0, len(s.kept)-short):], end)
	}
	end = wholeBegin(end[len(end)-most:])
	begin := wholeEnd(s.kept[:max(s.limit-int64(most)-gapRoom, 0)])
	gap := Gap(s.size-int64(len(begin)+len(end)), fmt.Sprintf("at most %d are kept", s.limit))
	if len(begin) > 0 && !bytes.HasSuffix(begin, []byte("\n")) {
		gap = "\n" + gap
	}
	return append(append(begin, gap...), end...)
}

// wholeBegin cuts the rest of a character off the beginning of a text.
func wholeBegin(text []byte) []byte {
	for n := range min(len(text), utf8.UTFMax) {
		if utf8.RuneStart(text[n]) {
			return text[n:]
		}
	}
	return text
}

// wholeEnd cuts the first part of a character off the end of a text.
func wholeEnd(text []byte) []byte {
	for n := len(text) - 1; n >= max(0, len(text)-utf8.UTFMax); n-- {
		if utf8.RuneStart(text[n]) {
			if !utf8.FullRune(text[n:]) {
				return text[:n]
			}
			break
		}
	}
	return text
}

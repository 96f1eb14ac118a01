package gateway

import (
	"bytes"
	"errors"
	"io"
)

// mostEvent bounds an event of a stream. The last one of a response has all of it.
const mostEvent = 16 << 20

var errLargeEvent = errors.New("an event of the stream is too large: more than 16 MiB")

// events reads a stream of server-sent events.
type events struct {
	r    io.Reader
	buf  []byte
	seen int // of buf: there is no end of an event before
	err  error
}

// next returns the next event with the empty line that ends it. At the end of the stream
// it returns the rest, and the error beside it.
func (e *events) next() ([]byte, error) {
	for {
		if n := eventEnd(e.buf, max(e.seen-3, 0)); n > 0 {
			event := e.buf[:n:n]
			e.buf, e.seen = e.buf[n:], 0
			return event, nil
		}
		e.seen = len(e.buf)
		if e.err != nil {
			rest := e.buf
			e.buf = nil
			return rest, e.err
		}
		if len(e.buf) > mostEvent {
			return nil, errLargeEvent
		}
		if cap(e.buf)-len(e.buf) < 1<<10 { // events that were returned keep their memory
			e.buf = append(make([]byte, 0, max(4<<10, 2*len(e.buf))), e.buf...)
		}
		var n int
		n, e.err = e.r.Read(e.buf[len(e.buf):cap(e.buf)])
		e.buf = e.buf[:len(e.buf)+n]
	}
}

// eventEnd returns where the first event ends, or 0.
func eventEnd(text []byte, from int) int {
	for at := from; ; at++ {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			return 0
		}
		at += n
		rest := text[at+1:]
		switch {
		case len(rest) > 0 && rest[0] == '\n':
			return at + 2
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return at + 3
		}
	}
}

// eventData returns where the data of an event stands. One that is spread over several
// lines, which none of the APIs sends, has none.
func eventData(event []byte) span {
	found, at := span{}, 0
	for at < len(event) {
		end := bytes.IndexByte(event[at:], '\n')
		if end < 0 {
			end = len(event) - at
		}
		line := event[at : at+end]
		if bytes.HasPrefix(line, []byte("data:")) {
			if found.to > 0 {
				return span{}
			}
			from := at + len("data:")
			if from < len(event) && event[from] == ' ' {
				from++
			}
			found = span{from, at + len(bytes.TrimRight(line, "\r"))}
		}
		at += end + 1
	}
	return found
}

// textFields are the fields of events that carry the text of a model.
var textFields = map[string]bool{
	"content": true, "reasoning_content": true, "reasoning": true, "refusal": true, "arguments": true, "text": true, "thinking": true, "partial_json": true, "delta": true,
}

// texts returns where the strings of the model's text stand in an event.
func texts(event []byte, data span) []span {
	var all []span
	text := event[:data.to]
	for at := data.from; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return all
		}
		at += n
		end, err := quoted(text, at)
		if err != nil {
			return all
		}
		name := text[at+1 : end-1]
		at = space(text, end)
		if at >= len(text) || text[at] != ':' {
			continue
		}
		at = space(text, at+1)
		if at >= len(text) || text[at] != '"' {
			continue
		}
		if end, err = quoted(text, at); err != nil {
			return all
		}
		if textFields[string(name)] {
			all = append(all, span{at + 1, end - 1})
		}
		at = end
	}
}

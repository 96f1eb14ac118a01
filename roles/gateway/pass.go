package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	line "sett/roles/role/gateway"
	"sett/roles/role/words"
)

// pass passes an answer on, and cuts the client's connection where the provider's was cut.
// The client has the whole answer before the call is settled: nobody waits for the account.
// Its room stays reserved until then. A call for a bid is settled before its last byte: where
// the gateway died in between, nobody would ask for it again.
func (c *call) pass(ctx context.Context, cancel context.CancelCauseFunc, g *got) {
	defer c.settle()
	defer g.close()
	c.status = g.status
	c.header(g)
	var err error
	switch {
	case g.stream:
		err = c.passStream(g)
	case g.rest == nil:
		c.passWhole(g)
	default:
		err = c.passLarge(g)
	}
	if err == nil {
		return
	}
	c.reason = c.cause(ctx, err)
	if g.stream {
		c.sayStopped(ctx, err)
	}
	cancel(err) // the provider's call
	c.settle()
	panic(http.ErrAbortHandler)
}

// settleBid settles a call for a bid whose answer is whole, before the client has it.
func (c *call) settleBid() {
	if c.id.Bid() {
		c.settle()
	}
}

// cause says why an answer that had begun came to no end.
func (c *call) cause(ctx context.Context, err error) string {
	switch {
	case c.r.Context().Err() != nil:
		return "the client went away"
	case context.Cause(ctx) != nil:
		return context.Cause(ctx).Error()
	case errors.Is(err, errTooMuch), errors.Is(err, errLargeEvent):
		return err.Error()
	}
	return "the provider's answer was cut: " + err.Error()
}

// header copies the headers of an answer.
func (c *call) header(g *got) {
	h := c.w.Header()
	for name, values := range g.header {
		switch {
		case slices.Contains(hop, name), listed(g.header, name), strings.HasPrefix(name, "Sett-"):
		case name == "Set-Cookie", name == "Content-Length", name == "Content-Encoding", name == line.ShouldRetry, name == "Alt-Svc", name == "Date":
		default:
			for _, v := range values {
				if name != "Content-Type" {
					v = c.s.mask.words(v)
				}
				h.Add(name, c.s.mask.text(v))
			}
		}
	}
	if g.status >= http.StatusBadRequest {
		h.Set(line.ShouldRetry, "false")
	}
	if c.tape != nil {
		c.tape.Status = g.status
		c.tape.Header = map[string]string{"Content-Type": h.Get("Content-Type")}
	}
}

// passWhole passes on an answer that is there.
func (c *call) passWhole(g *got) {
	if g.status >= 300 || errorIn(g.head) != "" {
		g.head = c.s.mask.errorBody(g.head)
	}
	c.s.mask.bytes(g.head)
	c.take(g.head)
	_, _ = c.hash.Write(g.head)
	if g.status < 300 {
		c.text = int64(len(g.head))
		if at, err := fields(g.head, "usage", "model"); err == nil {
			c.used.read(c.q.api, part(g.head, at, "usage"))
			c.used.from(part(g.head, at, "model"))
			c.whole = len(g.head) > 0
		} else if len(g.head) > 0 {
			c.reason = "the answer is no JSON object"
		}
	} else {
		c.whole = true
		c.reason = "status " + strconv.Itoa(g.status) + c.tried() + words.Because(c.unrepeated)
	}
	c.settleBid()
	c.w.Header().Set("Content-Length", strconv.Itoa(len(g.head)))
	c.w.WriteHeader(g.status)
	_, _ = c.w.Write(g.head)
	_ = http.NewResponseController(c.w).Flush()
}

// passLarge passes on an answer that is not kept.
func (c *call) passLarge(g *got) error {
	if size, err := strconv.ParseInt(g.header.Get("Content-Length"), 10, 64); err == nil && size <= mostAnswer {
		c.w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	c.w.WriteHeader(g.status)
	usage := &tap{field: "usage"}
	back := max(c.s.mask.most, 1)
	text := g.head
	usage.write(text)
	c.size = int64(len(text))
	block := make([]byte, 32<<10)
	for {
		c.s.mask.bytes(text)
		if out := len(text) - back; out > 0 {
			if err := c.write(text[:out]); err != nil {
				return err
			}
			text = append(text[:0], text[out:]...)
		}
		n, err := g.rest.Read(block)
		usage.write(block[:n])
		text = append(text, block[:n]...)
		c.size += int64(n)
		c.text = c.size
		switch {
		case c.size > mostAnswer:
			return errTooMuch
		case errors.Is(err, io.EOF):
			c.used.read(c.q.api, usage.value)
			c.whole = usage.depth == 0 && !usage.broken
			c.s.mask.bytes(text)
			c.take(text)
			_, _ = c.hash.Write(text)
			c.settleBid()
			_, err := c.w.Write(text)
			return errors.Join(err, http.NewResponseController(c.w).Flush())
		case err != nil:
			return err
		}
	}
}

// write passes a part of an answer on.
func (c *call) write(text []byte) error {
	if c.tape != nil {
		c.take(bytes.Clone(text))
	}
	_, _ = c.hash.Write(text)
	_, err := c.w.Write(text)
	return err
}

// passStream passes on a stream, each event as it comes.
func (c *call) passStream(g *got) error {
	c.w.WriteHeader(g.status)
	control := http.NewResponseController(c.w)
	_ = control.Flush()
	stream, hold := &events{r: g.rest}, &seam{mask: c.s.mask}
	for {
		event, err := stream.next()
		if c.size += int64(len(event)); c.size > mostAnswer {
			return errTooMuch
		}
		free, last := c.event(hold, event)
		if err != nil || last {
			free = append(free, hold.end()...)
		}
		if errors.Is(err, io.EOF) && !c.whole && c.reason == "" {
			if c.whole = c.used.stopped; !c.whole {
				c.reason = "the stream ended without its last event"
			}
		}
		for _, e := range free {
			_, _ = c.hash.Write(e)
		}
		if last || errors.Is(err, io.EOF) {
			c.settleBid()
		}
		for _, e := range free {
			if _, err := c.w.Write(e); err != nil {
				return err
			}
		}
		if len(free) > 0 {
			if err := control.Flush(); err != nil {
				return err
			}
		}
		if last {
			c.settle()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// event reads an event, and returns the events that may go.
func (c *call) event(hold *seam, event []byte) (free [][]byte, last bool) {
	if len(event) == 0 {
		return nil, false
	}
	data := eventData(event)
	said := errorIn(data.in(event))
	if said != "" || failed(data.in(event)) {
		event = c.s.mask.errorEvent(event, data)
		data = eventData(event)
		said = errorIn(data.in(event))
	}
	found := texts(event, data)
	for _, t := range found {
		c.text += int64(t.to - t.from)
	}
	only, last := c.used.event(c.q.api, data.in(event))
	if last {
		c.whole = true
	} else if said != "" {
		c.reason = "the provider ended the stream: " + c.s.mask.text(said)
	}
	if c.tape != nil {
		c.take(event) // its bytes are masked later, in place
	}
	if only && c.q.hidden {
		return nil, last
	}
	return hold.add(event, found), last
}

// errorIn returns the message of an event that is an error.
func errorIn(data []byte) string {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return ""
	}
	at, err := fields(data, "type", "error", "message")
	if err != nil {
		return ""
	}
	object, kind := part(data, at, "error"), string(part(data, at, "type"))
	if kind == `"error"` && len(object) == 0 {
		object = data // responses
	}
	if len(object) == 0 || object[0] != '{' {
		return ""
	}
	inner, err := fields(object, "message")
	if err != nil {
		return ""
	}
	const most = 300
	text := strings.Trim(string(part(object, inner, "message")), `"`)
	return text[:min(len(text), most)] + " "[:max(0, 1-len(text))]
}

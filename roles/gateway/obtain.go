package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sett/contract/model"
	"sett/roles/role"
	line "sett/roles/role/gateway"
	"sett/roles/role/provider"
	"sett/roles/role/words"
)

// got is an answer of a provider or of a tape.
type got struct {
	status int
	header http.Header
	stream bool
	head   []byte        // the whole body, or its beginning
	rest   io.ReadCloser // nil: head is the whole body
}

// mostHead bounds the answers that are read whole before a byte is passed on, and
// mostError those of errors.
const (
	mostHead  = 256 << 10
	mostError = 1 << 20
)

// obtain asks the provider, again where that may help. The last word is an answer, errors
// of the provider included, or a refusal of our own with its status.
func (c *call) obtain(ctx context.Context, cancel context.CancelCauseFunc) (*got, int, *line.Refusal) {
	if c.up.replay != nil {
		return c.replay()
	}
	edits, err := c.q.edits(c.up.Model, c.lower)
	if err != nil {
		why := refusal(line.Request, "read the request: %v", err)
		return nil, http.StatusBadRequest, &why
	}
	pieces := splice(c.q.body, edits)
	c.asked = c.s.now()
	for {
		c.tries++
		g, err := c.once(ctx, cancel, pieces)
		asks, again := c.again(g, err)
		pause := c.pause(ctx, g, asks)
		if again && c.tries <= c.up.retries && asks <= c.s.pace.patience && !role.Late(ctx, pause) {
			g.close()
			c.s.metrics.retries.WithLabelValues(c.up.Name).Inc()
			c.s.log.Info("request repeated", "model", c.up.Name, "claim", c.id.Claim, "agent", c.id.Agent, "status", g.statusOrZero(), "error", c.s.mask.error(err), "wait", pause)
			if !role.Sleep(ctx, pause) {
				return c.between(ctx, g, err)
			}
			c.lose(err)
			continue
		}
		if again {
			c.unrepeated = c.tooLong(ctx, asks)
		}
		if err == nil && (g.status == http.StatusUnauthorized || g.status == http.StatusForbidden) {
			c.remedy = keyRemedy(c.up.Model)
		}
		if g.explain(c.explained) || c.unrepeated == "" {
			return c.lastWord(ctx, g, err)
		}
		c.status = g.status
		g.close()
		why := refusal(line.Provider, "model %s answers %d: %s%s", c.up.Name, g.status, c.unrepeated, c.tried())
		return nil, g.status, &why
	}
}

// lose counts an attempt that has no answer, though the provider had the request: the model may have worked on it.
func (c *call) lose(err error) {
	switch {
	case c.text > 0:
		c.lost = c.lost.Add(model.Usage{Input: c.input, Output: min((c.text+2)/3, c.output)})
	case err != nil && !isRefused(err):
		c.dropped = c.dropped.Add(model.Usage{Input: c.input})
	}
	c.text = 0
}

// once sends the request, and reads an answer that is small, or an error's, to its end.
func (c *call) once(ctx context.Context, cancel context.CancelCauseFunc, pieces [][]byte) (*got, error) {
	body, size := reader(pieces)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.up.URL(c.q.path), body)
	if err != nil {
		return nil, err
	}
	q.ContentLength = size
	q.Header = c.q.outgoing(c.up.Model, c.up.key)
	q.URL.RawQuery = c.r.URL.RawQuery
	answer, err := c.up.way.Do(c.up.client, q) //nolint:bodyclose // the caller reads and closes it
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	g := &got{status: answer.StatusCode, header: answer.Header, stream: kind == "text/event-stream" && answer.StatusCode < 300}
	rest := &idleReader{ReadCloser: answer.Body, most: c.up.idle, silent: func() {
		cancel(fmt.Errorf("%w: nothing came for %s; timeout: {idle: …} of models.%s allows more", errIdle, words.Span(c.up.idle), c.up.Name))
	}}
	if g.stream {
		g.rest = rest
		return g, nil
	}
	most := mostHead
	if g.status >= 300 {
		most = mostError
	}
	g.head, err = io.ReadAll(io.LimitReader(rest, int64(most)))
	switch {
	case err != nil:
		_ = rest.Close()
		if g.status >= 300 {
			return g, nil // the status says enough
		}
		c.text = int64(len(g.head))
		return nil, fmt.Errorf("the answer ends early: %w", err)
	case len(g.head) == most && g.status < 300:
		g.rest = rest
	default:
		_ = rest.Close()
	}
	return g, nil
}

func (g *got) close() {
	if g != nil && g.rest != nil {
		_ = g.rest.Close()
	}
}

func (g *got) statusOrZero() int {
	if g == nil {
		return 0
	}
	return g.status
}

// again says whether the request may be repeated, and after which time at least.
func (c *call) again(g *got, err error) (wait time.Duration, again bool) {
	if err != nil {
		return 0, !isTimeout(err) && !isLasting(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, errIdle)
	}
	switch {
	case g.status == http.StatusTooManyRequests && outOfMoney(g.head):
		return 0, false
	case g.status == http.StatusRequestTimeout, g.status == http.StatusTooManyRequests, g.status >= 500:
		return retryAfter(g.header, c.s.now()), true
	}
	return 0, false
}

// retryAfter is the least wait that an answer asks for.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return time.Duration(min(ms, 1e12) * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 1e9) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// The words of errors that no repetition mends: in their type or code, and in their
// message. Messages about mere haste name billing pages, too.
var (
	moneyKinds    = []string{"insufficient_quota", "billing", "credit", "payment_required", "spend"}
	moneyMessages = []string{"exceeded your current quota", "credit balance", "insufficient credit", "insufficient balance", "spend limit", "spending limit"}
)

// outOfMoney says whether an error means that there is no money left.
func outOfMoney(body []byte) bool {
	var e struct {
		Error struct {
			Type    string          `json:"type"`
			Code    json.RawMessage `json:"code"`
			Message string          `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return false
	}
	has := func(text string, words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(text), w) })
	}
	return has(e.Error.Type+" "+string(e.Error.Code), moneyKinds) || has(e.Error.Message, moneyMessages)
}

// refuse is the end of a call without an answer of its provider.
func (c *call) refuse(status int, format string, args ...any) (*got, int, *line.Refusal) {
	why := refusal(line.Provider, "model %s: "+format, append([]any{c.up.Name}, args...)...)
	why.Message = c.s.mask.text(why.Message) + c.tried()
	return nil, status, &why
}

// between ends a call whose client went away, or whose time was over, before its next attempt. Nothing was under way at
// the provider then: the call took what its last attempt took, and an error of the provider takes nothing.
func (c *call) between(ctx context.Context, last *got, err error) (*got, int, *line.Refusal) {
	c.status, c.answered = last.statusOrZero(), err != nil && !isRefused(err)
	return c.ended(ctx)
}

// ended is the end of a call that its client or its time ended.
func (c *call) ended(ctx context.Context) (*got, int, *line.Refusal) {
	if c.r.Context().Err() != nil {
		return c.refuse(http.StatusGatewayTimeout, "the client went away")
	}
	return c.refuse(http.StatusGatewayTimeout, "%v", context.Cause(ctx))
}

// lastWord is the end of all attempts.
func (c *call) lastWord(ctx context.Context, g *got, err error) (*got, int, *line.Refusal) {
	refuse := func(status int, format string, args ...any) (*got, int, *line.Refusal) {
		g.close()
		return c.refuse(status, format, args...)
	}
	c.status = g.statusOrZero()
	if err != nil {
		cause := context.Cause(ctx)
		c.answered = !isRefused(err)
		if isLasting(err) { // of a handshake; a connection that was cut before failed at the same place
			c.dropped = model.Usage{}
		}
		silent := isTimeout(err) || cause != nil // the model may have worked all the time
		c.unknown = c.answered && silent && !c.q.stream
		switch {
		case cause != nil:
			return c.ended(ctx)
		case isTimeout(err):
			return refuse(http.StatusGatewayTimeout, "no answer in time: %s", c.overdue(err))
		}
		return refuse(http.StatusBadGateway, "the provider is out of reach: %s", c.s.mask.error(err))
	}
	kind, _, _ := mime.ParseMediaType(g.header.Get("Content-Type"))
	encoding := g.header.Get("Content-Encoding")
	switch {
	case g.status == http.StatusProxyAuthRequired && c.up.way.Proxy != nil:
		return refuse(http.StatusBadGateway, "the proxy %s answers %d; %s", provider.Show(c.up.way.Proxy), g.status, provider.NeedsUser)
	case g.status >= 300 && g.status < 400:
		to, _ := url.Parse(g.header.Get("Location"))
		if to == nil {
			to = &url.URL{}
		}
		return refuse(http.StatusBadGateway, "the provider redirects to %q, which is not followed: is base_url right?", to.Host)
	case g.status < 300 && kind == "text/html":
		return refuse(http.StatusBadGateway, "the provider answered with a page for people: is base_url right?")
	case g.status < 300 && encoding != "" && encoding != "identity":
		return refuse(http.StatusBadGateway, "the provider compressed its answer, which was not asked for")
	}
	c.answered = g.status < 300
	g.preface(strings.Trim(c.tried()+c.remedy, " ()"))
	return g, 0, nil
}

// idleReader gives up an answer without any news for a time.
type idleReader struct {
	io.ReadCloser
	most   time.Duration
	silent func()
	timer  *time.Timer
}

func (r *idleReader) Read(p []byte) (int, error) {
	if r.timer == nil {
		r.timer = time.AfterFunc(r.most, r.silent)
	} else {
		r.timer.Reset(r.most)
	}
	defer r.timer.Stop()
	return r.ReadCloser.Read(p)
}

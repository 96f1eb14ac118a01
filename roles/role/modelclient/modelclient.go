// Package modelclient asks language models in the three wire formats that Sett's door and
// gateway pass on: chat completions, responses and messages. It streams every answer and
// bounds it. It repeats a request only after its answer broke off or the gateway ended, and each time after
// a longer pause: other repeats are the gateway's, which knows budgets and limits.
//
// It knows neither prompts nor tools; see contract/prompt and roles/llm.
package modelclient

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/role"
	"sett/roles/role/gateway"
)

// Client asks one model, one question after the other.
type Client struct {
	API    model.API
	Model  string
	Base   string      // such as http://127.0.0.1:4711; the API's path is added
	Header http.Header // of each request, with its authorization
	HTTP   *http.Client
	// Sign changes the headers of each request, repeats included; nil: nothing does.
	Sign func(http.Header)
	// Repeats are further tries of a request after its answer broke off. A provider that says within an answer that
	// it has too much to do gets some more.
	Repeats int
	// Pause is the time before the first repeat, twice as long before each one after it; 0: firstPause.
	Pause time.Duration
	// Limit is the field of a chat with the limit of the output; empty: max_tokens. Where the provider does not
	// know it, the client goes over to the other one.
	Limit string
}

// format is one API's wire format.
type format interface {
	path() string
	encode(model string, q Request) ([]byte, error)
	answer() reading
}

// reading puts an answer together from the events of its stream.
type reading interface {
	event(data []byte) (last bool, err error)
	complete() bool // nothing is missing but a mark of the end
	done() (Answer, error)
}

// formats by their API.
var formats = map[model.API]format{model.Chat: chat{}, model.Messages: messages{}, model.Responses: responses{}}

// FromEnv returns the client of a tool's door: by its socket, else by its address.
func FromEnv(lookup func(string) (string, bool)) (*Client, error) {
	r := env.Reader{Lookup: lookup}
	api := model.API(r.OneOf(env.ModelAPI, string(model.Chat), string(model.Messages), string(model.Responses)))
	c := &Client{API: api, Model: r.Or(env.ModelName, ""), Header: http.Header{}, HTTP: NewHTTP(plain), Repeats: 2}
	base, key := env.OpenAIBase, env.OpenAIKey
	if api == model.Messages {
		base, key = env.AnthropicBase, env.AnthropicKey
	}
	c.Base = strings.TrimSuffix(strings.TrimRight(r.Or(base, ""), "/"), "/v1")
	if path := r.Or(env.ModelSocket, ""); path != "" {
		c.Base, c.HTTP = "http://sett", NewHTTP(socket(path))
	}
	c.Limit = model.LimitOf(c.Base)
	if c.Base == "" {
		r.Required(base, "the door to a model, which a running agent with llm in sett.yml has; or "+env.ModelSocket)
	}
	if token := r.Or(key, ""); token != "" && api == model.Messages {
		c.Header.Set("X-Api-Key", token)
	} else if token != "" {
		c.Header.Set("Authorization", "Bearer "+token)
	}
	return c, r.Err()
}

// Dial connects, as net.Dialer's DialContext.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// socket connects to a Unix socket, whatever the address.
func socket(path string) Dial {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return plain(ctx, "unix", path) }
}

func plain(ctx context.Context, network, addr string) (net.Conn, error) {
	return role.Dialer(10*time.Second, role.Silence).DialContext(ctx, network, addr)
}

// NewHTTP returns a client that obeys no proxy and follows no redirect.
func NewHTTP(dial Dial) *http.Client {
	t := &http.Transport{DialContext: dial, MaxIdleConns: 8, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 1 << 20}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Ask returns the model's answer. An answer that breaks off is asked for again.
func (c *Client) Ask(ctx context.Context, q Request) (Answer, error) {
	f := formats[c.API]
	if f == nil {
		return Answer{}, fmt.Errorf("ask the model: no API %q", c.API)
	}
	c.Limit = cmp.Or(c.Limit, model.MaxTokens)
	a, err := c.ask(ctx, f, q)
	if c.API == model.Chat && refusesField(err, c.Limit) {
		c.Limit = model.OtherLimit(c.Limit)
		a, err = c.ask(ctx, f, q)
	}
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	}
	return Answer{}, fmt.Errorf("ask the model: %w", err)
}

// The pauses before repeats, and the further repeats where the provider has too much to do.
const (
	firstPause  = 500 * time.Millisecond
	longerPause = 4 // times, where the provider has too much to do
	mostPause   = 30 * time.Second
	moreRepeats = 2
)

// ask sends a request until its answer is whole.
func (c *Client) ask(ctx context.Context, f format, q Request) (Answer, error) {
	q.limitBy = c.Limit
	body, err := f.encode(c.Model, q)
	if err != nil {
		return Answer{}, err
	}
	for try := 0; ; try++ {
		a, err := c.once(ctx, f, body)
		if err == nil {
			return a, nil
		}
		repeats, pause := c.Repeats, cmp.Or(c.Pause, firstPause)
		if overloaded(err) && repeats > 0 {
			repeats, pause = repeats+moreRepeats, longerPause*pause
		}
		if !errors.Is(err, ErrCut) || try >= repeats || !sleep(ctx, min(pause<<min(try, 16), mostPause)) {
			return Answer{}, err
		}
	}
}

// sleep waits for about the time, so that clients which failed together do not come back together. It returns
// false where the context ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	d = d/2 + rand.N(d/2+1)
	return !role.Late(ctx, d) && role.Sleep(ctx, d)
}

// mostRefusal is the part of an error answer that is read, in bytes.
const mostRefusal = 64 << 10

func (c *Client) once(ctx context.Context, f format, body []byte) (Answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+f.path(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	for name, values := range c.Header {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if c.API == model.Messages {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	if c.Sign != nil {
		c.Sign(r.Header)
	}
	w, err := c.HTTP.Do(r)
	var op *net.OpError
	if err != nil && !(errors.As(err, &op) && op.Op == "dial") {
		err = cut{unanswered(err)} // the gateway ended, and is started again
	}
	if err != nil {
		return Answer{}, err
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusOK {
		begin, _ := io.ReadAll(io.LimitReader(w.Body, mostRefusal)) // the part that came is all there is
		refused := refusal(w.StatusCode, w.Header, begin)
		if w.StatusCode == http.StatusServiceUnavailable && w.Header.Get(gateway.ShouldRetry) == "" {
			return Answer{}, cut{refused} // the door's own: the gateway ended
		}
		return Answer{}, refused
	}
	answer := bufio.NewReader(w.Body)
	if kind := w.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") && !isStream(answer) {
		begin, _ := io.ReadAll(io.LimitReader(answer, mostMessage))
		return Answer{}, noStream(kind, begin)
	}
	reading := f.answer()
	if err := events(answer, time.Now, reading); err != nil {
		return Answer{}, err
	}
	return reading.done()
}

// isStream says whether an answer of another type begins as a stream of events does.
func isStream(body *bufio.Reader) bool {
	begin, _ := body.Peek(len("event:"))
	return bytes.HasPrefix(begin, []byte("data:")) || bytes.HasPrefix(begin, []byte("event:"))
}

// unanswered says that no answer came, without the words of Go that say no more.
func unanswered(err error) error {
	const said = "the connection ended before the answer began"
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New(said)
	}
	return fmt.Errorf("%s: %w", said, err)
}

// streamError reads the error that a provider reports within a stream. Such an answer
// counts as cut, since the provider had begun, unless it would fail again.
func streamError(data []byte) error {
	kind, message := errorText(data)
	e := &StatusError{Type: kind, Message: excerpt(message)}
	if e.lasting() {
		return e
	}
	return cut{e}
}

// decode reads an event. An event that is no JSON means a broken stream; one in another form would come again.
func decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("the provider's answer is not in the form of its API: %s is a JSON %s", cmp.Or(kind.Field, "an event"), kind.Value)
	}
	if err != nil {
		return cut{errNoJSON}
	}
	return nil
}

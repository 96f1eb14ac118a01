// Package modelclient asks language models in the three wire formats that Sett's door and
// gateway pass on: chat completions, responses and messages. It streams every answer and
// bounds it. It repeats a request only after its answer broke off or the gateway ended: other
// repeats are the gateway's, which knows budgets and limits.
//
// It knows neither prompts nor tools; see contract/prompt and roles/llm.
package modelclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/role"
	"sett/roles/role/gateway"
)

// Client asks one model.
type Client struct {
	API    model.API
	Model  string
	Base   string      // such as http://127.0.0.1:4711; the API's path is added
	Header http.Header // of each request, with its authorization
	HTTP   *http.Client
	// Sign changes the headers of each request, repeats included; nil: nothing does.
	Sign func(http.Header)
	// Repeats are further tries of a request after its answer broke off.
	Repeats int
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
	body, err := f.encode(c.Model, q)
	if err != nil {
		return Answer{}, fmt.Errorf("ask the model: %w", err)
	}
	for try := 0; ; try++ {
		a, err := c.once(ctx, f, body)
		if err == nil {
			return a, nil
		}
		if ctx.Err() != nil {
			return Answer{}, context.Cause(ctx)
		}
		if !errors.Is(err, ErrCut) || try >= c.Repeats {
			return Answer{}, fmt.Errorf("ask the model: %w", err)
		}
	}
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
		err = fmt.Errorf("%w: %w", ErrCut, err) // the gateway ended, and is started again
	}
	if err != nil {
		return Answer{}, err
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusOK {
		begin, _ := io.ReadAll(io.LimitReader(w.Body, mostRefusal)) // the part that came is all there is
		refused := refusal(w.StatusCode, w.Header, begin)
		if w.StatusCode == http.StatusServiceUnavailable && w.Header.Get(gateway.ShouldRetry) == "" {
			return Answer{}, fmt.Errorf("%w: %w", ErrCut, refused) // the door's own: the gateway ended
		}
		return Answer{}, refused
	}
	if kind := w.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		begin, _ := io.ReadAll(io.LimitReader(w.Body, mostMessage))
		return Answer{}, fmt.Errorf("the answer is no stream of events but %q: %s", kind, excerpt(strings.Join(strings.Fields(string(begin)), " ")))
	}
	reading := f.answer()
	if err := events(w.Body, reading.event); err != nil {
		return Answer{}, err
	}
	return reading.done()
}

// streamError reads the error that a provider reports within a stream. Such an answer
// counts as cut: the provider had begun.
func streamError(data []byte) error {
	kind, message := errorText(data)
	e := &StatusError{Status: http.StatusOK, Type: kind, Message: excerpt(message)}
	return fmt.Errorf("%w: %w", ErrCut, e)
}

// decode reads an event. An event that is no JSON means a broken stream.
func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: an event is no JSON: %w", ErrCut, err)
	}
	return nil
}

package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/contract/env"
	"sett/roles/role"
	"sett/roles/role/words"
)

// tried says how often the provider was asked, after a sentence; empty: once.
func (c *call) tried() string {
	if c.tries < 2 {
		return ""
	}
	return fmt.Sprintf(" (after %d tries in %s)", c.tries, words.Span(c.s.now().Sub(c.asked)))
}

// explained is the message of a provider's error, with the reason that it was the last one, and the number of tries.
func (c *call) explained(message string) string {
	if c.unrepeated != "" {
		message = c.unrepeated + ": " + message
	}
	return message + c.tried() + c.remedy
}

// keyRemedy is what a person can do about a key that a provider refuses, after a sentence. The key is that of the last
// sett up, whatever its file has by now.
func keyRemedy(m env.Model) string {
	if m.KeyFrom == "" {
		return fmt.Sprintf(" (if it wants a key: api_key_env or api_key_file of models.%s, sett up, sett retry ID)", m.Name)
	}
	return fmt.Sprintf(" (if the key in %s is wrong, or has changed since sett up: mend it, sett up, sett retry ID)", m.KeyFrom)
}

// tooLong says that the provider asks for a longer wait than there is; empty: it does not.
func (c *call) tooLong(ctx context.Context, wait time.Duration) string {
	asks := "the provider asks for a wait of " + words.Span(wait)
	switch {
	case wait > c.s.pace.patience:
		return asks + ", and Sett waits at most " + words.Span(c.s.pace.patience)
	case wait > 0 && role.Late(ctx, wait):
		return asks + ", and this call has to end before"
	}
	return ""
}

// explain changes the message of an error, and no other field: of an answer, tools show the message. It returns
// false where the answer is no such error.
func (g *got) explain(change func(message string) string) bool {
	if g == nil || g.status < 300 {
		return false
	}
	said, ok := g.message()
	if !ok {
		return false
	}
	var message string
	if json.Unmarshal(said.in(g.head), &message) != nil {
		return false
	}
	if changed := change(message); changed != message {
		g.head = slices.Concat(g.head[:said.from], encodeJSON(changed), g.head[said.to:])
	}
	return true
}

// message is the place of an error's message, in the forms that providers and servers have for it.
func (g *got) message() (span, bool) {
	at, err := fields(g.head, "error", "message", "detail")
	if err != nil {
		return span{}, false
	}
	for _, name := range []string{"error", "message", "detail"} {
		said, ok := at[name]
		if !ok {
			continue
		}
		inner, err := fields(said.in(g.head), "message")
		if in, has := inner["message"]; err == nil && has {
			return span{said.from + in.from, said.from + in.to}, true
		}
		return said, true
	}
	return span{}, false
}

// preface puts words before the text of an error that is no JSON, as a page of a proxy is.
func (g *got) preface(words string) {
	if g.status >= 300 && words != "" && !json.Valid(g.head) {
		g.head = slices.Concat([]byte(words+": "), g.head)
	}
}

// overdue says in the words of sett.yml that a time was over.
func (c *call) overdue(err error) string {
	const ofHeaders = "timeout awaiting response headers" // of net/http, by HTTP/1 and HTTP/2, which export no such error
	if isRefused(err) || !strings.Contains(err.Error(), ofHeaders) {
		return c.s.mask.error(err)
	}
	return fmt.Sprintf("it did not begin within %s; timeout: {headers: …} of models.%s allows more", words.Span(c.up.headers), c.up.Name)
}

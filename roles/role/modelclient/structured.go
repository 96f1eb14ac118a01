package modelclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Structured returns the model's answer in the form of the request's schema, as JSON that
// check accepts: by the API's own means, else by a forced tool, else from the text. A
// model that answers wrongly is told so, and asked once again.
func (c *Client) Structured(ctx context.Context, q Request, check func(json.RawMessage) error) (json.RawMessage, error) {
	schema := q.Schema
	forced, plain := q, q
	forced.Schema, forced.Force = nil, schema.Name
	forced.Tools = []Tool{{Name: schema.Name, Description: "Give your answer.", Schema: schema.JSON}}
	plain.Schema = nil
	plain.System = strings.TrimRight(q.System, "\n") + "\n\nAnswer with one JSON object of this schema and with nothing else:\n" + string(schema.JSON) + "\n"
	var refused error
	for _, way := range []Request{q, forced, plain} {
		value, err := c.structured(ctx, way, check)
		if !notThisWay(err) {
			return value, err
		}
		refused = err
	}
	return nil, refused
}

// notThisWay says whether the server may take the request in another form.
func notThisWay(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Refused == nil && !status.overflow() &&
		(status.Status == http.StatusBadRequest || status.Status == http.StatusUnprocessableEntity)
}

func (c *Client) structured(ctx context.Context, q Request, check func(json.RawMessage) error) (json.RawMessage, error) {
	for again := false; ; again = true {
		a, err := c.Ask(ctx, q)
		if err != nil {
			return nil, err
		}
		value, err := value(a, q.Force)
		if err == nil {
			err = check(value)
		}
		if err == nil || again || a.Refused() != nil || a.Stop == StopContext {
			return value, err
		}
		q.Messages = append(q.Messages[:len(q.Messages):len(q.Messages)], correct(a, err)...)
	}
}

// correct adds the answer and its fault to a conversation.
func correct(a Answer, fault error) []Message {
	said := fmt.Sprintf("Your answer is not right: %v. Answer again.", fault)
	user := Message{Text: said}
	for _, call := range a.Calls {
		user.Results = append(user.Results, Result{Call: call.ID, Text: said, Failed: true})
	}
	return []Message{a.Message, user}
}

// value is the JSON of an answer.
func value(a Answer, force string) (json.RawMessage, error) {
	if err := a.Refused(); err != nil {
		return nil, err
	}
	switch a.Stop {
	case StopLength:
		return nil, errors.New("the answer is longer than it may be")
	case StopContext:
		return nil, ErrContext
	}
	text := a.Text
	if force != "" {
		text = ""
		for _, call := range a.Calls {
			if call.Name == force {
				text = call.Arguments
			}
		}
		if text == "" {
			return nil, fmt.Errorf("the tool %s was not called", force)
		}
	}
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok { // models fence their JSON
		inner = strings.TrimPrefix(inner, "json")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "```"))
	}
	if text == "" {
		return nil, errors.New("the answer is empty")
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	var v json.RawMessage
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	if dec.More() {
		return nil, errors.New("text follows the JSON")
	}
	return v, nil
}

package act

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sett/roles/role"
)

// Wish is the rest of a move, beside its name and the id.
type Wish struct {
	Text    string `json:"text"`    // the answer, the reason, the feedback
	Approve bool   `json:"approve"` // of a review without feedback
}

// Move is a move of people.
type Move struct {
	line    func(id string, do Wish) []string // the command line; a text is read from standard input
	fields  []string                          // of Wish, by their names in JSON, that it takes
	instead string                            // says which move takes the others
}

// onlyText are the fields of most moves.
var onlyText = []string{"text"}

// Moves are the moves by name.
var Moves = map[string]Move{
	"answer":  {line: typed("answer"), fields: onlyText},
	"approve": {line: bare("approve"), instead: "review or reject does"},
	"reject":  {line: typed("reject"), fields: onlyText},
	"review": {fields: []string{"text", "approve"}, line: func(id string, do Wish) []string {
		if do.Approve {
			return []string{"review", "--approve", "--", id}
		}
		return []string{"review", "--feedback=-", "--", id}
	}},
	"cancel": {line: typed("cancel"), fields: onlyText},
	"retry": {fields: onlyText, line: func(id string, do Wish) []string {
		if do.Text == "" {
			return bare("retry")(id, do)
		}
		return typed("retry")(id, do)
	}},
}

// Takes is a body that the move takes, for people.
func (m Move) Takes() string {
	switch {
	case len(m.fields) == 0:
		return "{}"
	case slices.Contains(m.fields, "approve"):
		return `{"approve": true}, or {"text": "…"}`
	}
	return `{"text": "…"}`
}

func bare(name string) func(string, Wish) []string {
	return func(id string, _ Wish) []string { return []string{name, "--", id} }
}

func typed(name string) func(string, Wish) []string {
	return func(id string, _ Wish) []string { return []string{name, "--", id, "-"} }
}

// WishOf reads the rest of a move from a JSON object. A field that the move does not take is
// an error: it would be dropped, and the move done as if nobody had written it.
func WishOf(move string, object []byte) (do Wish, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(object, &given); err != nil {
		return do, fmt.Errorf("the body cannot be read: %w", err)
	}
	m := Moves[move]
	for _, field := range slices.Sorted(maps.Keys(given)) {
		switch {
		case slices.Contains(m.fields, field):
		case field == "text" && m.instead != "":
			return do, fmt.Errorf("%s takes no text; %s", move, m.instead)
		default:
			return do, fmt.Errorf("%s takes no %q", move, role.Clean(field))
		}
	}
	if err := json.Unmarshal(object, &do); err != nil {
		return do, fmt.Errorf("the body cannot be read: %w", err)
	}
	if do.Approve && do.Text != "" {
		return do, fmt.Errorf("a %s either approves or says what is wrong", move)
	}
	return do, nil
}

const moveTime = time.Minute

// Done is the outcome of a move. The names of its fields are part of the API.
type Done struct {
	IDs  []string `json:"ids"`  // of the records that were made
	Says string   `json:"says"` // the outcome, in words
}

// Do does a move. The end of ctx does not stop it: a move that was begun is recorded.
func (c Command) Do(ctx context.Context, move, id string, do Wish) (Done, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moveTime)
	defer cancel()
	var out, said bytes.Buffer
	if err := c(ctx, Moves[move].line(id, do), strings.NewReader(do.Text), &out, &said); err != nil {
		return Done{}, err
	}
	return Done{append([]string{}, strings.Fields(out.String())...), strings.TrimSpace(strings.ReplaceAll("\n"+said.String(), "\nsett: ", "\n"))}, nil
}

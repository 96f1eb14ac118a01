package act

import (
	"bytes"
	"context"
	"strings"
	"time"
)

// Wish is the rest of a move, beside its name and the id.
type Wish struct {
	Text    string `json:"text"`    // the answer, the reason, the feedback
	Approve bool   `json:"approve"` // of a review without feedback
}

// Moves are the moves of people, as command lines. A text is read from standard input.
var Moves = map[string]func(id string, do Wish) []string{
	"answer":  func(id string, _ Wish) []string { return []string{"answer", "--", id, "-"} },
	"approve": func(id string, _ Wish) []string { return []string{"approve", "--", id} },
	"reject":  func(id string, _ Wish) []string { return []string{"reject", "--", id, "-"} },
	"review": func(id string, do Wish) []string {
		if do.Approve && do.Text == "" {
			return []string{"review", "--approve", "--", id}
		}
		return []string{"review", "--feedback=-", "--", id}
	},
	"cancel": func(id string, _ Wish) []string { return []string{"cancel", "--", id, "-"} },
	"retry": func(id string, do Wish) []string {
		if do.Text == "" {
			return []string{"retry", "--", id}
		}
		return []string{"retry", "--", id, "-"}
	},
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
	if err := c(ctx, Moves[move](id, do), strings.NewReader(do.Text), &out, &said); err != nil {
		return Done{}, err
	}
	return Done{append([]string{}, strings.Fields(out.String())...), strings.TrimSpace(strings.ReplaceAll("\n"+said.String(), "\nsett: ", "\n"))}, nil
}

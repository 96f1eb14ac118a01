package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"sett/contract/model"
	line "sett/roles/role/gateway"
)

// sayStopped ends a stream that the gateway stops with an event that says why, in the form in which the API tells of
// errors: after a cut alone, the client could only guess. One that the provider has cut gets none.
func (c *call) sayStopped(ctx context.Context, err error) {
	kind := ""
	switch cause := context.Cause(ctx); {
	case c.r.Context().Err() != nil:
		return
	case errors.Is(cause, errIdle):
		kind = line.StoppedIdle
	case errors.Is(err, errTooMuch), errors.Is(err, errLargeEvent):
		kind = line.StoppedTooLarge
	default:
		return
	}
	if _, err := c.w.Write(stoppedEvent(c.q.api, kind, c.reason)); err == nil {
		_ = http.NewResponseController(c.w).Flush()
	}
}

// stoppedEvent is an error as an event of a stream.
func stoppedEvent(api model.API, kind, message string) []byte {
	var body any
	name := "event: error\n"
	switch about := map[string]string{"type": kind, "message": message}; api {
	case model.Chat:
		name, body = "", map[string]any{"error": about}
	case model.Messages:
		body = map[string]any{"type": "error", "error": about}
	default:
		body = map[string]any{"type": "error", "code": kind, "message": message, "param": nil}
	}
	data, err := json.Marshal(body)
	if err != nil { // texts alone
		return nil
	}
	return fmt.Appendf(nil, "%sdata: %s\n\n", name, data)
}

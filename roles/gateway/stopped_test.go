package gateway

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"sett/contract/model"
)

// A stream that the gateway stops has a last event with the reason; one that the provider or the client has cut gets none.
func TestStoppedStream(t *testing.T) {
	t.Parallel()
	gone, away := context.WithCancel(t.Context())
	away()
	for name, c := range map[string]struct {
		client context.Context
		err    error
		want   string
	}{
		"large event":  {t.Context(), errLargeEvent, `"type":"gateway_answer_too_large"`},
		"large answer": {t.Context(), errTooMuch, `"type":"gateway_answer_too_large"`},
		"cut":          {t.Context(), errors.New("reset"), ""},
		"gone client":  {gone, errTooMuch, ""},
	} {
		w := httptest.NewRecorder()
		one := &call{w: w, r: httptest.NewRequest("POST", "/", nil).WithContext(c.client), q: &request{api: model.Chat}, reason: "why"}
		one.sayStopped(t.Context(), c.err)
		got := w.Body.String()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || got != "" && !strings.HasPrefix(got, `data: {"error":{"message":"why",`) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

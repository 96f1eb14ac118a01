package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"sett/contract/env"
	"sett/contract/model"
	line "sett/roles/role/gateway"
)

// paths are the requests that are passed on.
var paths = map[string]model.API{
	"/v1/chat/completions": model.Chat, "/v1/responses": model.Responses, "/v1/messages": model.Messages, "/v1/messages/count_tokens": model.Messages,
}

const modelsPath = "/v1/models"

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api, known := paths[r.URL.Path]
	if r.URL.Path == modelsPath && r.Header.Get("Anthropic-Version") != "" {
		api = model.Messages
	}
	list := r.URL.Path == modelsPath && r.Method == http.MethodGet
	agent := r.Header.Get(line.Agent)
	settings, has := s.settings.Agents[agent]
	switch {
	case !list && (!known || r.Method != http.MethodPost):
		s.refuse(w, api, http.StatusNotFound, refusal(line.Request, "%s %s is not served here", r.Method, r.URL.Path))
	case !line.Admits(s.settings.Key, r):
		s.refuse(w, api, http.StatusUnauthorized, refusal(line.Request, "the token is not that of agent %q", agent))
	case !has:
		s.refuse(w, api, http.StatusForbidden, refusal(line.Request, "agent %s has no model in sett.yml", agent))
	case list:
		s.list(w, api, s.upstreams[settings.Model])
	default:
		s.call(w, r, api, settings)
	}
}

// list answers with the one model that the agent may call.
func (s *server) list(w http.ResponseWriter, api model.API, u *upstream) {
	type object = map[string]any
	if api == model.Messages {
		m := object{"type": "model", "id": u.Model.Model, "display_name": u.Model.Model, "created_at": "1970-01-01T00:00:00Z"}
		writeJSON(w, http.StatusOK, object{"data": []object{m}, "has_more": false, "first_id": u.Model.Model, "last_id": u.Model.Model})
		return
	}
	m := object{"id": u.Model.Model, "object": "model", "created": 0, "owned_by": u.Name}
	writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{m}})
}

// call reads a request for an answer, and answers it.
func (s *server) call(w http.ResponseWriter, r *http.Request, api model.API, agent env.GatewayAgent) {
	id, ok := line.ReadCall(r.Header)
	if !ok {
		s.refuse(w, api, http.StatusBadRequest, refusal(line.Request, "the headers %s, %s, %s and %s name no call", line.Call, line.Claim, line.Attempt, line.Agent))
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.pace.body))
	body, err := readBody(w, r)
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		s.refuse(w, api, http.StatusRequestEntityTooLarge, refusal(line.Request, "the request is larger than %d MiB", mostBody>>20))
		return
	case err != nil:
		s.refuse(w, api, http.StatusBadRequest, refusal(line.Request, "read the request: %v", err))
		return
	}
	q, err := readRequest(api, r.URL.Path, r.Header, body)
	if err != nil {
		s.refuse(w, api, http.StatusBadRequest, refusal(line.Request, "read the request: %v", err))
		return
	}
	id.Model, id.Request = agent.Model, q.hash
	c := &call{s: s, w: w, r: r, q: q, up: s.upstreams[agent.Model], id: id, began: s.now()}
	c.budgets.Goal, c.budgets.Grant = s.settings.Budget, agent.Budget
	c.answer()
}

// readBody reads a body of a known length into memory of just that size.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limited := http.MaxBytesReader(w, r.Body, mostBody)
	if r.ContentLength < 0 {
		return io.ReadAll(limited)
	}
	if r.ContentLength > mostBody {
		return nil, &http.MaxBytesError{Limit: mostBody}
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(limited, body)
	return body, err
}

func refusal(why line.Why, format string, args ...any) line.Refusal {
	return line.Refusal{Why: why, Message: fmt.Sprintf(format, args...)}
}

// kinds are the types of our own errors, in the words of messages and of the others.
var kinds = map[line.Why][2]string{
	line.Budget: {"budget_exceeded", "budget_exceeded"}, line.Paused: {"rate_limit_error", "models_paused"}, line.NotRunning: {"permission_error", "not_running"},
	line.Provider: {"api_error", "provider_error"}, line.Replay: {"invalid_request_error", "not_recorded"}, line.Request: {"invalid_request_error", "invalid_request_error"},
	line.Board: {"api_error", "blackboard_error"},
}

// refuse answers with an error of our own, in the form of the API that was asked.
func (s *server) refuse(w http.ResponseWriter, api model.API, status int, why line.Refusal) {
	why.Message = s.mask.text(why.Message)
	why.Write(w.Header())
	s.metrics.refused.WithLabelValues(string(why.Why)).Inc()
	kind, message := kinds[why.Why], "sett: "+why.Message
	if api == model.Messages {
		writeJSON(w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind[0], "message": message}})
		return
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": message, "type": kind[1], "param": nil, "code": kind[1]}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encodeJSON(v))
}

package docker

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sett/runtime/docker/engine"
)

// TestClearMiscounted clears an instance on an engine that counts containers on its networks that
// are gone, and lets no network go: it is told, and is no error. Any other refusal is one.
func TestClearMiscounted(t *testing.T) {
	refusal, members := "", "{}"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		path := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusForbidden)
			w.Write([]byte(`{"message":"error while removing network: network sett-x id n1 ` + refusal + `"}`))
		case path == "info":
			w.Write([]byte(`{"OSType":"linux","ID":"x"}`))
		case path == "version":
			w.Write([]byte(`{"Version":"20.10","Arch":"amd64"}`))
		case path == "networks":
			w.Write([]byte(`[{"Name":"sett-x","Id":"n1"}]`))
		case path == "n1":
			w.Write([]byte(`{"Name":"sett-x","Id":"n1","Containers":` + members + `}`))
		default:
			w.Write([]byte(`[]`))
		}
	}))
	defer s.Close()
	e, err := engine.Open(t.Context(), engine.Endpoint{Host: "tcp://" + s.Listener.Addr().String(), From: "DOCKER_HOST"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	told, now := "", time.Now()
	rt := New(e, Options{Instance: "x", Warn: func(what string) { told += what }, Now: func() time.Time {
		now = now.Add(leaveTime / 2)
		return now
	}})
	refusal = "has active endpoints"
	if err := rt.Clear(t.Context()); err != nil || !strings.Contains(told, "network sett-x stays: the engine counts a container on it that is gone") {
		t.Errorf("told %q, got %v", told, err)
	}
	told, members = "", `{"c1":{"Name":"stranger"}}`
	if err := rt.Clear(t.Context()); err == nil || !strings.Contains(err.Error(), "stranger still on it") || told != "" {
		t.Errorf("with a container on it: told %q, got %v", told, err)
	}
	refusal, members = "is a pre-defined network", "{}"
	if err := rt.Clear(t.Context()); err == nil || !strings.Contains(err.Error(), refusal) || told != "" {
		t.Errorf("refused otherwise: told %q, got %v", told, err)
	}
}

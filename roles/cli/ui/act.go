package ui

import (
	"context"
	"io"
	"mime"
	"net/http"
	"sync"

	"sett/roles/cli/act"
	"sett/roles/role"
)

// Bounds of acting.
const (
	mostText  = 12 << 20 // bytes of a request
	mostDeeds = 1000     // that are remembered
	mostKey   = 200      // characters
)

// deed is a request to act and, once done is closed, its answer.
type deed struct {
	request string
	done    chan struct{}
	status  int
	body    any
}

// deeds remembers requests by their keys, so that a request that comes twice acts once.
type deeds struct {
	mu    sync.Mutex
	by    map[string]*deed
	order []string
}

// begin returns the deed of a key, and whether it is new.
func (d *deeds) begin(key, request string) (*deed, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.by[key]; ok {
		return known, false
	}
	if d.by == nil {
		d.by = map[string]*deed{}
	}
	if len(d.order) >= mostDeeds {
		delete(d.by, d.order[0])
		d.order = d.order[1:]
	}
	begun := &deed{request: request, done: make(chan struct{})}
	d.by[key], d.order = begun, append(d.order, key)
	return begun, true
}

// forget lets the key's next request act: this one did nothing.
func (d *deeds) forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.by, key)
	for i, k := range d.order {
		if k == key {
			d.order = append(d.order[:i], d.order[i+1:]...)
			return
		}
	}
}

// act answers a request to act.
func (s *Server) act(w http.ResponseWriter, r *http.Request, name, id string) {
	key := r.Header.Get("Idempotency-Key")
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method != http.MethodPost:
		s.refuse(w, http.StatusMethodNotAllowed, name+" is done with POST", "")
		return
	case id == "":
		s.refuse(w, http.StatusBadRequest, name+" needs an id", "POST /api/v1/"+name+"/ID")
		return
	case key == "" || len(key) > mostKey:
		s.refuse(w, http.StatusBadRequest, "a key is missing, so that the request may be repeated", "Idempotency-Key: any text that is new for each act")
		return
	case kind != "application/json":
		s.refuse(w, http.StatusUnsupportedMediaType, "the body is not application/json", "")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostText))
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "the body cannot be read: "+err.Error(), "")
		return
	}
	do, err := act.WishOf(name, body)
	if err != nil {
		s.refuse(w, http.StatusBadRequest, err.Error(), act.Moves[name].Takes())
		return
	}
	d, isNew := s.deeds.begin(key, name+" "+id+" "+string(body))
	if isNew {
		go s.do(context.WithoutCancel(r.Context()), key, d, name, id, do) // the act outlives a reader that goes away
	} else if d.request != name+" "+id+" "+string(body) {
		s.refuse(w, http.StatusUnprocessableEntity, "the key was used for another act", "")
		return
	}
	select {
	case <-d.done:
		answer(w, d.status, d.body)
	case <-r.Context().Done():
	}
}

// do acts.
func (s *Server) do(ctx context.Context, key string, d *deed, name, id string, wish act.Wish) {
	defer close(d.done)
	done, err := s.Run.Do(ctx, name, id, wish)
	if err == nil {
		d.status, d.body = http.StatusOK, done
		return
	}
	if d.status, d.body = problemOf(err, http.StatusConflict); role.Passing(err) {
		s.deeds.forget(key)
	}
}

package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"sett/roles/cli/act"
)

// Times of a stream.
const (
	beat      = 15 * time.Second // between signs of life
	writeTime = 30 * time.Second // for a reader to take a message
)

// position is a place in the ledger: an entry's id.
var position = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]{1,20}-[0-9]{1,20}$`)
})

// stream answers with the ledger as it grows, as server-sent events: each entry with its
// id, from the one after Last-Event-ID on. Events away and back say that the blackboard
// is lost and found again; end has the error after which no more comes.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, args []string) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "5")
		s.refuse(w, http.StatusServiceUnavailable, "too many pages are open", "close one")
		return
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if !position().MatchString(last) {
			s.refuse(w, http.StatusBadRequest, "Last-Event-ID is no entry of the ledger", "")
			return
		}
		args = slices.DeleteFunc(args, func(s string) bool { return strings.HasPrefix(s, "--since=") })
		args = append(args, "--since="+last)
	}
	if err := s.Run(r.Context(), []string{"goals", "--limit=1", "--output=json"}, strings.NewReader(""), io.Discard, io.Discard); err != nil {
		s.failed(w, err, http.StatusServiceUnavailable) // a stream that begins says that the blackboard answers
		return
	}
	e := &events{to: w, control: http.NewResponseController(w)}
	_ = e.control.SetReadDeadline(time.Time{}) // the request is read, and the stream outlasts its bound
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if e.write(": hello\n\n") != nil {
		return
	}
	stop := e.beats()
	err := s.Run(r.Context(), append(args, "--output=jsonl"), strings.NewReader(""), &act.Lines{Each: e.entry}, act.Message(func(name, text string) error {
		return e.event(name, struct {
			Says string `json:"says"`
		}{text})
	}))
	stop()
	if err != nil {
		_, p := problemOf(err, http.StatusInternalServerError)
		_ = e.event("end", p)
	}
	e.close()
}

// events writes lines of JSON as events.
type events struct {
	mu      sync.Mutex
	to      http.ResponseWriter
	control *http.ResponseController
	closed  bool
}

var errClosed = errors.New("the stream is closed")

// entry writes a line of the ledger.
func (e *events) entry(line []byte) error {
	var about struct{ ID, Kind string }
	if err := json.Unmarshal(line, &about); err != nil {
		return fmt.Errorf("read an entry: %w", err)
	}
	head := ""
	if about.ID != "" {
		head = "id: " + about.ID + "\n"
	} else if about.Kind == "waits" {
		head = "event: waits\n"
	}
	return e.write(head + "data: " + string(line) + "\n\n")
}

// event writes an event of the stream's own.
func (e *events) event(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return e.write("event: " + name + "\ndata: " + string(data) + "\n\n")
}

func (e *events) write(s string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed
	}
	_ = e.control.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := io.WriteString(e.to, s)
	return errors.Join(err, e.control.Flush())
}

// beats writes a sign of life again and again, until stop.
func (e *events) beats() (stop func()) {
	ticker, over := time.NewTicker(beat), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				if e.write(": alive\n\n") != nil {
					return
				}
			case <-over:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(over) }
}

// close refuses further writes: an interrupted command may still run.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

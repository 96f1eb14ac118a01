package image

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
)

// Progress receives the progress of an image: its Want's name, and a line for people.
// Calls do not overlap.
type Progress func(name, line string)

// talk returns a Progress for concurrent calls, also when p is nil.
func (p Progress) talk() Progress {
	if p == nil {
		return func(string, string) {}
	}
	var mu sync.Mutex
	return func(name, line string) {
		mu.Lock()
		defer mu.Unlock()
		p(name, line)
	}
}

// message is one report of the engine about its work.
type message struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Stream string `json:"stream"`
	Error  string `json:"error"`
	Detail struct {
		Message string `json:"message"`
	} `json:"errorDetail"`
}

// readMessages reads messages to their end. It returns an error that the engine
// reports.
func readMessages(r io.Reader, each func(message)) error {
	d := json.NewDecoder(r)
	for {
		var m message
		err := d.Decode(&m)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if text := m.Detail.Message; text != "" || m.Error != "" {
			if text == "" {
				text = m.Error
			}
			return errors.New(strings.TrimSpace(text))
		}
		each(m)
	}
}

// pulled counts the layers of an image while they are pulled.
type pulled struct {
	done map[string]bool // by layer
	last int             // the last reported number
}

// see handles a message. It returns how many of the layers known so far are done, and
// whether to report that: with every quarter, not with every layer.
func (p *pulled) see(m message) (done, all int, tell bool) {
	if p.done == nil {
		p.done = map[string]bool{}
	}
	switch m.Status {
	case "Pulling fs layer", "Waiting":
		p.done[m.ID] = false
	case "Pull complete", "Already exists":
		p.done[m.ID] = true
	default:
		return 0, 0, false
	}
	for _, d := range p.done {
		if d {
			done++
		}
	}
	all = len(p.done)
	tell = done > p.last && (done == all || done-p.last >= max(1, all/4))
	if tell {
		p.last = done
	}
	return done, all, tell
}

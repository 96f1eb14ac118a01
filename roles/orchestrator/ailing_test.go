package orchestrator

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

// asked is an agent a whose health is asked for, and how it is.
type asked struct {
	*sett
	*leader
	place *place
	well  atomic.Bool
	slow  chan struct{} // it answers when it is closed; nil: at once
	times atomic.Int64
	first string // its incarnation
	base  string
}

// ails starts an orchestrator that asks the agent a for its health, very often, and
// waits until it is well.
func ails(t *testing.T, names ...string) *asked {
	t.Helper()
	s := &asked{sett: newSett(t, names...), place: newPlace()}
	s.well.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.times.Add(1)
		if r.URL.Path != "/healthz" || !s.well.Load() {
			if s.slow != nil {
				select {
				case <-s.slow:
				case <-r.Context().Done():
				}
			}
			http.Error(w, "no blackboard", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	s.agent("a").HealthCheck = &config.HealthCheck{Interval: 30 * time.Millisecond, Timeout: patience, Retries: 3}
	s.write()
	o := inPlace(s.place)
	usual := o.pace
	o.pace = func(p *pace) { usual(p); p.units.AskHealth = 10 * time.Millisecond }
	o.vars[env.HealthAddr] = "127.0.0.1:0"
	s.leader = s.lead(o)
	s.base = s.address()
	s.first = s.incarnation(s.place, "agent-a")
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	s.must(err)
	s.must(s.board.Cub.Hello(t.Context(), "a", blackboard.Presence{Incarnation: s.first, Health: "127.0.0.1:" + port}, patience))
	s.says(s.base, map[string]float64{healthOfA: 1})
	return s
}

const healthOfA = `sett_agent_healthy{agent="a"}`

// unseen waits until nothing is said of a's health.
func (s *asked) unseen() {
	s.Helper()
	s.until("its health to be forgotten", func() bool {
		_, there := s.scrape(s.base)[healthOfA]
		return !there
	})
}

// An agent whose own word is that it is unhealthy is ended, as often as sett.yml
// says and not for what is the blackboard's fault.
func TestUnhealthyAgent(t *testing.T) {
	t.Parallel()
	s := ails(t, "a")
	s.well.Store(false)
	s.incarnation(s.place, "agent-a", s.first)
	if log := s.log.String(); strings.Count(log, "agent is unhealthy") != 3 || !strings.Contains(log, "unhealthy 3 times: it says 503") {
		t.Errorf("the log says %s", log)
	}
}

// Of an agent that is not asked any more nothing is said: neither by who leads, where
// sett.yml does not want it asked or it has left, nor by who does not lead any more.
func TestHealthIsForgotten(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*asked){
		"no health check": func(s *asked) {
			s.agent("a").HealthCheck = nil
			s.write()
			s.must(s.board.Nudge(s.Context()))
		},
		"gone": func(s *asked) {
			s.remove("a")
		},
		"another leads": func(s *asked) {
			lead, _, err := s.board.Leader.TakeLead(s.Context(), "another", "orchestrator-", time.Hour)
			s.must(err)
			if lead.Epoch == "" {
				s.Fatal("the lead was not taken")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ails(t, "a", "b")
			s.slow = make(chan struct{})
			s.well.Store(false)
			before := s.times.Load()
			s.until("a question on its way", func() bool { return s.times.Load() > before })
			end(s)
			s.unseen()
			close(s.slow) // the answer comes too late
			for range 3 {
				if name != "another leads" { // what comes by the way of the answer has come
					b := s.incarnation(s.place, "agent-b")
					s.place.exit("agent-b", runtime.Exit{Code: 1})
					s.incarnation(s.place, "agent-b", b)
				}
				s.unseen()
			}
		})
	}
}

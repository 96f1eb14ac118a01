package report

import (
	"slices"
	"strings"
	"time"

	"sett/blackboard"
)

// spans follow open claims through the ledger, so that decisions of scripts are counted as
// the orchestrator counts its own. Claims of which too much was forgotten count less.
type spans struct {
	claims map[string]*span
	order  []string
}

// span is a claim's way so far.
type span struct {
	opened time.Time
	phases []phaseSpan
}

type phaseSpan struct {
	phase         string
	granted, last time.Time // last: of its results
}

// mostSpans is the most open claims that are followed.
const mostSpans = 4096

func (s *spans) open(claim string, at time.Time) {
	if s.claims == nil {
		s.claims = map[string]*span{}
	}
	if s.claims[claim] == nil {
		s.order = append(s.order, claim)
	}
	s.claims[claim] = &span{opened: at}
	for len(s.order) > mostSpans {
		delete(s.claims, s.order[0])
		s.order = s.order[1:]
	}
}

// follow takes an entry of the ledger, and counts what a script decided.
func (s *spans) follow(e blackboard.Event, m *Metrics) {
	if e.Kind == blackboard.EventOpen {
		s.open(e.Claim, e.Time)
		return
	}
	c, byScript := s.claims[e.Claim], e.Attributes[blackboard.AttributeDecidedBy] != ""
	switch e.Kind {
	case blackboard.EventGrant:
		if !slices.Contains(blackboard.Phases, blackboard.Phase(e.Phase)) {
			return // made up
		}
		if byScript {
			m.Grants.WithLabelValues(e.Phase).Add(float64(1 + strings.Count(e.Agent, ",")))
		}
		if c == nil {
			return
		}
		if byScript && len(c.phases) == 0 {
			m.ConsensusWait.Observe(max(e.Time.Sub(c.opened).Seconds(), 0))
		}
		c.phases = append(c.phases, phaseSpan{phase: e.Phase, granted: e.Time})
	case blackboard.EventResult:
		if c != nil && len(c.phases) > 0 {
			c.phases[len(c.phases)-1].last = e.Time
		}
	case blackboard.EventComplete, blackboard.EventTerminate, blackboard.EventCancel:
		if c == nil {
			return
		}
		delete(s.claims, e.Claim)
		for _, p := range c.phases {
			if byScript {
				m.phaseWait.WithLabelValues(p.phase).Observe(max(p.last.Sub(p.granted).Seconds(), 0))
			}
		}
	}
}

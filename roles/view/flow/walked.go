package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/role/words"
)

// Walked is how often each arrow of a plan was walked, and how long that took, by the
// ledger. The names of its fields are part of the interface.
type Walked struct {
	Since  time.Time `json:"since,omitzero"` // of the first entry; absent: the ledger is empty
	Goals  int       `json:"goals"`          // that were posted
	Arrows []Arrow   `json:"arrows"`         // by type, phase and agent
	Gates  []Passed  `json:"gates"`          // by type
}

// Arrow is the work of an agent on artefacts of a type, in a phase.
type Arrow struct {
	Type     string           `json:"type"` // of the artefact; empty: the ledger does not say
	Phase    blackboard.Phase `json:"phase"`
	Agent    string           `json:"agent"`
	Times    int              `json:"times"`    // results, of any kind
	Failed   int              `json:"failed"`   // Failures among them
	Asked    int              `json:"asked"`    // Questions among them
	Rejected int              `json:"rejected"` // reviews with feedback among them
	Seconds  float64          `json:"seconds"`  // that its tools ran, in sum
	Longest  float64          `json:"longest_seconds"`
	Makes    []Made           `json:"makes"` // the types of the results
}

// Made is a type of results.
type Made struct {
	Type  string `json:"type"`
	Times int    `json:"times"`
}

// Passed is the gate before a type.
type Passed struct {
	Type     string  `json:"type"`
	Approved int     `json:"approved"`
	Rejected int     `json:"rejected"`
	Seconds  float64 `json:"seconds"` // that people took, in sum
	Longest  float64 `json:"longest_seconds"`
}

// Counter counts the ways of work, entry by entry of the ledger, from its beginning on.
type Counter struct {
	since  time.Time
	goals  int
	claims map[string]string // claims' artefacts' types
	types  map[string]string // artefacts' types
	held   map[string]time.Time
	arrows map[string]*Arrow
	made   map[string]map[string]int
	gates  map[string]*Passed
}

// NewCounter returns a counter that has seen nothing.
func NewCounter() *Counter {
	return &Counter{claims: map[string]string{}, types: map[string]string{}, held: map[string]time.Time{}, arrows: map[string]*Arrow{}, made: map[string]map[string]int{}, gates: map[string]*Passed{}}
}

// Add counts an entry.
func (c *Counter) Add(e blackboard.Event) {
	if c.since.IsZero() {
		c.since = e.Time
	}
	at := e.Attributes
	if id := at[blackboard.AttributeResult]; id != "" && at["result_type"] != "" { // of a move that is no run of a tool
		c.types[id] = at["result_type"]
	}
	switch e.Kind {
	case blackboard.EventGoal:
		c.goals++
	case blackboard.EventOpen:
		c.claims[e.Claim] = at["type"]
	case blackboard.EventTerminate:
		c.claims[at["rework"]] = c.claims[e.Claim]
	case blackboard.EventRetry:
		if e.Claim != "" { // else the goal's landing is tried again
			c.claims[e.Claim] = c.claims[at["retry_of"]]
		}
	case blackboard.EventReject, blackboard.EventLanding, blackboard.EventConflict:
		if e.Claim != "" && (e.Kind != blackboard.EventConflict || e.To == "reworked") { // its artefact is judged or made anew
			c.claims[e.Claim] = c.types[e.Artefact]
		}
	case blackboard.EventResult:
		c.result(e)
	}
	if e.Kind == blackboard.EventApprove || e.Kind == blackboard.EventReject {
		c.decided(e)
	}
	if id := e.Held(); id != "" {
		c.held[id] = e.Time
	}
}

func (c *Counter) result(e blackboard.Event) {
	at := e.Attributes
	c.types[e.Artefact] = at["type"]
	key := strings.Join([]string{c.claims[e.Claim], e.Phase, e.Agent}, "\x00")
	a := c.arrows[key]
	if a == nil {
		a = &Arrow{Type: c.claims[e.Claim], Phase: blackboard.Phase(e.Phase), Agent: e.Agent}
		c.arrows[key], c.made[key] = a, map[string]int{}
	}
	a.Times++
	switch blackboard.StructuralType(at[blackboard.AttributeStructuralType]) {
	case blackboard.Failure:
		a.Failed++
	case blackboard.Question:
		a.Asked++
	case blackboard.Review:
		if at["verdict"] == string(blackboard.Feedback) {
			a.Rejected++
		}
	}
	us, _ := strconv.ParseInt(at["tool_us"], 10, 64)
	took := float64(us) / 1e6
	a.Seconds += took
	a.Longest = max(a.Longest, took)
	c.made[key][at["type"]]++
}

// decided counts a gate that a person has opened or shut.
func (c *Counter) decided(e blackboard.Event) {
	name, ok := c.types[e.Artefact]
	if !ok {
		return
	}
	g := c.gates[name]
	if g == nil {
		g = &Passed{Type: name}
		c.gates[name] = g
	}
	if e.Kind == blackboard.EventApprove {
		g.Approved++
	} else {
		g.Rejected++
	}
	if since, ok := c.held[e.Artefact]; ok {
		took := max(e.Time.Sub(since), 0).Seconds()
		g.Seconds += took
		g.Longest = max(g.Longest, took)
		delete(c.held, e.Artefact)
	}
}

// Walked is the count.
func (c *Counter) Walked() *Walked {
	w := &Walked{Since: c.since.UTC(), Goals: c.goals, Arrows: []Arrow{}, Gates: []Passed{}}
	if c.since.IsZero() {
		w.Since = c.since
	}
	for key, a := range c.arrows {
		arrow := *a
		arrow.Makes = []Made{}
		for name, times := range c.made[key] {
			arrow.Makes = append(arrow.Makes, Made{name, times})
		}
		slices.SortFunc(arrow.Makes, func(x, y Made) int { return cmp.Or(cmp.Compare(y.Times, x.Times), cmp.Compare(x.Type, y.Type)) })
		w.Arrows = append(w.Arrows, arrow)
	}
	slices.SortFunc(w.Arrows, func(x, y Arrow) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Phase, y.Phase), cmp.Compare(x.Agent, y.Agent))
	})
	for _, g := range c.gates {
		w.Gates = append(w.Gates, *g)
	}
	slices.SortFunc(w.Gates, func(x, y Passed) int { return cmp.Compare(x.Type, y.Type) })
	return w
}

// Of is an agent's work on a type, as a reviewer or not; Times is 0 where there was none.
func (w *Walked) Of(name, agent string, review bool) Arrow {
	sum := Arrow{Type: name, Agent: agent}
	if w == nil {
		return sum
	}
	for _, a := range w.Arrows {
		if a.Type != name || a.Agent != agent || (a.Phase == blackboard.PhaseReview) != review {
			continue
		}
		sum.Times, sum.Failed, sum.Asked, sum.Rejected = sum.Times+a.Times, sum.Failed+a.Failed, sum.Asked+a.Asked, sum.Rejected+a.Rejected
		sum.Seconds, sum.Longest = sum.Seconds+a.Seconds, max(sum.Longest, a.Longest)
	}
	return sum
}

// Gate is the count of the gate before a type.
func (w *Walked) Gate(name string) Passed {
	if w != nil {
		for _, g := range w.Gates {
			if g.Type == name {
				return g
			}
		}
	}
	return Passed{Type: name}
}

// Beside are the arrows that a plan does not have: sett.yml was another, or a program
// chose its bid.
func (w *Walked) Beside(p *Plan) []Arrow {
	var all []Arrow
	for _, a := range w.Arrows {
		planned := slices.ContainsFunc(p.Steps, func(s Step) bool {
			return s.From == a.Type && s.Agent.Agent == a.Agent && a.Phase != blackboard.PhaseReview
		})
		for _, t := range p.Types {
			planned = planned || t.Name == a.Type && a.Phase == blackboard.PhaseReview && slices.Contains(t.Review, a.Agent)
		}
		if !planned {
			all = append(all, a)
		}
	}
	return all
}

// Says is an arrow's count for people: "12 times, 3.2s each, at most 9.0s, 1 failed".
func (a Arrow) Says() string {
	if a.Times == 0 {
		return "never"
	}
	text := timesIn(a.Times, a.Seconds, a.Longest)
	for _, part := range []struct {
		n    int
		says string
	}{{a.Failed, "failed"}, {a.Asked, "asked"}, {a.Rejected, "rejected"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.says)
		}
	}
	return text
}

// Says is a gate's count for people.
func (g Passed) Says() string {
	if g.Approved+g.Rejected == 0 {
		return "0 times so far"
	}
	text := timesIn(g.Approved+g.Rejected, g.Seconds, g.Longest)
	if g.Rejected > 0 {
		text += fmt.Sprintf(", %d rejected", g.Rejected)
	}
	return text
}

// timesIn says how often something was, and how long it took.
func timesIn(times int, seconds, longest float64) string {
	span := func(s float64) string { return words.Span(time.Duration(s * float64(time.Second))) }
	if times == 1 {
		return "once, " + span(seconds)
	}
	return fmt.Sprintf("%d times, %s each, at most %s", times, span(seconds/float64(times)), span(longest))
}

// Package trace makes the trace of a goal: a span for the goal, and below it one for each
// claim, grant, run of a tool, call of a model and turn to land. It is a pure function of the history. Names
// of attributes are those of OpenTelemetry's semantic conventions where there is one
// (gen_ai.*, container.*), else they begin with sett. No payload is among them.
package trace

import (
	"strconv"
	"time"

	"sett/blackboard"
	names "sett/contract/trace"
	"sett/roles/role"
	"sett/roles/role/otlp"
	"sett/roles/view/lineage"
)

// maker makes the spans of one goal.
type maker struct {
	goal  string
	trace string
	until time.Time               // the end of work that has none in the records
	model map[string]string       // by its name in sett.yml: the provider's name of it
	made  map[string]string       // by artefact: the span that made it
	bids  map[string][]otlp.Event // by claim
	spans []otlp.Span
}

// Of returns the spans of a goal's history. Models has the providers' names of the models of
// sett.yml.
func Of(h *lineage.History, models map[string]string) []otlp.Span {
	w := h.Workflow
	m := &maker{goal: w.ID, trace: names.ID(w.ID), until: w.EndedAt, model: models, made: map[string]string{}, bids: map[string][]otlp.Event{}}
	if n := len(h.Events); m.until.IsZero() && n > 0 {
		m.until = h.Events[n-1].Time
	}
	for _, e := range h.Events {
		if e.Kind == blackboard.EventBid {
			m.bids[e.Claim] = append(m.bids[e.Claim], otlp.Event{At: otlp.Nanos(e.Time), Name: "bid", Attributes: []otlp.Attribute{
				otlp.Text("gen_ai.agent.name", role.Clean(e.Agent)), otlp.Text("sett.bid", e.To),
			}})
		}
	}
	m.root(h)
	for _, s := range h.Steps {
		if s.Claim != nil {
			m.claim(s.Claim, h.Runs[s.Claim.ID])
		}
	}
	for _, e := range h.Events {
		if e.Kind == blackboard.EventCall {
			m.call(e)
		}
	}
	m.landings(h.Events)
	return m.spans
}

// add adds a span, which is never shorter than nothing.
func (m *maker) add(s otlp.Span, from, to time.Time) {
	if to.IsZero() {
		to = m.until
	}
	if to.Before(from) {
		to = from
	}
	s.Trace, s.Start, s.End = m.trace, otlp.Nanos(from), otlp.Nanos(to)
	if s.Kind == 0 {
		s.Kind = otlp.Internal
	}
	m.spans = append(m.spans, s)
}

// root is the span of the goal, with the decisions of people as its events.
func (m *maker) root(h *lineage.History) {
	w := h.Workflow
	s := otlp.Span{ID: names.Root(w.ID), Name: "goal", Attributes: []otlp.Attribute{otlp.Text("sett.goal.id", w.ID), otlp.Text("sett.goal.status", string(w.Status))}}
	if w.Status == blackboard.WorkflowFailed {
		s.Status = otlp.Failed("the goal failed")
	}
	for _, e := range h.Events {
		if by := e.Attributes[blackboard.AttributeBy]; by != "" {
			s.Events = append(s.Events, otlp.Event{At: otlp.Nanos(e.Time), Name: string(e.Kind), Attributes: []otlp.Attribute{otlp.Text("sett.person", role.Clean(by))}})
		}
	}
	m.add(s, w.CreatedAt, w.EndedAt)
}

// claim is the span of a claim, with those of its grants.
func (m *maker) claim(c *lineage.WhyClaim, runs []blackboard.Event) {
	s := otlp.Span{ID: names.Claim(c.ID), Parent: names.Root(m.goal), Name: "claim " + role.Clean(c.Target.Type), Attributes: []otlp.Attribute{
		otlp.Text("sett.claim.id", c.ID), otlp.Text("sett.claim.origin", string(c.Origin)), otlp.Text("sett.claim.status", string(c.Status)),
		otlp.Text("sett.artefact.id", c.ArtefactID), otlp.Text("sett.artefact.type", role.Clean(c.Target.Type)), otlp.Number("sett.artefact.version", int64(c.Target.Version)),
	}}
	if from := m.made[c.ArtefactID]; from != "" {
		s.Links = []otlp.Link{{Trace: m.trace, ID: from}}
	}
	s.Events = m.bids[c.ID]
	m.add(s, c.OpenedAt, c.ClosedAt)
	for _, g := range c.Grants {
		if !g.Kept {
			m.grant(c.ID, g, runs)
		}
	}
}

// grant is the span of a grant, from its first place in the queue to its result.
func (m *maker) grant(claim string, g lineage.WhyGrant, runs []blackboard.Event) {
	id, from := names.Grant(claim, g.Agent), g.QueuedAt
	s := otlp.Span{ID: id, Parent: names.Claim(claim), Name: "grant " + string(g.Phase), Attributes: []otlp.Attribute{
		otlp.Text("gen_ai.agent.name", role.Clean(g.Agent)), otlp.Text("sett.claim.id", claim), otlp.Text("sett.grant.phase", string(g.Phase)),
		otlp.Text("sett.grant.state", string(g.State)), otlp.Number("sett.grant.attempts", int64(g.Attempt)),
	}}
	if g.By != "" {
		s.Attributes = append(s.Attributes, otlp.Text("sett.person", role.Clean(g.By)))
	}
	if g.Verdict != "" {
		s.Attributes = append(s.Attributes, otlp.Text("sett.review.verdict", string(g.Verdict)))
	}
	if g.ResultID != "" {
		s.Attributes = append(s.Attributes, otlp.Text("sett.artefact.id", g.ResultID))
		m.made[g.ResultID] = id
	}
	for _, q := range g.Questions {
		s.Events = append(s.Events, otlp.Event{At: otlp.Nanos(q.AskedAt), Name: "question", Attributes: []otlp.Attribute{otlp.Text("sett.artefact.id", q.ID)}})
	}
	if g.State == blackboard.GrantFailed {
		s.Status = otlp.Failed(role.Clean(g.Reason))
	}
	for _, e := range runs {
		if e.Agent == g.Agent && !e.Time.After(from) {
			from = e.Time // of an attempt before the last one
		}
	}
	m.add(s, from, g.EndedAt)
	m.runs(claim, g, runs)
}

// runs are the spans of a grant's attempts: from each start to the next entry about the
// same agent. The tool of an attempt knows the name of its span.
func (m *maker) runs(claim string, g lineage.WhyGrant, runs []blackboard.Event) {
	var mine []blackboard.Event
	for _, e := range runs {
		if e.Agent == g.Agent {
			mine = append(mine, e)
		}
	}
	for i, e := range mine {
		attempt, err := strconv.Atoi(e.Attributes["attempt"])
		if e.Kind != blackboard.EventStart || err != nil {
			continue
		}
		end, last := g.EndedAt, true
		if i+1 < len(mine) {
			end, last = mine[i+1].Time, mine[i+1].Kind == blackboard.EventResult && i+2 == len(mine)
		}
		if !g.EndedAt.IsZero() && end.After(g.EndedAt) {
			end = g.EndedAt // an entry's time can be some milliseconds after that in the record
		}
		ran := e.Ran()
		s := otlp.Span{ID: names.Run(claim, g.Agent, attempt), Parent: names.Grant(claim, g.Agent), Name: "invoke_agent " + role.Clean(g.Agent), Attributes: []otlp.Attribute{
			otlp.Text("gen_ai.operation.name", "invoke_agent"), otlp.Text("gen_ai.agent.name", role.Clean(g.Agent)), otlp.Number("sett.grant.attempt", int64(attempt)),
		}}
		for _, fact := range [][2]string{{"container.image.id", ran.Image}, {"sett.program.sha256", ran.Program}, {"sett.agent.config", ran.Config}} {
			if fact[1] != "" {
				s.Attributes = append(s.Attributes, otlp.Text(fact[0], role.Clean(fact[1])))
			}
		}
		switch {
		case i+1 < len(mine) && mine[i+1].Kind == blackboard.EventRequeue:
			s.Status = otlp.Failed(role.Clean(mine[i+1].Reason))
		case last && g.State == blackboard.GrantFailed:
			s.Status = otlp.Failed(role.Clean(g.Reason))
		}
		m.add(s, e.Time, end)
	}
}

// call is the span of a call of a model.
func (m *maker) call(e blackboard.Event) {
	number := func(key string) int64 { n, _ := strconv.ParseInt(e.Attributes[key], 10, 64); return n }
	model := role.Clean(e.Attributes["model"])
	if of := m.model[e.Attributes["model"]]; of != "" {
		model = of
	}
	parent := names.Claim(e.Claim) // of a bid
	if attempt := number("attempt"); attempt > 0 {
		parent = names.Run(e.Claim, e.Agent, int(attempt))
	}
	s := otlp.Span{ID: names.Call(e.Attributes["call"]), Parent: parent, Name: "chat " + model, Kind: otlp.Client, Attributes: []otlp.Attribute{
		otlp.Text("gen_ai.operation.name", "chat"), otlp.Text("gen_ai.request.model", model), otlp.Text("gen_ai.agent.name", role.Clean(e.Agent)),
		otlp.Number("gen_ai.usage.input_tokens", number("input")+number("cached")+number("cache_write")), otlp.Number("gen_ai.usage.output_tokens", number("output")),
	}}
	if status := number("status"); status > 0 {
		s.Attributes = append(s.Attributes, otlp.Number("http.response.status_code", status))
	}
	if e.Reason != "" {
		s.Status = otlp.Failed(role.Clean(e.Reason))
	}
	m.add(s, e.Time.Add(-time.Duration(number("took_us"))*time.Microsecond), e.Time)
}

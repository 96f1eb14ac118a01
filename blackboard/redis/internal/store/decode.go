package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
)

// Records are read as they were written, or reported as corrupt: a field that is
// missing or broken never becomes a silent zero.

// record reads the fields of one hash and remembers the first that is broken.
type record struct {
	what   string
	fields map[string]string
	err    error
}

func (r *record) fail(field, why string) {
	if r.err == nil {
		r.err = fmt.Errorf("read %s: field %s: %s: %w", r.what, field, why, blackboard.ErrCorrupt)
	}
}

func (r *record) text(field string) string {
	s, ok := r.fields[field]
	if !ok {
		r.fail(field, "missing")
	}
	return s
}

func (r *record) number(field string) int {
	n, err := strconv.Atoi(r.text(field))
	if err != nil {
		r.fail(field, "not a number")
	}
	return n
}

// count reads a counter, which does not exist before it is first raised.
func (r *record) count(field string) int {
	if r.fields[field] == "" {
		return 0
	}
	return r.number(field)
}

func (r *record) time(field string) time.Time {
	s := r.text(field)
	t, err := ParseMicros(s)
	if err != nil || s == "" {
		r.fail(field, "not a time")
	}
	return t
}

func (r *record) list(field string) []string {
	var l []string
	if err := json.Unmarshal([]byte(r.text(field)), &l); err != nil || l == nil {
		r.fail(field, "not a JSON array of strings")
	}
	return l
}

// ParseMicros reads a time in microseconds since 1970; zero for an empty text.
func ParseMicros(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	us, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMicro(us).UTC(), nil
}

// DecodeArtefact reads the stored fields of an artefact.
func DecodeArtefact(id string, fields map[string]string) (blackboard.Artefact, error) {
	if len(fields) == 0 {
		return blackboard.Artefact{}, fmt.Errorf("artefact %s: %w", id, blackboard.ErrNotFound)
	}
	fields = WholeArtefact(id, fields)
	r := record{what: "artefact " + id, fields: fields}
	a := blackboard.Artefact{
		ID: r.text("id"), LogicalID: r.text("logical_id"), Version: r.number("version"),
		StructuralType: blackboard.StructuralType(r.text("structural_type")), Type: r.text("type"),
		Payload: r.text("payload"), SourceArtefacts: r.list("source_artefacts"),
		ProducedByRole: r.text("produced_by_role"), ProducedByAgent: r.text("produced_by_agent"),
		ClaimID: r.text("claim_id"), WorkflowID: r.text("workflow_id"), Summary: r.text("summary"),
		Metadata: json.RawMessage(r.text("metadata")), CreatedAt: r.time("created_at"),
		Commit: fields["commit"],
	}
	if !a.StructuralType.Valid() {
		r.fail("structural_type", "unknown")
	}
	if !json.Valid(a.Metadata) {
		r.fail("metadata", "not JSON")
	}
	return a, r.err
}

// DecodeClaim reads the stored fields of a claim.
func DecodeClaim(id string, fields map[string]string) (blackboard.Claim, error) {
	if len(fields) == 0 {
		return blackboard.Claim{}, fmt.Errorf("claim %s: %w", id, blackboard.ErrNotFound)
	}
	fields = whole(id, fields, usualOfClaim)
	r := record{what: "claim " + id, fields: fields}
	c := blackboard.Claim{
		ID: r.text("id"), ArtefactID: r.text("artefact_id"), Status: blackboard.ClaimStatus(r.text("status")),
		GrantedReviewAgents: r.list("granted_review_agents"), GrantedParallelAgents: r.list("granted_parallel_agents"),
		GrantedExclusiveAgent: r.text("granted_exclusive_agent"), WorkflowID: r.text("workflow_id"),
		Origin: blackboard.ClaimOrigin(r.text("origin")), ExpectedBidders: r.list("expected_bidders"),
		AdditionalContextIDs: r.list("additional_context_ids"), RetryOf: fields["retry_of"], RetriedAs: fields["retried_as"], Revision: int64(r.number("revision")),
		Reason: r.text("reason"), OpenedAt: r.time("opened_at"),
		Target: blackboard.Target{
			LogicalID: r.text("target_logical_id"), Version: r.number("target_version"), Type: r.text("target_type"),
			Agent: r.text("target_agent"), Role: r.text("target_role"),
		},
	}
	if !slices.Contains(blackboard.ClaimStatuses, c.Status) {
		r.fail("status", "unknown")
	}
	c.Rework = c.Origin == blackboard.OriginRework || fields["rework"] == "1"
	if c.Status.Closed() {
		c.ClosedAt = r.time("closed_at")
	}
	c.Withheld = decodeWithheld(fields)
	return c, r.err
}

// withheldField begins the name of the field with a bid that waits for a call of a model, before the agent.
const withheldField = "withheld:"

// decodeWithheld reads such fields; withhold.lua has their form.
func decodeWithheld(fields map[string]string) (all map[string]blackboard.Withheld) {
	for name, value := range fields {
		agent, is := strings.CutPrefix(name, withheldField)
		parts := strings.SplitN(value, " ", 3)
		if !is || len(parts) != 3 {
			continue
		}
		since, err := ParseMicros(parts[0])
		if err != nil {
			continue // nothing depends on it but the agent's next word
		}
		if all == nil {
			all = map[string]blackboard.Withheld{}
		}
		all[agent] = blackboard.Withheld{Kind: blackboard.WithheldKind(parts[1]), Why: parts[2], Since: since}
	}
	return all
}

// StoredGrant is a grant as the scripts write it. Times are microseconds since
// 1970, as strings (see _lib.lua, clock).
type StoredGrant struct {
	Phase     blackboard.Phase      `json:"phase"`
	Attempt   int                   `json:"attempt"`
	Holder    string                `json:"holder"`
	State     blackboard.GrantState `json:"state"`
	ResultID  string                `json:"result_id"`
	Verdict   blackboard.Verdict    `json:"verdict"`
	Crashes   int                   `json:"crashes"`
	Asked     []string              `json:"asked"`
	Failure   string                `json:"failure"`
	Why       string                `json:"why"`
	Reason    string                `json:"reason"`
	QueuedAt  string                `json:"queued_at"`
	LineSince string                `json:"line_since"`
	StartedAt string                `json:"started_at"`
	EndedAt   string                `json:"ended_at"`
	ToolUS    string                `json:"tool_us"`
	Base      string                `json:"base"`
	Unmerged  string                `json:"unmerged"`
	AskedIn   int                   `json:"asked_in"`
	AskedOf   string                `json:"asked_of"`
	Waits     string                `json:"waits_since"`
	WaitsFor  string                `json:"waits_for"`
	WaitsWhy  string                `json:"waits_why"`
	Waited    string                `json:"waited_us"`
	Conflict  string                `json:"conflict"`
	Settled   []string              `json:"settled"`
}

// DecodeGrant reads a stored grant.
func DecodeGrant(claim, agent, s string) (blackboard.Grant, error) {
	var g StoredGrant
	if err := json.Unmarshal([]byte(s), &g); err != nil {
		return blackboard.Grant{}, fmt.Errorf("read grant of claim %s to %s: %w: %w", claim, agent, err, blackboard.ErrCorrupt)
	}
	return g.decoded(claim, agent)
}

// decoded is the grant as others see it.
func (g StoredGrant) decoded(claim, agent string) (blackboard.Grant, error) {
	out := blackboard.Grant{
		Agent: agent, Phase: g.Phase, Attempt: g.Attempt, Holder: g.Holder, State: g.State, ResultID: g.ResultID,
		Verdict: g.Verdict, Crashes: g.Crashes, Asked: g.Asked, AskedIn: g.AskedIn, AskedOf: g.AskedOf, Failure: g.Failure, Why: g.Why, Base: g.Base, Unmerged: strings.Fields(g.Unmerged), Reason: g.Reason,
		Conflict: g.Conflict, Settled: g.Settled, WaitsFor: g.WaitsFor, WaitsWhy: g.WaitsWhy,
	}
	if !slices.Contains(blackboard.Phases, g.Phase) || g.State == "" || g.Attempt < 1 {
		return blackboard.Grant{}, fmt.Errorf("read grant of claim %s to %s: phase, state or attempt: %w", claim, agent, blackboard.ErrCorrupt)
	}
	us, _ := strconv.ParseInt(g.ToolUS, 10, 64)
	out.ToolTime = time.Duration(us) * time.Microsecond
	us, _ = strconv.ParseInt(g.Waited, 10, 64)
	out.Waited = time.Duration(us) * time.Microsecond
	for _, t := range []struct {
		from string
		to   *time.Time
	}{{g.QueuedAt, &out.QueuedAt}, {g.LineSince, &out.LineSince}, {g.StartedAt, &out.StartedAt}, {g.EndedAt, &out.EndedAt}, {g.Waits, &out.WaitsSince}} {
		at, err := ParseMicros(t.from)
		if err != nil {
			return out, fmt.Errorf("read grant of claim %s to %s: %w: %w", claim, agent, err, blackboard.ErrCorrupt)
		}
		*t.to = at
	}
	return out, nil
}

// DecodeWorkflow reads the stored fields of a workflow.
func DecodeWorkflow(id string, fields map[string]string) (blackboard.Workflow, error) {
	if len(fields) == 0 {
		return blackboard.Workflow{}, fmt.Errorf("workflow %s: %w", id, blackboard.ErrNotFound)
	}
	r := record{what: "workflow " + id, fields: fields}
	w := blackboard.Workflow{
		ID: r.text("id"), Status: blackboard.WorkflowStatus(r.text("status")), Outstanding: r.count("outstanding"), Failures: r.count("failures"),
		Terminals: r.count("terminals"), Questions: r.count("questions"), Gates: r.count("gates"), Suspended: r.count("suspended"),
		Blocked:    r.count("blocked"),
		TerminalID: fields["terminal_id"], FailureID: fields["failure_id"], By: fields["by"], CreatedAt: r.time("created_at"),
	}
	for _, one := range strings.Fields(fields["retried"]) {
		failure, _, _ := strings.Cut(one, "=")
		w.Retried = strings.TrimSpace(w.Retried + " " + failure)
	}
	if text := fields["landing"]; text != "" {
		w.Landing = &blackboard.Landing{Since: r.time("landing_since")}
		if json.Unmarshal([]byte(text), w.Landing) != nil && r.err == nil {
			r.err = fmt.Errorf("workflow %s: landing: %w", id, blackboard.ErrCorrupt)
		}
	}
	if w.Status.Ended() {
		w.EndedAt = r.time("ended_at")
	}
	return w, r.err
}

// OrderBids puts bids in the order they came in; one that the order does not
// know goes last.
func OrderBids(bids map[string]string, order []string) []blackboard.Bid {
	out := make([]blackboard.Bid, 0, len(bids))
	seen := map[string]bool{}
	for _, agent := range order {
		if bid, ok := bids[agent]; ok && !seen[agent] {
			seen[agent] = true
			out = append(out, blackboard.Bid{Agent: agent, Type: blackboard.BidType(bid)})
		}
	}
	var rest []string
	for agent := range bids {
		if !seen[agent] {
			rest = append(rest, agent)
		}
	}
	sort.Strings(rest)
	for _, agent := range rest {
		out = append(out, blackboard.Bid{Agent: agent, Type: blackboard.BidType(bids[agent])})
	}
	return out
}

// DecodeGrants reads the stored grants of a claim, sorted by agent.
func DecodeGrants(claimID string, grants map[string]string) ([]blackboard.Grant, error) {
	out := make([]blackboard.Grant, 0, len(grants))
	for agent, s := range grants {
		g, err := DecodeGrant(claimID, agent, s)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b blackboard.Grant) int { return strings.Compare(a.Agent, b.Agent) })
	return out, nil
}

// Micros writes a duration as the scripts take it: in microseconds.
func Micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

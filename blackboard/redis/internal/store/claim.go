package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"sett/blackboard"
)

// ClaimRecord is a claim as it is stored, taken apart: one hash has its own fields, its grants,
// and the order of its bids where that is not the order of their agents' names.
type ClaimRecord struct {
	Fields map[string]string // its own, with the usual ones; none: there is no such claim
	Order  []string          // of its bids
	ignore []string          // the agents that ignore it by its course
	Grants map[string]string // by agent, as JSON; as they are where they are broken. ReadClaim leaves them out
	grants map[string]grantFields
}

// The beginnings of the names of the fields of a grant, before the agent. _grant.lua has their form.
const (
	grantField  = "grant:"
	timesField  = "times:"
	holderField = "holder:"
	moreField   = "more:"
)

// ReadClaim takes the hash of a claim apart.
func ReadClaim(id string, hash map[string]string) ClaimRecord {
	r := ClaimRecord{Fields: map[string]string{}, grants: map[string]grantFields{}}
	for name, value := range hash {
		at := strings.IndexByte(name, ':') + 1
		agent := name[at:]
		switch name[:at] {
		case grantField:
			r.grants[agent] = grantFieldsOf(agent, hash)
		case timesField, holderField, moreField:
		default:
			r.Fields[name] = value
		}
	}
	r.Order, r.ignore = strings.Fields(r.Fields["bid_order"]), strings.Fields(r.Fields["ignored"])
	if r.Fields["ignored"] == "*" && json.Unmarshal([]byte(r.Fields["expected_bidders"]), &r.ignore) != nil {
		r.ignore = nil // the claim is corrupt, which DecodeClaim says
	}
	delete(r.Fields, "bid_order")
	delete(r.Fields, "ignored")
	r.Fields = whole(id, r.Fields, usualOfClaim)
	return r
}

// WithGrants is the record with its grants as JSON.
func (r ClaimRecord) WithGrants() ClaimRecord {
	r.Grants = make(map[string]string, len(r.grants))
	for agent, f := range r.grants {
		r.Grants[agent] = f.text()
	}
	return r
}

// DecodeGrants reads the grants, sorted by agent.
func (r ClaimRecord) DecodeGrants(claim string) ([]blackboard.Grant, error) {
	out := make([]blackboard.Grant, 0, len(r.grants))
	for _, agent := range slices.Sorted(maps.Keys(r.grants)) {
		g, err := r.grants[agent].decode(claim, agent)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// grantFields are the fields of a grant, as they are stored.
type grantFields struct {
	grant, times, holder, more string
	held                       bool // there is a holder
}

func grantFieldsOf(agent string, hash map[string]string) grantFields {
	return grantFields{hash[grantField+agent], hash[timesField+agent], hash[holderField+agent], hash[moreField+agent], has(hash, holderField+agent)}
}

// decode reads a grant, without JSON where all is usual. A whole one in JSON, and a broken one, go the long way.
func (f grantFields) decode(claim, agent string) (blackboard.Grant, error) {
	m, times := grantForms()["grant"].FindStringSubmatch(f.grant), strings.Fields(f.times)
	var g StoredGrant
	if m == nil || len(times) > 4 || f.more != "" && json.Unmarshal([]byte(f.more), &g) != nil {
		return DecodeGrant(claim, agent, f.text())
	}
	g.Phase, g.State, g.Holder, g.Verdict = blackboard.Phase(m[1]), blackboard.GrantState(m[2]), f.holder, blackboard.Verdict(m[5])
	g.Attempt, _ = strconv.Atoi(m[3])
	if m[4] != "." {
		g.ResultID = m[4]
	}
	var base int64
	for i, to := range []*string{&g.QueuedAt, &g.StartedAt, &g.EndedAt, &g.ToolUS}[:len(times)] {
		n, err := strconv.ParseInt(times[i], 10, 64)
		switch {
		case times[i] == ".":
			continue
		case err != nil:
			return DecodeGrant(claim, agent, f.text())
		case i == 0:
			base = n
		case i < 3:
			n += base
		}
		*to = strconv.FormatInt(n, 10)
	}
	return g.decoded(claim, agent)
}

// Bids returns the bids on the claim in the order they came in: those that are stored, and those that its
// course has.
func (r ClaimRecord) Bids(stored map[string]string) []blackboard.Bid {
	all := make(map[string]string, len(stored)+len(r.ignore))
	maps.Copy(all, stored)
	for _, agent := range r.ignore {
		if _, known := all[agent]; !known {
			all[agent] = string(blackboard.BidIgnore)
		}
	}
	return OrderBids(all, r.Order)
}

func has(hash map[string]string, name string) bool {
	_, known := hash[name]
	return known
}

// WriteClaim returns the hash of a claim, the reverse of ReadClaim.
func WriteClaim(id string, r ClaimRecord) map[string]string {
	hash := lean(id, r.Fields, usualOfClaim)
	if !slices.IsSorted(r.Order) {
		hash["bid_order"] = strings.Join(r.Order, " ")
	}
	for agent, text := range r.Grants {
		maps.Copy(hash, grantHash(agent, text))
	}
	return hash
}

// GrantNames are the fields of a claim's hash that have the grant of an agent.
func GrantNames(agent string) []string {
	return []string{grantField + agent, timesField + agent, holderField + agent, moreField + agent}
}

// grantForms tell whether the parts of a grant have the form that fits its fields.
var grantForms = sync.OnceValue(func() map[string]*regexp.Regexp {
	digits, word := regexp.MustCompile(`^[0-9]+$`), regexp.MustCompile(`^[^\s]+$`)
	return map[string]*regexp.Regexp{
		"grant":  regexp.MustCompile(`^([a-zA-Z]+) ([a-zA-Z_]+) ([0-9]+)(?: (\S+))?(?: (\S+))?$`),
		"after":  regexp.MustCompile(`^-?[0-9]+$`),
		"phase":  regexp.MustCompile(`^[a-zA-Z]+$`),
		"state":  regexp.MustCompile(`^[a-zA-Z_]+$`),
		"result": regexp.MustCompile(`^[^\s.]+$`),
		"word":   word,
		"digits": digits,
	}
})

// text is the JSON of a grant in its fields. One that is broken has none.
func (f grantFields) text() string {
	forms, all := grantForms(), map[string]json.RawMessage{}
	m := forms["grant"].FindStringSubmatch(f.grant)
	broken := strings.Join([]string{f.grant, f.times, f.more}, " ? ") // of no form that is read
	switch {
	case m == nil:
		return f.grant
	case f.more != "" && json.Unmarshal([]byte(f.more), &all) != nil:
		return broken
	}
	text := func(name, value string) { all[name] = json.RawMessage(strconv.Quote(value)) }
	text("phase", m[1])
	text("state", m[2])
	all["attempt"] = json.RawMessage(m[3])
	if m[4] != "" && m[4] != "." {
		all["result_id"] = quoted(m[4])
	}
	if m[5] != "" {
		all["verdict"] = quoted(m[5])
	}
	if f.held {
		all["holder"] = quoted(f.holder)
	}
	var base int64
	for i, word := range strings.Fields(f.times) {
		switch {
		case word == "." || i > 3:
		case i == 0 && forms["digits"].MatchString(word):
			base, _ = strconv.ParseInt(word, 10, 64)
			text("queued_at", word)
		case i == 3:
			all["tool_us"] = quoted(word)
		case i > 0 && forms["after"].MatchString(word):
			after, _ := strconv.ParseInt(word, 10, 64)
			text([]string{"", "started_at", "ended_at"}[i], strconv.FormatInt(base+after, 10))
		default:
			return broken
		}
	}
	return object(all)
}

// quoted writes a text as JSON. Bytes that are no text stay as they are, as the scripts leave them.
func quoted(s string) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c == 0x7f:
			b.WriteString(`\u00` + strconv.FormatInt(int64(c)+0x100, 16)[1:])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.Bytes()
}

// object writes a JSON object in the order of its names.
func object(all map[string]json.RawMessage) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString(map[bool]string{true: "{", false: ","}[b.Len() == 0])
		b.Write(quoted(name))
		b.WriteByte(':')
		b.Write(all[name])
	}
	return b.String() + "}"
}

// grantHash are the fields of a grant, the reverse of text. Another text is kept as
// it is.
func grantHash(agent, text string) map[string]string {
	asItIs := map[string]string{grantField + agent: text}
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil {
		return asItIs
	}
	forms, plain := grantForms(), true
	take := func(name, form string) string {
		raw, known := all[name]
		if !known {
			return ""
		}
		delete(all, name)
		var s string
		plain = plain && len(raw) > 0 && raw[0] == '"' && utf8.Valid(raw) && json.Unmarshal(raw, &s) == nil && (form == "" || forms[form].MatchString(s))
		return s
	}
	_, held := all["holder"]
	phase, state, result, verdict := take("phase", "phase"), take("state", "state"), take("result_id", "result"), take("verdict", "word")
	queued, started, ended, tool := take("queued_at", "digits"), take("started_at", "digits"), take("ended_at", "digits"), take("tool_us", "digits")
	holder, attempt := take("holder", ""), string(all["attempt"])
	delete(all, "attempt")
	if !plain || phase == "" || state == "" || !forms["digits"].MatchString(attempt) {
		return asItIs
	}
	hash := map[string]string{grantField + agent: phase + " " + state + " " + attempt}
	if result != "" || verdict != "" {
		hash[grantField+agent] += " " + orDot(result)
	}
	if verdict != "" {
		hash[grantField+agent] += " " + verdict
	}
	if times := timesText(queued, started, ended, tool); times != "" {
		hash[timesField+agent] = times
	}
	if held {
		hash[holderField+agent] = holder
	}
	if len(all) > 0 {
		hash[moreField+agent] = object(all)
	}
	return hash
}

// timesText is the second field of a grant.
func timesText(queued, started, ended, tool string) string {
	base, _ := strconv.ParseInt(queued, 10, 64)
	words := []string{orDot(queued), ".", ".", orDot(tool)}
	for i, at := range []string{started, ended} {
		if at != "" {
			n, _ := strconv.ParseInt(at, 10, 64)
			words[i+1] = strconv.FormatInt(n-base, 10)
		}
	}
	return strings.TrimRight(strings.Join(words, " "), " .")
}

func orDot(s string) string {
	if s == "" {
		return "."
	}
	return s
}

// ReadGrant reads the grant of an agent from the fields of GrantNames. ErrNotFound: there is none;
// ErrCorrupt: they are broken.
func ReadGrant(claim, agent string, hash map[string]string) (blackboard.Grant, error) {
	if !has(hash, grantField+agent) {
		return blackboard.Grant{}, fmt.Errorf("grant of claim %s to %s: %w", claim, agent, blackboard.ErrNotFound)
	}
	return grantFieldsOf(agent, hash).decode(claim, agent)
}

package config

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"sett/blackboard"
)

func TestRuleFor(t *testing.T) {
	a := Agent{Bids: []BidRule{{Type: "Code*", Bid: blackboard.BidReview}, {Type: "*Commit", Bid: blackboard.BidClaim}, {Type: "CodeCommit", Bid: blackboard.BidExclusive}}}
	for _, c := range []struct {
		artefactType string
		rule         BidRule
		exact, found bool
	}{
		{"CodeCommit", a.Bids[2], true, true},
		{"CodeXCommit", a.Bids[0], false, true},
		{"Commit", a.Bids[1], false, true},
		{"Goal", BidRule{}, false, false},
	} {
		if rule, exact, found := a.RuleFor(c.artefactType); rule != c.rule || exact != c.exact || found != c.found {
			t.Errorf("%s: %v %v %v", c.artefactType, rule, exact, found)
		}
	}
	if rule, exact, found := (Agent{}).RuleFor("X"); rule != (BidRule{}) || exact || found {
		t.Errorf("without bids: %v %v %v", rule, exact, found)
	}
}

func TestParseMemory(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "300k": 300 << 10, "512M": 512 << 20, "1G": 1 << 30, "2gb": 2 << 30, "1GiB": 1 << 30, "1T": 1 << 40,
		"10b": 10, "1.5G": 3 << 29, "4 MB": 4 << 20, "9223372036854775807": 1<<63 - 1,
		"0": -1, "": -1, "-1": -1, "5X": -1, "1e3": -1, "M": -1, "8388608T": -1, "9223372036854775808": -1, "5ib": -1, "0.0001": -1,
	} {
		got, ok := parseMemory(s)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %d %v, want %d", s, got, ok, want)
		}
	}
}

func TestInstanceNames(t *testing.T) {
	for s, want := range map[string]string{
		"sett": "sett", "My Project": "my-project", "a__b..c": "a-b-c", "-x-": "x", "--": "sett", "": "sett", "日本": "sett",
		"Café 2": "caf-2", strings.Repeat("ab", 40): strings.Repeat("ab", 20), strings.Repeat("a", 39) + "-b": strings.Repeat("a", 39),
	} {
		got := MakeInstanceName(s)
		if got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
		if err := ValidInstanceName(got); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
	for _, s := range []string{"", "-a", "A", "a_b", "a b", "a:b", "a{b}", "é", strings.Repeat("a", 64)} {
		if ValidInstanceName(s) == nil {
			t.Errorf("%q is valid", s)
		}
	}
}

func TestDiff(t *testing.T) {
	base := "agents:\n  a: {image: i, command: [x]}\n  b: {image: i, command: [x], strategy: fresh_per_call}\n"
	for _, c := range []struct {
		name, source string
		want         Changes
	}{
		{"nothing", base, Changes{}},
		{"the order", "agents:\n  b: {image: i, command: [x], strategy: fresh_per_call}\n  a: {image: i, command: [x]}\n", Changes{}},
		{"a default written out", strings.Replace(base, "[x]}", "[x], timeout: 300s, replicas: 1, concurrency: 1}", 1), Changes{}},
		{"an agent more", base + "  d: {image: i, command: [x]}\n  c: {image: i, command: [x]}\n", Changes{Added: []string{"c", "d"}}},
		{"an agent less", "agents:\n  b: {image: i, command: [x], strategy: fresh_per_call}\n", Changes{Removed: []string{"a"}}},
		{"commands", strings.ReplaceAll(base, "[x]", "[y]"), Changes{Changed: []string{"a", "b"}}},
		{"a timeout", strings.Replace(base, "[x]}", "[x], timeout: 1s}", 1), Changes{Changed: []string{"a"}}},
		{"bids", strings.Replace(base, "[x]}", "[x], bids: {X: claim}}", 1), Changes{Changed: []string{"a"}, Policy: true}},
		{"replicas", strings.Replace(base, "call}", "call, replicas: 3}", 1), Changes{Policy: true}},
		{"concurrency", strings.Replace(base, "[x]}", "[x], concurrency: 3}", 1), Changes{Changed: []string{"a"}}},
		{"retries", strings.Replace(base, "[x]}", "[x], retries: 3}", 1), Changes{Policy: true}},
		{"policy", base + "orchestrator: {max_artefacts: 7}", Changes{Policy: true}},
		{"gates", base + "approve: [X]", Changes{Policy: true}},
		{"patience", base + "orchestrator: {question_timeout: 1h}", Changes{Policy: true}},
		{"a review limit", base + "orchestrator: {on_review_limit: ask}", Changes{Policy: true}},
		{"no gates", base + "approve: []", Changes{}},
		{"who is told", base + "notify: {command: [x]}", Changes{Notify: true}},
		{"place", base + "orchestrator: {run: host}", Changes{Policy: true, Instance: true}},
		{"redis", base + "redis: {give_up: 1s}", Changes{Instance: true}},
		{"embedded", base + "services: {redis: {embedded: true}}", Changes{Instance: true}},
		{"a writable root", strings.Replace(base, "[x]}", "[x], read_only: false}", 1), Changes{Changed: []string{"a"}}},
		{"ports", strings.Replace(base, "call}", "call, isolated_ports: true}", 1), Changes{Changed: []string{"b"}}},
		{"pids", strings.Replace(base, "[x]}", "[x], resources: {limits: {pids: 90}}}", 1), Changes{Changed: []string{"a"}}},
		{"git", base + "services: {repository: {image: x}}", Changes{Repository: true}},
		{"the last tree", strings.ReplaceAll(base, "[x]", "[x], workspace: {mode: none}"), Changes{Changed: []string{"a", "b"}, Repository: true}},
		{"services", base + "services: {redis: {image: x}}", Changes{Instance: true}},
	} {
		got := Diff(mustParse(t, base), mustParse(t, c.source))
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Each entry of bids knows its line, wherever it stands; no digest and no comparison sees it.
func TestLinesOfBids(t *testing.T) {
	const source = `
defaults: {image: i, command: [x]}
x-shared: &shared
  CodeCommit: review
  "Code*": claim
agents:
  own:
    bids:
      GoalDefined: exclusive

      "*": ignore
  aliased: {bids: *shared}
  merged:
    bids: {<<: *shared, Plan: claim}
`
	c := mustParse(t, source)
	for agent, want := range map[string]map[string]int{
		"own": {"GoalDefined": 9, "*": 11}, "aliased": {"CodeCommit": 4, "Code*": 5}, "merged": {"CodeCommit": 4, "Code*": 5, "Plan": 14},
	} {
		a, _ := c.Agent(agent)
		got := map[string]int{}
		for _, r := range a.Bids {
			got[r.Type] = r.Line
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", agent, got, want)
		}
	}
	a, _ := c.Agent("own")
	if choice := ChooseBid(a, blackboard.Target{Type: "Poem"}); choice.Line != 11 || choice.Rule != "*: ignore" {
		t.Errorf("%+v", choice)
	}
	if moved := mustParse(t, "\n# moved\n"+source); !reflect.DeepEqual(Diff(c, moved), Diff(c, c)) || moved.Agents[0].Bids[0].Line != 11 {
		t.Errorf("moved lines change %+v", Diff(c, moved))
	}
}

// The digest is stored with running agents, so it must not change from run to
// run or from map order.
func TestDigestIsStable(t *testing.T) {
	source := "agents: {a: {build: {args: {A: 1, B: 2, C: 3, D: 4}}, command: [x]}}"
	first := mustParse(t, source).Agents[0].Digest()
	if len(first) != 64 {
		t.Errorf("digest %q", first)
	}
	for range 20 {
		if got := mustParse(t, source).Agents[0].Digest(); got != first {
			t.Fatalf("digest %s, then %s", first, got)
		}
	}
}

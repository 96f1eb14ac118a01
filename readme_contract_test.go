package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/tool"
)

// checkContract reads the examples as a cub does.
func (p *book) checkContract(t *testing.T) {
	whole, err := tool.Input{ClaimType: blackboard.BidReview, Target: blackboard.Artefact{Commit: "5175d51"}, Workspace: &tool.Workspace{Branch: "main"}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range p.of(t, "json") {
		if b.about != "" {
			continue
		}
		if got, want := fieldsOf(t, []byte(b.text)), fieldsOf(t, whole); !slices.Equal(got, want) {
			t.Errorf("%s: a tool reads %v, not %v", b.at(0), want, got)
		}
	}
	for _, b := range p.of(t, "jsonl") {
		for line := range strings.Lines(b.text) {
			out, err := tool.ParseOutput([]byte(line))
			phase := blackboard.PhaseExclusive
			if out.StructuralType == blackboard.Review {
				phase = blackboard.PhaseReview
			}
			if _, bad := tool.Interpret(phase, out); err != nil || bad != nil {
				t.Errorf("%s: %s: %v, %v", b.at(0), line, err, bad)
			}
		}
	}
	may := map[blackboard.BidType]string{}
	said := p.section(t, "The tool contract")
	for _, m := range regexp.MustCompile("((?:`\\w+`(?: and )?)+) may produce ([^;.]+)[;.]").FindAllStringSubmatch(said, -1) {
		for _, bid := range codes(m[1]) {
			may[blackboard.BidType(bid)] = m[2]
		}
	}
	for _, phase := range blackboard.Phases {
		for _, st := range blackboard.StructuralTypes {
			out, err := tool.Interpret(phase, tool.Output{StructuralType: st, Type: "T"})
			allowed := err == nil && out.StructuralType == st // under review, Standard becomes a Review
			if said := slices.Contains(strings.Split(may[phase.Bid()], ", "), string(st)); said != allowed {
				t.Errorf("the contract says that %s under %s is allowed: %t", st, phase.Bid(), said)
			}
		}
	}
}

// checkEvent compares the event with what the notifier's own test holds.
func (p *book) checkEvent(t *testing.T) {
	known := map[string]map[string]any{} // by kind
	golden := json.NewDecoder(strings.NewReader(regexp.MustCompile(`: SECONDS`).ReplaceAllString(sources(t, "roles/notifier/testdata/events.golden"), ": 1")))
	for golden.More() {
		var e map[string]any
		if err := golden.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if kind := fmt.Sprint(e["event"]); known[kind] == nil {
			known[kind] = e
		}
	}
	shown := 0
	for _, b := range p.of(t, "json") {
		if b.about != "event" {
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(b.text), &e); err != nil {
			t.Fatalf("%s: %v", b.at(0), err)
		}
		if got, want := namesIn(e, ""), namesIn(known[fmt.Sprint(e["event"])], ""); !slices.Equal(got, want) {
			t.Errorf("%s: an event has the fields %q, not %q", b.at(0), want, got)
		}
		shown++
	}
	section := codes(p.section(t, "Events for notify"))
	for kind, e := range known {
		for _, name := range slices.Sorted(maps.Keys(e)) {
			if fields, nested := e[name].(map[string]any); nested && name == kind && slices.Contains([]string{"question", "bid", "model"}, kind) {
				for field := range fields {
					if !slices.Contains(section, field) {
						t.Errorf("no page names the field %s of a %s", field, kind)
					}
				}
			}
		}
		if !slices.Contains(section, kind) {
			t.Errorf("no page names the event %s", kind)
		}
	}
	if shown != 1 || len(known) != 6 {
		t.Errorf("the pages show %d events, and there are %d kinds", shown, len(known))
	}
}

// namesIn returns the names of an object's fields, and of those in them.
func namesIn(object map[string]any, before string) []string {
	var names []string
	for name, v := range object {
		names = append(names, before+name)
		if fields, ok := v.(map[string]any); ok {
			names = append(names, namesIn(fields, before+name+".")...)
		}
	}
	slices.Sort(names)
	return names
}

// checkWaits compares the names of waits.
func (p *book) checkWaits(t *testing.T) {
	var got, want []string
	for _, row := range rows(p.section(t, "Waiting has names")) {
		got = append(got, codes(row[0])...)
	}
	for _, m := range regexp.MustCompile(`\tWait[A-Z]\w+ +WaitKind += "(\w+)"`).FindAllStringSubmatch(sources(t, "blackboard/wait.go"), -1) {
		want = append(want, m[1])
	}
	if len(want) < 9 || !slices.Equal(got, want) {
		t.Errorf("the pages name the waits %q, there are %q", got, want)
	}
}

// fieldsOf returns the names of the fields of a tool's input.
func fieldsOf(t *testing.T, input []byte) []string {
	t.Helper()
	var in map[string]json.RawMessage
	var target, tree map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		t.Fatalf("%v: %s", err, input)
	}
	if err := json.Unmarshal(in["target_artefact"], &target); err != nil {
		t.Fatalf("%v: %s", err, input)
	}
	if err := json.Unmarshal(in["workspace"], &tree); err != nil {
		t.Fatalf("%v: %s", err, input)
	}
	return slices.Concat(slices.Sorted(maps.Keys(in)), slices.Sorted(maps.Keys(target)), slices.Sorted(maps.Keys(tree)))
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// clan is a clan in local mode: each line is a top-level key, or an agent with its keys.
func clan(lines ...string) string {
	top, agents := "runtime: process\n", "agents:\n"
	for _, l := range lines {
		if key, keys, _ := strings.Cut(l, ": "); strings.HasPrefix(keys, "{") && key != "defaults" {
			agents += "  " + key + ": {command: [x], " + keys[1:] + "\n"
		} else {
			top += l + "\n"
		}
	}
	return top + agents
}

// doubts returns the faults or doubts about a clan, one a line: message | hint.
func doubts(t *testing.T, source string) (faults, doubts string) {
	t.Helper()
	var warnings []Warning
	_, err := Parse("f", []byte(source), NoteWarnings(&warnings))
	lines := func(all []Problem) string {
		var b strings.Builder
		for _, p := range all {
			// Each names its place: the text of the message is there.
			if word, _, found := strings.Cut(p.Message, `"`); found {
				name, _, _ := strings.Cut(p.Message[len(word)+1:], `"`)
				line := strings.Split(source, "\n")[p.Line-1]
				if !strings.HasPrefix(strings.TrimLeft(line[p.Column-1:], `"'`), name) {
					t.Errorf("%s stands at %d:%d: %s", p.Message, p.Line, p.Column, line)
				}
			}
			b.WriteString(p.Message + " | " + p.Hint + "\n")
		}
		return b.String()
	}
	var problems *Errors
	if errors.As(err, &problems) {
		return lines(problems.Problems), ""
	}
	all := make([]Problem, len(warnings))
	for i, w := range warnings {
		all[i] = w.Problem
	}
	return "", lines(all)
}

const (
	writer = "writer: {adapter: text, makes: Draft, bids: {GoalDefined: exclusive}}"
	packer = "packer: {adapter: text, makes: Release, terminal: true, bids: {Draft: exclusive}}"
)

// A doubt about a type that an adapter makes unsaid names the adapter, or the agent that gets it
// from shared settings.
func TestFlowDoubtOfAdapter(t *testing.T) {
	for source, want := range map[string]string{
		"runtime: process\nagents:\n  one:\n    command: [x]\n    adapter: commit\n    workspace: {mode: rw}\n    bids: {GoalDefined: exclusive}\n":         "5:14",
		"runtime: process\ndefaults: {adapter: commit}\nagents:\n  one:\n    command: [x]\n    workspace: {mode: rw}\n    bids: {GoalDefined: exclusive}\n": "4:3",
		"runtime: process\nagents:\n  one:\n    command: [x]\n    adapter: text\n    makes:\n      - Plan\n    bids: {GoalDefined: exclusive}\n":            "7:9",
	} {
		var warnings []Warning
		if _, err := Parse("f", []byte(source), NoteWarnings(&warnings)); err != nil {
			t.Errorf("%s: %v", source, err)
		}
		i := slices.IndexFunc(warnings, func(w Warning) bool { return strings.Contains(w.Message, "agents.one: nobody bids on") })
		if i < 0 {
			t.Errorf("%s: it is not doubted: %v", source, warnings)
		} else if got := fmt.Sprintf("%d:%d", warnings[i].Line, warnings[i].Column); got != want {
			t.Errorf("%s: the doubt stands at %s, want %s", source, got, want)
		}
	}
}

func TestFlowChecks(t *testing.T) {
	for name, c := range map[string]struct{ clan, faults, doubts string }{
		"commit makes CodeCommit": {clan: clan("fix: {adapter: commit, workspace: {mode: rw}, bids: {GoalDefined: exclusive}}",
			"pack: {adapter: text, makes: Release, terminal: true, bids: {CodeCommit: exclusive}}", "vet: {adapter: check, bids: {CodeComit: review}}"),
			faults: `agents.vet.bids: no agent makes "CodeComit" | did you mean "CodeCommit"?` + "\n"},
		"sound":          {clan: clan(writer, packer, "vet: {adapter: check, bids: {Draft: review}}", "approve: [Draft]")},
		"nobody says":    {clan: clan("a: {bids: {GoalDefined: exclusive}}", "b: {bids: {CodeComit: review}}")},
		"only reviewers": {clan: clan("a: {bids: {CodeCommit: review}}"), doubts: "no agent works on GoalDefined, so that each goal ends at once | bids: {GoalDefined: exclusive} belongs to the agent that begins\n"},
		"everything":     {clan: clan("a: {terminal: false}")},
		"a script":       {clan: clan("a: {bid_script: [x]}")},

		"misspelt bid": {clan: clan(writer, packer, "vet: {adapter: check, bids: {Darft: review}}"),
			faults: `agents.vet.bids: no agent makes "Darft" | did you mean "Draft"?` + "\n"},
		"bid on nothing known": {clan: clan(writer, packer, "vet: {adapter: check, bids: {Zebra: review}}"),
			faults: `agents.vet.bids: no agent makes "Zebra" | makes: Zebra belongs to the agent that makes it` + "\n"},
		"bid on Landing without land": {clan: clan(writer, packer, "vet: {adapter: check, bids: {Landing: review}}"),
			faults: `agents.vet.bids: no agent makes "Landing" | land: {onto: BRANCH, verify: true} has Sett make it before a result lands` + "\n"},
		"open, and a bid on Landing": {clan: clan(writer, "other: {bids: {Draft: exclusive, Landing: review}}"),
			doubts: `agents.other.bids: no agent says that it makes "Landing" | land: {onto: BRANCH, verify: true} has Sett make it before a result lands` + "\n"},
		"bid on a Review of the repository": {clan: clan(writer, packer, "vet: {adapter: check, bids: {ConflictReview: review}}"),
			faults: `agents.vet.bids: no agent makes "ConflictReview" | take it out: Sett makes it, and a Review gets no claim; its result is sent back to the agent that made it` + "\n"},
		"gate on Landing without land": {clan: clan(writer, packer, "approve: [Landing]"),
			faults: `approve: "Landing" holds nothing: no agent makes such a type | land: {onto: BRANCH, verify: true} has Sett make it before a result lands` + "\n"},
		"commits of the repository": {clan: clan(writer, packer, "commits: [Conflict, Landing]"),
			faults: `commits: no agent makes "Conflict" | take it out: Sett makes it, always with a commit` + "\n" +
				`commits: no agent makes "Landing" | take it out: Sett makes it, always with a commit` + "\n"},
		"pattern": {clan: clan(writer, packer, `vet: {adapter: check, bids: {"Code*": review, "D*": review, "*": ignore}}`),
			faults: `agents.vet.bids: no agent makes a type like "Code*" | the types are GoalDefined, Draft` + "\n"},
		"bid on a final result": {clan: clan(writer, packer, "vet: {adapter: check, bids: {Release: review}}"),
			faults: `agents.vet.bids: "Release" is only made as a final result, which gets no claim | take terminal out of packer, or this out` + "\n"},
		"final only when exclusive": {clan: clan(writer, packer, "vet: {adapter: check, bids: {Note: review}}", "note: {adapter: text, makes: Note, terminal: true, bids: {Draft: claim}}")},
		"misspelt gate":             {clan: clan(writer, packer, "approve: [Drafd]"), faults: `approve: "Drafd" holds nothing: no agent makes such a type | did you mean "Draft"?` + "\n"},
		"gate on a final result":    {clan: clan(writer, packer, "approve: [Release]")},
		"misspelt gate on a final":  {clan: clan(writer, packer, "approve: [Relase]"), faults: `approve: "Relase" holds nothing: no agent makes such a type | did you mean "Release"?` + "\n"},
		"misspelt commit":           {clan: clan(writer, packer, "commits: [Drft]"), faults: `commits: no agent makes "Drft" | did you mean "Draft"?` + "\n"},
		"misspelt commit of a list": {clan: clan(writer, "packer: {makes: [Release, TerraformCode], terminal: true, bids: {Draft: exclusive}}", "commits: [TerrafromCode]"),
			faults: `commits: no agent makes "TerrafromCode" | did you mean "TerraformCode"?` + "\n"},
		"commit of a final result": {clan: clan(writer, packer, "commits: [Release]")},
		"shared":                   {clan: clan("defaults: {bids: {Darft: review}}", writer, packer, "vet: {adapter: check}"), faults: `agents.vet.bids: no agent makes "Darft" | did you mean "Draft"?` + "\n"},

		"open": {clan: clan(writer, "other: {bids: {Darft: exclusive, Zebra: claim}}"),
			doubts: "agents.writer: nobody bids on \"Draft\" | terminal: true makes it the result of the goal; or let an agent bid on it\n" +
				`agents.other.bids: no agent says that it makes "Darft" | did you mean "Draft"?` + "\n" +
				`agents.other.bids: no agent says that it makes "Zebra" | if other does, say so: makes: Zebra` + "\n"},
		"open gate": {clan: clan("other: {bids: {Release: exclusive, GoalDefined: claim}}", "approve: [Relase, 'Rel*', GoalDefind, Zebra]"),
			doubts: `approve: "Relase" fits no type in the agents' bids, and no artefact has such a type | did you mean "Release"?` + "\n" +
				`approve: "GoalDefind" fits no type in the agents' bids, and no artefact has such a type | did you mean "GoalDefined"?` + "\n" +
				`approve: "Zebra" fits no type in the agents' bids, and no artefact has such a type | ` + "\n"},
		"a bid on all names no type": {clan: clan("other: {bids: {'*': exclusive}}", "approve: [Zebra]"),
			doubts: `approve: "Zebra" fits no type in the agents' bids, and no artefact has such a type | ` + "\n"},
		"gate on what an agent says it makes": {clan: clan("other: {bids: {GoalDefined: exclusive}}", "approve: [Plan]", "plan: {makes: Plan, bids: {GoalDefined: claim}}")},

		"nobody begins": {clan: clan("a: {bids: {GoalDefind: exclusive}}"),
			doubts: "no agent works on GoalDefined, so that each goal ends at once | bids names \"GoalDefind\"; did you mean GoalDefined?\n"},
		"no end": {clan: clan(writer, "note: {adapter: text, makes: Note, bids: {Draft: exclusive}}"),
			doubts: "no agent makes a final result, so that each goal ends as stalled | add terminal: true to the agent that works last\n" +
				"agents.note: nobody bids on \"Note\" | terminal: true makes it the result of the goal; or let an agent bid on it\n"},
		"joined": {clan: clan(writer, packer, "note: {adapter: text, makes: Note, bids: {Draft: claim}}")},
		"unreached": {clan: clan(writer, packer, "a: {adapter: text, makes: X, bids: {Y: exclusive}}", "b: {adapter: text, makes: Y, bids: {X: exclusive}}"),
			doubts: "agents.a: no goal leads to \"X\" | let an agent make it of GoalDefined, or of what comes of that\n" +
				"agents.b: no goal leads to \"Y\" | let an agent make it of GoalDefined, or of what comes of that\n"},
		"circle": {clan: clan(writer, packer, "a: {adapter: text, makes: X, bids: {Draft: claim}}", "b: {adapter: text, makes: Draft, bids: {X: claim}}"),
			doubts: "agents.writer: work goes in a circle without end: Draft → X → Draft | let one of its agents bid on other types, or review\n"},
		"circle of its own": {clan: clan(writer, packer, "a: {adapter: text, makes: X, bids: {Draft: claim, X: claim}}"),
			doubts: "agents.a: work goes in a circle without end: X → X | let one of its agents bid on other types, or review\n"},
		"no circle by a pattern": {clan: clan(writer, packer, "a: {adapter: text, makes: X, bids: {Draft: claim, '*': claim}}")},
		"a program chooses":      {clan: clan(writer, packer, "a: {makes: [X, Y], bids: {Draft: claim}}", "b: {makes: Draft, bids: {X: claim, Y: claim}}")},
	} {
		t.Run(name, func(t *testing.T) {
			faults, doubts := doubts(t, c.clan)
			if faults != c.faults || doubts != c.doubts {
				t.Errorf("\n%sfaults %s\ndoubts %s\nwant\n%s\n%s", c.clan, faults, doubts, c.faults, c.doubts)
			}
		})
	}
}

// The types are in the order in which work reaches them.
func TestFlow(t *testing.T) {
	c := mustParse(t, clan(packer, "note: {adapter: text, makes: Note, bids: {'*': claim}}", "vet: {adapter: check, bids: {Draft: review}}", writer,
		"odd: {adapter: text, makes: Odd, bids: {Draft: ignore}}", "approve: ['D*']"))
	var got strings.Builder
	for _, f := range c.Flow().Types {
		fmt.Fprintln(&got, f.Name, f.Makers, f.Final, f.Gate, f.Review, f.Parallel, f.Exclusive, f.Scripts, f.Reached)
	}
	want := `GoalDefined [] [] false [] [note] [writer] [] true
Note [note] [] false [] [] [] [] true
Draft [writer] [] true [vet] [note] [packer] [] true
Release [packer] [packer] false [] [] [] [] true
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

// A file that is made for it does not make the checks slow.
func TestFlowBounded(t *testing.T) {
	var agents strings.Builder
	for i := range 800 {
		fmt.Fprintf(&agents, "  a%d: {command: [x], adapter: text, makes: T%d, bids: {\"b%da*a*a*a*b\": review, Y%d: claim}}\n", i, i, i, i)
	}
	for _, open := range []string{"", "  o: {command: [x]}\n"} {
		began := time.Now()
		var warnings []Warning
		_, err := Parse("f", []byte("runtime: process\nagents:\n"+agents.String()+open), NoteWarnings(&warnings))
		var faults *Errors
		if n := len(warnings); errors.As(err, &faults) {
			if n = len(faults.Problems); n != mostFaults {
				t.Errorf("%d faults", n)
			}
		} else if n != mostFaults {
			t.Errorf("%d doubts, %v", n, err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	}
}

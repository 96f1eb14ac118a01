package chart

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/term"
	"sett/roles/view/flow"
)

const planned = `runtime: process
approve: [Draft]
orchestrator: {on_review_limit: ask}
agents:
  writer: {command: [x], adapter: text, makes: Draft, bids: {GoalDefined: exclusive}}
  vet: {command: [x], adapter: check, bids: {Draft: review}}
  notes: {command: [x], adapter: text, makes: 'A"&<b>', bids: {Draft: claim}}
  packer: {command: [x], adapter: text, makes: Release, terminal: true, bids: {Draft: exclusive}}
  picker: {command: [x], makes: [X, Y], bid_script: [x], bids_required: true}
`

const lands = `runtime: process
approve: [Landing]
land: {onto: released}
agents:
  a: {command: [x], workspace: {mode: rw}, makes: Code, bids: {GoalDefined: exclusive}}
  b: {command: [x], adapter: check, bids: {Landing: review}}
`

func planOf(t *testing.T, source string) *flow.Plan {
	t.Helper()
	c, err := config.Parse("sett.yml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return flow.Of(c)
}

func TestPlanText(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"closed": {planned, `GoalDefined  by you
  exclusive  writer -> Draft
  script     picker -> X or Y, may be final
Draft        by writer
  gate       waits for sett approve
  review     vet
  parallel   notes -> A"&<b>
  exclusive  packer -> Release, final
  script     picker -> X or Y, may be final
X            by picker
  script     picker -> X or Y, may be final
Y            by picker
  script     picker -> X or Y, may be final
A"&<b>       by notes
  script     picker -> X or Y, may be final
Release      by packer

ends with   Release by packer
may end     with X by picker, where its program prints a Terminal
may end     with Y by picker, where its program prints a Terminal
may stall   GoalDefined: it waits for the bid of picker
may stall   Draft: it waits for sett approve
may stall   Draft: after 3 reworks it waits for a person
may stall   Draft: it waits for the bid of picker
may stall   X: it waits for the bid of picker
may stall   Y: it waits for the bid of picker
may stall   A"&<b>: it waits for the bid of picker
`},
		"open": {"runtime: process\nagents: {a: {command: [x], bids: {GoalDefined: claim, Code: exclusive}}, b: {command: [x], bids: {Page: review}}}\n", `GoalDefined  by you
  parallel   a -> any type
Code         by an agent that says no makes
  exclusive  a -> any type
Page         by an agent that says no makes
  review     b

may end     where a program prints a Terminal: a
may stall   Page: nobody works on it
`},
		"a model decides": {"runtime: process\nmodels: {m: {api: chat, model: x, base_url: \"http://localhost:1\"}}\nagents: {a: {llm: {model: m}, makes: Word, terminal: true, prompts: {claim: Bid., execution: Do.}}}\n", `GoalDefined  by you
  model      a -> Word, may be final
Word         by a

may end     with Word by a, where its program prints a Terminal
may stall   Word: nobody works on it
asks        a: m (chat, x at http://localhost:1/v1)
`},
		"no way": {"runtime: process\nagents: {a: {command: [x], adapter: text, makes: Note, bids: {Note: claim}}}\n", `GoalDefined  by you

Note         by a
  parallel   a -> Note

ends        never with a final result: each goal stalls
may stall   GoalDefined: nobody works on it
may stall   Note: no goal leads to it
`},
		"lands": {lands, `GoalDefined  by you
  exclusive  a -> Code, may be final
Code         by a
Landing      by the repository: the commit that branch released would have
  gate       waits for sett approve
  review     b

may end     with Code by a, where its program prints a Terminal
lands on    branch released (rebase), one goal after another; the Landing waits for your word first
may stall   Code: nobody works on it
may stall   Landing: it waits for sett approve
`},
	} {
		var out bytes.Buffer
		on := &term.Terminal{}
		on.Stdout = &out
		on.Lookup = func(string) (string, bool) { return "", false }
		if err := Plan(on, planOf(t, c.source)); err != nil || out.String() != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, out.String(), c.want)
		}
	}
}

func TestPlanDrawings(t *testing.T) {
	source := strings.Replace(planned, "  picker: {command: [x], makes: [X, Y], bid_script: [x], bids_required: true}\n", "", 1)
	mermaid, dot := planOf(t, source).Mermaid(), planOf(t, source).Dot()
	if want := `flowchart TD
  t1["GoalDefined"]
  t2["Draft (gate)"]
  t3["A#34;#38;#60;b#62;"]
  t4(["Release"])
  a1("writer")
  a2("vet")
  a3("notes")
  a4("packer")
  t1 -->|exclusive| a1
  t2 -.->|review| a2
  t2 -->|parallel| a3
  t2 -->|exclusive| a4
  a1 --> t2
  a3 --> t3
  a4 --> t4
`; mermaid != want {
		t.Errorf("got\n%swant\n%s", mermaid, want)
	}
	for _, want := range []string{"  t2 -->|lands| t3\n", "  t3 --> b1\n", "  b1([\"branch released\"])\n"} {
		if drawn := planOf(t, lands).Mermaid(); !strings.Contains(drawn, want) {
			t.Errorf("no %s in\n%s", want, drawn)
		}
	}
	for _, want := range []string{"digraph clan {\n", `  t3 [shape=box, label="A\"&amp;<b>"];`, `  t4 [shape=doubleoctagon, label="Release"];`,
		`  t2 -> a2 [label="review"] [style=dashed];`, "  a1 -> t2;\n"} {
		if !strings.Contains(dot, want) {
			t.Errorf("no %s in\n%s", want, dot)
		}
	}
	if program, err := exec.LookPath("dot"); err == nil {
		cmd := exec.Command(program, "-Tsvg")
		cmd.Stdin = strings.NewReader(dot)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clan is what sett.yml and the tools of a test say.
type clan struct {
	agents  []agent
	extra   string // further top-level YAML
	peopled bool   // it takes a person to see a goal through

	noCourses bool // the orchestrator decides about every claim
}

// without returns the clan where the orchestrator decides about every claim.
func (c clan) without() clan {
	c.noCourses = true
	return c
}

// agent is one agent of sett.yml; its tool is a shell script.
type agent struct {
	name   string
	bids   string // YAML of the mapping's inside: "GoalDefined: exclusive"
	tool   string // the script's body; stdin is in $in, say and act are there
	script string // of a bid script, instead of bids
	image  string // where units are containers; empty: baseImage, none: it is in more
	more   string // further YAML, one "key: value" per line
}

// prelude begins every tool: it reads its input and has functions to answer. Files in
// $gates are seen by all tools of the instance.
const prelude = `#!/bin/sh
set -eu
in=$(cat) me=${0##*/} gates=GATES
say() { printf '{"structural_type":"%s","artefact_type":"%s","artefact_payload":"%s","summary":"by %s"}' "$1" "$2" "$3" "$me"; }
`

// write puts sett.yml and the tools into the workspace.
func (c clan) write(in *instance) {
	t, dir, o := in.t, in.repo, in.o
	t.Helper()
	var y strings.Builder
	fmt.Fprintf(&y, "version: \"1.0\"\nruntime: %s\n", o.runtime())
	if o.url != "" {
		fmt.Fprintf(&y, "redis:\n  url: %q\n", o.url)
	}
	if o.onHost {
		y.WriteString("orchestrator: {run: host}\n")
	}
	y.WriteString(c.extra + "agents:\n")
	for _, a := range c.agents {
		fmt.Fprintf(&y, "  %s:\n    command: [./tools/%s]\n", a.name, a.name)
		if o.docker && a.image != "none" {
			fmt.Fprintf(&y, "    image: %s\n", cmp.Or(a.image, baseImage))
		}
		if a.script != "" {
			fmt.Fprintf(&y, "    bid_script: [./tools/%s-bids]\n", a.name)
			file(t, filepath.Join(dir, "tools", a.name+"-bids"), in.prelude()+a.script+"\n", 0o755)
		} else {
			y.WriteString("    bids:\n")
		}
		for line := range strings.Lines(a.bids) {
			fmt.Fprintf(&y, "      %s\n", strings.TrimSpace(line))
		}
		for line := range strings.Lines(a.more) {
			fmt.Fprintf(&y, "    %s\n", strings.TrimRight(line, "\n"))
		}
		file(t, filepath.Join(dir, "tools", a.name), in.prelude()+a.tool+"\n", 0o755)
	}
	file(t, filepath.Join(dir, "sett.yml"), y.String(), 0o644)
}

func file(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	wrote.Store(path, text)
}

// reviewed is the clan of the crash suite: a draft is written, reviewed by two,
// reworked, approved, used by two in parallel, and packaged into the Terminal.
func reviewed(writer agent, more string) clan {
	review := `if [ "$SETT_TARGET_VERSION" = 1 ] && [ "$me" = r1 ]; then say Review Review "make it better"; else say Review Review "{}"; fi`
	agents := []agent{
		writer,
		{name: "r1", bids: "Draft: review", tool: review},
		{name: "r2", bids: "Draft: review", tool: review},
		{name: "p1", bids: "Draft: claim", tool: `say Standard Tests "tested v$SETT_TARGET_VERSION"`},
		{name: "p2", bids: "Draft: claim", tool: `say Standard Docs "documented v$SETT_TARGET_VERSION"`},
		{name: "pack", bids: "Draft: exclusive", tool: `say Terminal Package "packaged v$SETT_TARGET_VERSION"`},
	}
	for i := range agents {
		agents[i].more += more
	}
	return clan{agents: agents}
}

// drafter writes drafts as text.
var drafter = agent{name: "writer", bids: "GoalDefined: exclusive", tool: `
if [ "$SETT_TARGET_TYPE" = GoalDefined ]; then say Standard Draft "draft 1"; else say Standard Draft "draft 2"; fi`}

// committer writes drafts as commits in the working tree, which it has alone.
var committer = agent{name: "writer", bids: "GoalDefined: exclusive", more: "workspace: {mode: rw}\n", tool: `
if [ "$SETT_TARGET_TYPE" = GoalDefined ]; then n=1; else n=2; fi
echo "draft $n" >draft.txt
echo "$SETT_CLAIM_ID" >>draft.txt
git add draft.txt
git -c user.name=W -c user.email=w@example.org commit -q -m "draft $n"
say Standard Draft "draft $n"`}

// changer writes drafts as changes of its tree, beside a commit of its own, that Sett commits.
var changer = agent{name: "writer", bids: "GoalDefined: exclusive", more: "workspace: {mode: rw}\nadapter: commit\nmakes: Draft\n", tool: `
if [ "$SETT_TARGET_TYPE" = GoalDefined ]; then n=1; else n=2; fi
echo "draft $n" >>draft.txt
git add draft.txt
git -c user.name=W -c user.email=w@example.org commit -q -m "own $n"
echo "notes $n" >>"nötes $n.txt"
rm -f gone; echo x >"new $n"; chmod +x "new $n"
echo "draft $n"`}

// solo is one agent that ends a goal at once.
func solo(tool, more string) clan {
	return clan{agents: []agent{{name: "solo", bids: "GoalDefined: exclusive", tool: tool, more: more}}}
}

const finished = `say Terminal Done done`

package redis

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goNames are the names Go makes, each under what the scripts call it. The
// argument is ID where there is one.
func goNames(k keys) map[string]string {
	return map[string]string{
		"events_key": k.events(), "artifact_key": k.artifact("ID"), "children_key": k.children("ID"), "thread_key": k.thread("ID"),
		"claim_key": k.claim("ID"), "bids_key": k.bids("ID"), "bid_order_key": k.bidOrder("ID"), "grants_key": k.grants("ID"),
		"artefacts_key": k.artefacts(), "artefacts_by_type_key": k.artefactsByType("ID"),
		"artefacts_by_agent_key": k.artefactsByAgent("ID"), "artefacts_by_workflow_key": k.artefactsByWorkflow("ID"),
		"unclaimed_key": k.unclaimed(), "claims_key": k.claims(), "claims_by_workflow_key": k.claimsByWorkflow("ID"),
		"open_claims_key": k.openClaims(), "questions_key": k.questions(), "gates_key": k.gates(), "ids_key": k.ids("ID"), "workflow_key": k.workflow("ID"),
		"active_workflows_key": k.activeWorkflows(), "workspace_key": k.workspace(), "agents_key": k.agents(),
		"alive_key": k.alive("ID"), "agent_due_key": k.agentDue("ID"), "agent_grants_key": k.agentGrants("ID"),
		"workers_key": k.workers("ID"), "standby_events": k.standbyEvents("ID"), "leader_key": k.leader(), "epoch_key": k.epoch(), "instance_key": k.instance(), "staging_key": k.staging("ID"), "notified_key": k.notified(), "artefact_events": k.artefactEvents(),
		"claim_events": k.claimEvents(), "claim_targets": k.claimTargets(), "agent_events": k.agentEvents("ID"),
		"orchestrator_events": k.orchestratorEvents(),
	}
}

// Go and the scripts agree on every name.
func TestKeyNames(t *testing.T) {
	names := goNames(keysOf("NAME"))
	var order []string
	source := luaKeys + "return {"
	for _, m := range regexp.MustCompile(`(?m)^local (function )?(\w+)`).FindAllStringSubmatch(luaKeys, -1) {
		name := m[2]
		if name == "P" || name == "index_id" {
			continue
		}
		order = append(order, name)
		if m[1] != "" {
			name += "('ID')"
		}
		source += name + ","
	}
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		got := w.raw("EVAL", source+"}", "1", keysOf("NAME").events())
		for i, name := range order {
			if got[i] != names[name] {
				t.Errorf("%s is %q in Lua and %q in Go", name, got[i], names[name])
			}
		}
	})
	for name := range names {
		if !slices.Contains(order, name) {
			t.Errorf("the scripts do not know %s", name)
		}
	}
	lines := make([]string, 0, len(names))
	for name, key := range names {
		lines = append(lines, fmt.Sprintf("%-27s %s\n", name, key))
	}
	slices.Sort(lines)
	golden(t, "keys", strings.Join(lines, ""))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// Every name that Go can make is held to the scripts' by the test above.
func TestKeyNamesAreAll(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "keys.go", nil, 0)
	must(t, err)
	methods := 0
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
			methods++
		}
	}
	if names := goNames(keysOf("x")); methods != len(names) {
		t.Errorf("keys has %d names, the table of the test %d", methods, len(names))
	}
}

// Nothing an instance writes lies outside its prefix, whatever its parts are
// called.
func TestKeysHaveThePrefix(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		must(t, w.b.SetInstance(w.ctx, InstanceRunning, "ann"))
		must(t, w.b.Hello(w.ctx, "a}:{", Presence{Incarnation: "i"}, 0))
		claim := w.granted(blackboard.PhaseExclusive, "a}:{", "b")
		w.finish(claim, "a}:{", blackboard.Question, "Type: {odd}\n", "?")
		for key := range w.dump() {
			if !strings.HasPrefix(key, "sett:{test}:") {
				t.Errorf("key %q", key)
			}
		}
	})
}

// Every script says in its header what move it is, what it takes and what it
// answers.
func TestScriptHeaders(t *testing.T) {
	files, err := filepath.Glob("lua/[a-z]*.lua")
	must(t, err)
	if len(files) != len(loadScripts()) || len(files) < 15 {
		t.Errorf("%d files, %d scripts", len(files), len(loadScripts()))
	}
	used := regexp.MustCompile(`ARGV\[(\d+)\]`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		must(t, err)
		var header string
		for line := range strings.Lines(string(b)) {
			if !strings.HasPrefix(line, "--") {
				break
			}
			header += line
		}
		for _, want := range []string{"KEYS[1] the ledger.", "ARGV:", "-- Replies "} {
			if !strings.Contains(header, want) {
				t.Errorf("%s: no %q in its header", file, want)
			}
		}
		for _, m := range used.FindAllStringSubmatch(string(b), -1) {
			if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(header[strings.Index(header, "ARGV:")+1:]) {
				t.Errorf("%s: ARGV[%s] is not in its header", file, m[1])
			}
		}
	}
}

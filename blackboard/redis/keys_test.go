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
	"sett/blackboard/redis/redistest"
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
		"open_claims_key": k.openClaims(), "questions_key": k.questions(), "ids_key": k.ids("ID"), "workflow_key": k.workflow("ID"),
		"active_workflows_key": k.activeWorkflows(), "workspace_key": k.workspace(), "agents_key": k.agents(),
		"alive_key": k.alive("ID"), "agent_due_key": k.agentDue("ID"), "agent_grants_key": k.agentGrants("ID"),
		"workers_key": k.workers("ID"), "standby_events": k.standbyEvents("ID"), "leader_key": k.leader(), "epoch_key": k.epoch(), "instance_key": k.instance(), "artefact_events": k.artefactEvents(),
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

// cubCommands is all that a cub needs to be allowed: what it sends, then what its
// scripts do (Redis asks for those too).
const cubCommands = "-@all +ping +client|setname +evalsha +eval +subscribe +unsubscribe +punsubscribe +discard +zrange +hget +hgetall" +
	" +mget +zrevrange +lrange" +
	" +time +get +set +del +exists +hset +hmget +hdel +hlen +hincrby +zadd +zrem +zscore +zcard +sadd +rpush +xadd +publish"

// A cub's user, limited to its instance and to these commands, can do all that a
// cub does and nothing else.
func TestCubACL(t *testing.T) {
	s := redistest.Start(t)
	w := newWorld(t, &server{url: s.URL})
	w.raw("ACL", append([]string{"SETUSER", "cub", "on", ">pw", "resetkeys", "resetchannels",
		"~sett:{test}:*", "&sett:{test}:*"}, strings.Fields(cubCommands)...)...)
	cub := *w
	cub.b = open(t, strings.Replace(s.URL, "://", "://cub:pw@", 1))
	must(t, cub.b.Hello(w.ctx, "a", Presence{Incarnation: "h-a"}, 0))
	must(t, cub.b.Beat(w.ctx, "a", "h-a", 0))
	notices := cub.listen("a")
	claim := w.open(w.goal().ID, "a")
	work, err := cub.b.OpenAgentWork(w.ctx, "a")
	must(t, err)
	wantList(t, "due", work.Due, claim)
	_, _, err = cub.b.TryClaims(w.ctx, work.Due)
	must(t, err)
	must(t, cub.bid(claim, "a", blackboard.BidExclusive))
	w.grant(claim, blackboard.PhaseExclusive, "a")
	wantList(t, "notice", []string{cub.next(notices)}, "a "+claim)
	_, ref := cub.start(claim, "a", "h-a", blackboard.ReadWrite)
	must(t, cub.b.NoteBase(w.ctx, ref, "c0ffee", "main"))
	_, err = cub.b.Workspace(w.ctx)
	must(t, err)
	must(t, cub.b.Requeue(w.ctx, ref, "stopped"))
	q := cub.finish(claim, "a", blackboard.Question, "Question", "?")
	_, err = w.b.PostAnswer(w.ctx, q.ID, answerTo(q), "ann")
	must(t, err)
	cub.grantOf(claim, "a")
	cub.snapshot(claim)
	_, err = cub.b.LatestVersions(w.ctx, []string{q.ID})
	must(t, err)
	_, err = cub.b.Agents(w.ctx)
	must(t, err)
	cub.finish(claim, "a", blackboard.Standard, "Code", "")
	must(t, cub.b.Release(w.ctx, claim, "a", "", ""))
	must(t, cub.b.Goodbye(w.ctx, "a", "h-a", "stopped"))
	for _, forbidden := range [][]string{
		{"KEYS", "*"}, {"FLUSHALL"}, {"CONFIG", "GET", "*"}, {"ACL", "LIST"}, {"SCRIPT", "FLUSH"}, {"SCAN", "0"},
		{"HGETALL", "sett:{other}:agents"}, {"SET", "elsewhere", "x"}, {"PUBLISH", "sett:{other}:claim_events", "x"},
		{"EVAL", "return redis.call('GET', 'sett:{other}:leader')", "0"}, {"EVAL", "return redis.call('FLUSHALL')", "0"},
		{"CLIENT", "LIST"}, {"SHUTDOWN"}, {"REPLICAOF", "host", "1"},
	} {
		err := cub.b.client.Do(w.ctx, cub.b.client.B().Arbitrary(forbidden...).Build()).Error()
		if err == nil || !strings.Contains(err.Error(), "permission") && !strings.Contains(err.Error(), "user executing the script can't") {
			t.Errorf("%q: %v", forbidden, err)
		}
	}
}

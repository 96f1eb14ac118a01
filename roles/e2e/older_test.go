package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// TestOlderRecords puts the new sett in place of one whose records have schema 1: commands refuse them and
// say what to do, sett up converts them, and the work that was open ends.
func TestOlderRecords(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Durable...)
	var c clan
	for _, name := range []string{"a", "b", "c", "d", "e", "r", "z"} {
		c.agents = append(c.agents, agent{name: name, bids: "GoalDefined: ignore\n", more: "workspace: {mode: none}\n", tool: finished})
	}
	in := prepare(t, options{clan: c, url: server.URL})
	in.up()
	in.must("down", "--timeout", enough.String())
	in.board.Close()
	in.board = nil
	call(t, server, "FLUSHALL")
	claim := in.older(server, "e")

	if code, out := in.sett("hoard"); code != 7 || !strings.Contains(out, "have schema 1, this sett writes 2") || !strings.Contains(out, "sett up converts them, once") {
		t.Errorf("sett hoard ended with %d:\n%s", code, out)
	}
	if out := strings.Join(strings.Fields(in.must("up", "--dry-run", "--runtime", in.o.runtime())), " "); !strings.Contains(out, "sett up converts them, once; an older sett is shut out from then on") {
		t.Errorf("sett up --dry-run said:\n%s", out)
	}
	out := in.must("up", "--adopt-empty", "--runtime", in.o.runtime())
	if !strings.Contains(out, "converted 36 artefacts and 20 claims") {
		t.Errorf("sett up said:\n%s", out)
	}
	in.open()
	for began := time.Now(); ; <-again(began) {
		g, err := in.board.Records.Grant(context.Background(), claim, "e")
		if err == nil && g.State == blackboard.GrantDone {
			break
		}
		if time.Since(began) > enough {
			t.Fatalf("the grant of before: %+v, %v", g, err)
		}
	}
	running := func() bool {
		all, err := in.board.Roster.Running(context.Background())
		return err != nil || len(all) > 0
	}
	for began := time.Now(); running(); <-again(began) { // those of dead holders end as after a crash
		if time.Since(began) > enough {
			t.Fatal("grants run on")
		}
	}
	in.must("hoard")
	if out := in.must("up", "--runtime", in.o.runtime()); strings.Contains(out, "converted") {
		t.Errorf("sett up converted again:\n%s", out)
	}

	// Where the instance runs, as with another sett's parts, these are stopped first.
	before, _ := in.running("orchestrator")
	in.board.Close()
	in.board = nil
	call(t, server, "HSET", "sett:{"+in.name+"}:instance", "schema", "1")
	if out := in.must("up", "--runtime", in.o.runtime()); !strings.Contains(out, "converted ") {
		t.Errorf("sett up said:\n%s", out)
	}
	in.open()
	if after, runs := in.running("orchestrator"); !runs || !after.StartedAt.After(before.StartedAt) {
		t.Errorf("the orchestrator of before, of %s, runs on: %s", before.StartedAt, after.StartedAt)
	}
	in.await(in.post("x"), enough)
}

// older writes the board of schema 1 that the blackboard's tests have, as one of this instance, with the lead
// free. It returns the open claim that an agent has a queued grant of.
func (in *instance) older(s *redistest.Server, agent string) (claim string) {
	in.t.Helper()
	f, err := os.Open("../../blackboard/redis/testdata/schema1/board.jsonl")
	if err != nil {
		in.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	commands := map[string]string{"string": "SET", "hash": "HSET", "set": "SADD", "zset": "ZADD", "list": "RPUSH", "stream": "XADD"}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var record struct {
			Key, Type string
			Values    [][]json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			in.t.Fatal(err)
		}
		if record.Key == "leader" || strings.HasSuffix(record.Key, ":alive") {
			continue
		}
		for _, values := range record.Values {
			words := []string{commands[record.Type], "sett:{" + in.name + "}:" + record.Key}
			for _, v := range values {
				words = append(words, exact(in.t, v))
			}
			if record.Type == "zset" {
				for i := 2; i < len(words); i += 2 {
					words[i], words[i+1] = words[i+1], words[i]
				}
			}
			call(in.t, s, words...)
			if id, found := strings.CutPrefix(record.Key, "claim:"); found && strings.HasSuffix(id, ":grants") && slices.Contains(words, agent) &&
				strings.Contains(strings.Join(words, " "), `"state":"queued"`) {
				claim = strings.TrimSuffix(id, ":grants")
			}
		}
	}
	if err := lines.Err(); err != nil || claim == "" {
		in.t.Fatalf("no claim of %s, %v", agent, err)
	}
	return claim
}

// exact reads a text of the fixture, which may be no UTF-8.
func exact(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var binary struct{ Base64 []byte }
	if err := json.Unmarshal(raw, &binary); err != nil {
		t.Fatal(err)
	}
	return string(binary.Base64)
}

// TestNewerRecords puts an older sett in place of one whose records have a later schema: its sett up is refused before it
// stops any part, be the blackboard Sett's own or not.
func TestNewerRecords(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		t.Run(map[bool]string{true: "own", false: "external"}[own], func(t *testing.T) {
			t.Parallel()
			o := options{clan: clan{agents: []agent{{name: "a", bids: "GoalDefined: exclusive\n", more: "workspace: {mode: none}\n", tool: finished}}}}
			var server *redistest.Server
			if !own {
				server = redistest.Start(t, redistest.Durable...)
				o.url = server.URL
			}
			in := prepare(t, o)
			in.up()
			url := in.boardURL()
			in.board.Close()
			in.board = nil
			later(t, url, in.name)
			in.ofOtherSett()
			before := in.allRunning()
			code, out := in.sett("up", "--runtime", in.o.runtime())
			if code != 7 || !strings.Contains(out, "have schema 3, this sett writes 2") || !strings.Contains(out, "use the sett that wrote them, or a newer one") {
				t.Errorf("sett up ended with %d:\n%s", code, out)
			}
			after := in.allRunning()
			for name, unit := range before {
				if now, runs := after[name]; !runs || now.ID != unit.ID {
					t.Errorf("%s was %s and is %s, running %v", name, unit.ID, now.ID, runs)
				}
			}
			in.must("down", "--timeout", enough.String())
			if code, out := in.sett("up", "--runtime", in.o.runtime()); code != 7 || !strings.Contains(out, "use the sett that wrote them") {
				t.Errorf("sett up of the stopped instance ended with %d:\n%s", code, out)
			}
			if own {
				return // its ledger goes as a whole
			}
			if code, out := in.sett("down", "--purge", "--yes"); code != 7 || !strings.Contains(out, "use the sett that wrote them, or a newer one, then the same command; or with --leave-records") {
				t.Errorf("sett down --purge ended with %d:\n%s", code, out)
			}
			in.must("down", "--purge", "--leave-records", "--yes")
		})
	}
}

// later gives a board the schema of a newer sett.
func later(t testing.TB, board, name string) {
	t.Helper()
	o, err := rueidis.ParseURL(board)
	if err != nil {
		t.Fatal(err)
	}
	o.DisableCache, o.AlwaysRESP2 = true, true
	c, err := rueidis.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(t.Context(), c.B().Hset().Key("sett:{"+name+"}:instance").FieldValue().FieldValue("schema", "3").Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// ofOtherSett has the instance's state say that another version of sett started it.
func (in *instance) ofOtherSett() {
	in.t.Helper()
	path := filepath.Join(in.stateDir(), "instance.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(text, []byte(`"sett": "`), []byte(`"sett": "v9 `), 1), 0o600)
	}
	if err != nil {
		in.t.Fatal(err)
	}
}

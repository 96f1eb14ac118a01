package redis

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/archive"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// older is a board of schema 1, as a Sett of then has written it: testdata/schema1 has all its keys. Its
// orchestrator and its agents are gone.
func older(t *testing.T, s *server) *world {
	t.Helper()
	w := &world{t, testContext(t), openOptions(t, store.Options{URL: s.url, Instance: "test", Name: "test", Convert: true}), ""}
	f, err := os.Open("testdata/schema1/board.jsonl")
	must(t, err)
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var record struct {
			Key, Type string
			Values    [][]archive.Exact
		}
		must(t, json.Unmarshal(lines.Bytes(), &record))
		key := w.b.c.Keys.Prefix + record.Key
		for _, values := range record.Values {
			args := []string{key}
			for _, v := range values {
				args = append(args, string(v))
			}
			if record.Type == "zset" { // members stand before their scores
				for i := 1; i < len(args); i += 2 {
					args[i], args[i+1] = args[i+1], args[i]
				}
			}
			w.raw(map[string]string{"string": "SET", "hash": "HSET", "set": "SADD", "zset": "ZADD", "list": "RPUSH", "stream": "XADD"}[record.Type], args...)
		}
	}
	must(t, lines.Err())
	w.raw("DEL", w.b.c.Keys.Leader(), w.b.c.Keys.Alive("a"))
	return w
}

// refusesOlder holds that a board that is not converted is read by nobody.
func refusesOlder(t *testing.T, s *server, has string) {
	t.Helper()
	b, err := Open(testContext(t), store.Options{URL: s.url, Instance: "test", Name: "test"})
	if err == nil {
		b.Close()
	}
	remedy := "sett up converts them, once; an older sett is shut out from then on, so make a backup with that one first: sett ledger export"
	if has != "1" {
		remedy = "sett up goes on to convert them"
	}
	var schema *blackboard.SchemaError
	if !errors.As(err, &schema) || schema.Has != has || schema.Remedy() != remedy {
		t.Fatalf("opened a board of schema %s: %v", has, err)
	}
}

// converted holds a converted board to the export of before, key by key to the import of that, and goes on with the
// work that was open.
func converted(t *testing.T, s *server) {
	t.Helper()
	w := &world{t, testContext(t), open(t, s.url), ""}
	before, err := os.ReadFile("testdata/schema1/export.jsonl")
	must(t, err)
	lines := strings.SplitAfter(strings.TrimSpace(string(before))+"\n", "\n")
	lines = lines[:len(lines)-1]
	if more := sameLines(t, lines, w.export("")); len(more) > 0 {
		t.Errorf("new lines %q", more)
	}
	to := fresh(t, startEmbedded(t))
	_, err = to.imports(lines)
	must(t, err)
	sameKeys(t, to.dump(), w.dump())

	lead, _, err := w.b.Leader.TakeLead(w.ctx, "orchestrator", "", time.Hour)
	must(t, err)
	w.epoch = lead.Epoch
	work, err := w.b.Index.OpenWork(w.ctx)
	must(t, err)
	running, err := w.b.Roster.Running(w.ctx)
	must(t, err)
	if len(work.Claims) < 8 || len(running) < 2 {
		t.Errorf("%d open claims, %d running grants", len(work.Claims), len(running))
	}
	for _, r := range running {
		if w.grantOf(r.Claim, r.Agent).State == blackboard.GrantRunning {
			c := w.snapshot(r.Claim).Claim
			must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{
				GrantRef: blackboard.GrantRef{Claim: r.Claim, Agent: r.Agent, Attempt: r.Attempt, Holder: r.Holder},
				Artefact: result(c, r.Agent, blackboard.Standard, "Late", "after the conversion"),
			}))
		}
	}
	questions, err := w.b.Index.OpenQuestions(w.ctx)
	must(t, err)
	for _, q := range questions {
		a, err := w.b.Records.Artefact(w.ctx, q)
		must(t, err)
		agent, err := w.b.People.PostAnswer(w.ctx, q, word(blackboard.Answer, q, "", a.WorkflowID, "so", "ann"), "ann")
		must(t, err)
		w.finish(a.ClaimID, agent, blackboard.Standard, "Answered", "x")
	}
	goals, err := w.b.Index.ActiveWorkflows(w.ctx)
	must(t, err)
	for _, goal := range goals {
		w.countsHold(goal)
		must(t, w.b.People.CancelWorkflow(w.ctx, goal, word(blackboard.Failure, goal, "", goal, `{"reason":"no"}`, "ann"), "ann", "no"))
	}
}

// A board of schema 1 is refused, waits for those at work, and is the same in schema 2.
func TestConvert(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := older(t, s)
		refusesOlder(t, s, "1")
		soon := strconv.FormatInt(time.Now().Add(time.Hour).UnixMicro(), 10)
		for _, at := range [][]string{
			{w.b.c.Keys.Leader(), "then " + soon, "the orchestrator then"}, {w.b.c.Keys.Alive("a"), "i " + soon, "agent a"},
		} {
			w.raw("SET", at[0], at[1])
			if done, waits, err := w.b.convertStep(w.ctx); done != nil || waits != at[2] || err != nil {
				t.Errorf("%v, waits for %q, %v; want %s", done, waits, err, at[2])
			}
			w.raw("DEL", at[0])
		}
		refusesOlder(t, s, "1")
		n, err := w.b.Convert(w.ctx)
		if err != nil || n.Artefacts < 36 || n.Claims < 20 {
			t.Fatalf("converted %+v, %v", n, err)
		}
		if n, err := w.b.Convert(w.ctx); err != nil || n != (Converted{}) {
			t.Errorf("again: %+v, %v", n, err)
		}
		for key := range w.dump() {
			name := strings.TrimPrefix(key, w.b.c.Keys.Prefix)
			if strings.HasPrefix(name, "ids:") || strings.HasSuffix(name, ":bid_order") || strings.HasPrefix(name, "claim:") && strings.HasSuffix(name, ":grants") {
				t.Errorf("%s is left", name)
			}
		}
		converted(t, s)
	})
}

// A conversion that stops after any of its steps goes on, also after the server was killed.
func TestConvertStops(t *testing.T) {
	stops := func(t *testing.T, s *server) {
		w := older(t, s)
		steps := 0
		for done := false; !done; steps++ {
			r, err := w.b.c.Do(w.ctx, "convert", store.SchemaVersion, "5")
			must(t, err)
			switch {
			case r.Status == "ok":
				done = true
			case r.Status != "more":
				t.Fatalf("step %d: %s %s", steps, r.Status, r.Text(0))
			case steps%50 == 3:
				s.kill()
				s.restart()
				w.b = openOptions(t, store.Options{URL: s.url, Instance: "test", Name: "test", Convert: true, Retries: 20})
				refusesOlder(t, s, "1 to "+store.SchemaVersion)
			}
		}
		if steps < 20 {
			t.Errorf("%d steps", steps)
		}
		converted(t, s)
	}
	t.Run("redis", func(t *testing.T) {
		r := redistest.Start(t, redistest.Durable...)
		stops(t, &server{r.URL, r.Kill, r.Restart})
	})
	t.Run("embedded", func(t *testing.T) { stops(t, startEmbedded(t)) })
}

// An instance that is new is not converted, and one of a later schema not either.
func TestConvertNothing(t *testing.T) {
	w := newWorld(t, startEmbedded(t))
	if n, err := w.b.Convert(w.ctx); err != nil || n != (Converted{}) {
		t.Errorf("an empty board: %+v, %v", n, err)
	}
	w.raw("HSET", w.b.c.Keys.Instance(), "schema", "3")
	w.refuses("a later schema", blackboard.ErrRefused, func() error { _, err := w.b.Convert(w.ctx); return err })
}

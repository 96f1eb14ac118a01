package redis

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/archive"
	"sett/blackboard/redis/internal/store"
)

// What is left of a blackboard that lost some records, or has broken ones, is
// exported, with the names of those; and imported as it is.
func TestExportLost(t *testing.T) {
	onTwo(t, func(t *testing.T, s *server) {
		for what, damage := range map[string]struct {
			do     func(w *world, goal, result, claim string) (key string)
			says   string
			counts archive.Counts // of what is lost
		}{
			"a goal gone":        {func(w *world, goal, _, _ string) string { return w.b.c.Keys.Artifact(goal) }, "not found", archive.Counts{Lost: 1}},
			"an artefact gone":   {func(w *world, _, result, _ string) string { return w.b.c.Keys.Artifact(result) }, "not found", archive.Counts{Lost: 1}},
			"a claim gone":       {func(w *world, _, _, claim string) string { return w.b.c.Keys.Claim(claim) }, "not found", archive.Counts{}},
			"a workflow gone":    {func(w *world, goal, _, _ string) string { return w.b.c.Keys.Workflow(goal) }, "not found", archive.Counts{}},
			"a goal broken":      {func(w *world, goal, _, _ string) string { return w.b.c.Keys.Artifact(goal) + " version" }, "field version", archive.Counts{Lost: 1}},
			"an artefact astray": {func(w *world, _, result, _ string) string { return w.b.c.Keys.Artifact(result) + " id" }, "it says that it is", archive.Counts{Lost: 1}},
			"a claim broken":     {func(w *world, _, _, claim string) string { return w.b.c.Keys.Claim(claim) + " artefact_id" }, "field revision", archive.Counts{}},
			"a claim without":    {func(w *world, _, _, claim string) string { return w.b.c.Keys.Claim(claim) + " workflow_id" }, "field revision", archive.Counts{}},
			"a grant broken":     {func(w *world, _, _, claim string) string { return w.b.c.Keys.Claim(claim) + " grant:a" }, "read grant", archive.Counts{}},
			"a payload changed":  {func(w *world, _, result, _ string) string { return w.b.c.Keys.Artifact(result) + " payload" }, "is not what the ledger recorded", archive.Counts{Lost: 1}},
			"a goal changed":     {func(w *world, goal, _, _ string) string { return w.b.c.Keys.Artifact(goal) + " payload" }, "is not what the ledger recorded", archive.Counts{Lost: 1}},
			"a summary changed":  {func(w *world, _, result, _ string) string { return w.sets(result, "summary", "mine") }, "it has another summary, metadata,", archive.Counts{Lost: 1}},
			"metadata changed":   {func(w *world, _, result, _ string) string { return w.sets(result, "metadata", "{\"x\":1}") }, "it has another summary, metadata,", archive.Counts{Lost: 1}},
			"sources changed": {func(w *world, goal, result, _ string) string {
				return w.sets(result, "source_artefacts", "[\""+result+"\"]")
			}, "it has another summary, metadata,", archive.Counts{Lost: 1}},
			"a role changed":    {func(w *world, _, result, _ string) string { return w.sets(result, "produced_by_role", "boss") }, "it has another summary, metadata,", archive.Counts{Lost: 1}},
			"a goal's summary":  {func(w *world, goal, _, _ string) string { return w.sets(goal, "summary", "mine") }, "it has another summary, metadata,", archive.Counts{Lost: 1}},
			"a goal's type":     {func(w *world, goal, _, _ string) string { return w.sets(goal, "type", "Evil") }, "it has another type", archive.Counts{Lost: 1}},
			"a type changed":    {func(w *world, _, result, _ string) string { return w.sets(result, "type", "Evil") }, "it has another type", archive.Counts{Lost: 1}},
			"an agent changed":  {func(w *world, _, result, _ string) string { return w.sets(result, "produced_by_agent", "mallory") }, "it has another produced_by_agent", archive.Counts{Lost: 1}},
			"a commit added":    {func(w *world, _, result, _ string) string { return w.sets(result, "commit", strings.Repeat("5f", 20)) }, "it has another summary, metadata, commit,", archive.Counts{Lost: 1}},
			"a kind changed":    {func(w *world, _, result, _ string) string { return w.sets(result, "structural_type", "Terminal") }, "it has another structural_type", archive.Counts{Lost: 1}},
			"a version changed": {func(w *world, _, result, _ string) string { return w.sets(result, "version", "7") }, "it has another version", archive.Counts{Lost: 1}},
			"a time changed":    {func(w *world, _, result, _ string) string { return w.sets(result, "created_at", "1700000000000000") }, "it has another created_at", archive.Counts{Lost: 1}},
			"an entry gone":     {func(w *world, _, result, _ string) string { return w.removeEntryOf(result) }, "is not in the ledger", archive.Counts{Lost: 1}},
			"bids gone":         {func(w *world, _, _, claim string) string { return w.b.c.Keys.Bids(claim) }, "is in the ledger and nowhere else", archive.Counts{}},
			"a status changed": {func(w *world, goal, _, _ string) string {
				w.raw("HSET", w.b.c.Keys.Workflow(goal), "status", "failed")
				return w.b.c.Keys.Absent()
			}, "it is failed, recorded is achieved", archive.Counts{}},
			"a claim's status": {func(w *world, _, _, claim string) string {
				return w.alters(w.b.c.Keys.Claim(claim), "status", "terminated")
			}, "it has another status", archive.Counts{}},
			"a claim's reason": {func(w *world, _, _, claim string) string {
				return w.alters(w.b.c.Keys.Claim(claim), "reason", "because")
			}, "it has another reason", archive.Counts{}},
			"a claim's artefact": {func(w *world, _, result, claim string) string {
				return w.alters(w.b.c.Keys.Claim(claim), "artefact_id", result)
			}, "it has another artefact_id", archive.Counts{}},
			"a claim's end": {func(w *world, _, _, claim string) string {
				return w.alters(w.b.c.Keys.Claim(claim), "closed_at", "1700000000000000")
			}, "it has another closed_at", archive.Counts{}},
			"a bid changed": {func(w *world, _, _, claim string) string { return w.alters(w.b.c.Keys.Bids(claim), "a", "ignore") }, "the bid of a is ignore, recorded is exclusive", archive.Counts{}},
			"a grant's end": {func(w *world, _, result, claim string) string {
				return w.alters(w.b.c.Keys.Claim(claim), "grant:a", "exclusive failed 1 "+result)
			}, "the grant of a has another end", archive.Counts{}},
			"a grant's result": {func(w *world, _, _, claim string) string {
				return w.alters(w.b.c.Keys.Claim(claim), "grant:a", "exclusive done 1 "+newID())
			}, "the grant of a has another end", archive.Counts{}},
			"a goal's person": {func(w *world, goal, _, _ string) string { return w.alters(w.b.c.Keys.Workflow(goal), "by", "eve") }, "it has another by", archive.Counts{}},
			"a goal's beginning": {func(w *world, goal, _, _ string) string {
				return w.alters(w.b.c.Keys.Workflow(goal), "created_at", "1700000000000000")
			}, "it has another created_at", archive.Counts{}},
			"a goal's end": {func(w *world, goal, _, _ string) string {
				return w.alters(w.b.c.Keys.Workflow(goal), "ended_at", "1700000000000000")
			}, "it has another ended_at", archive.Counts{}},
			"a goal's result": {func(w *world, goal, result, _ string) string {
				return w.alters(w.b.c.Keys.Workflow(goal), "terminal_id", result)
			}, "it has another terminal_id", archive.Counts{}},
			"a goal's results": {func(w *world, goal, _, _ string) string { return w.alters(w.b.c.Keys.Workflow(goal), "terminals", "7") }, "it has another number of terminals", archive.Counts{}},
			"a claim added": {func(w *world, goal, _, claim string) string {
				added := newID()
				fields := w.raw("HGETALL", w.b.c.Keys.Claim(claim))
				w.raw("HSET", append([]string{w.b.c.Keys.Claim(added)}, fields...)...)
				w.raw("RPUSH", w.b.c.Keys.Claims(), added)
				w.raw("RPUSH", w.b.c.Keys.ClaimsByWorkflow(goal), added)
				w.raw("RPUSH", w.b.c.Keys.Endings(added[len(added)-2:]), added[:len(added)-2])
				return w.b.c.Keys.Absent()
			}, "is not in the ledger", archive.Counts{}},
			"a workflow broken": {func(w *world, goal, _, _ string) string { return w.b.c.Keys.Workflow(goal) + " created_at" }, "field created_at", archive.Counts{}},
		} {
			w := newWorld(t, s)
			goal, _ := history(w)
			claim := blackboard.BiddingClaimID(goal)
			result := w.grantOf(claim, "a").ResultID
			key, field, broken := strings.Cut(damage.do(w, goal, result, claim), " ")
			if broken {
				w.raw("HSET", key, field, "\xff?")
				if strings.Contains(damage.says, "revision") {
					w.raw("HDEL", key, "revision")
				}
			} else {
				w.raw("DEL", key)
			}
			damaged(t, w, what, goal, damage.says, damage.counts)
			w.raw("FLUSHALL")
		}
	})
}

// sets changes a field of an artefact. It returns a key that does not exist.
func (w *world) sets(id, field, value string) string {
	w.Helper()
	w.raw("HSET", w.b.c.Keys.Artifact(id), field, value)
	return w.b.c.Keys.Absent()
}

// alters changes a field of a record. It returns a key that does not exist.
func (w *world) alters(key, field, value string) string {
	w.Helper()
	w.raw("HSET", key, field, value)
	return w.b.c.Keys.Absent()
}

// removeEntryOf removes the entry that stored an artefact from the ledger. It returns a key that does not exist.
// The server forgets that it was there, if it ever knew: removed entries are another fault.
func (w *world) removeEntryOf(id string) string {
	w.Helper()
	key := w.b.c.Keys.Events()
	for _, e := range w.events() {
		if e.Artefact == id && e.Attributes["sha256"] != "" {
			last, err := w.b.Ledger.Last(w.ctx)
			must(w, err)
			w.raw("XDEL", key, e.ID)
			if removed, err := w.b.Ledger.Removed(w.ctx); removed != nil {
				must(w, err)
				w.raw("XSETID", key, last, "ENTRIESADDED", w.raw("XLEN", key)[0], "MAXDELETEDID", "0-0")
			}
			return w.b.c.Keys.Absent()
		}
	}
	w.Fatalf("artefact %s is not in the ledger", id)
	return ""
}

// Each entry that stores an artefact has the digest of its fields, and no other entry has one.
func TestRecordDigests(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		history(w)
		digests := map[blackboard.EventKind]int{}
		for _, e := range w.events() {
			id := cmp.Or(e.Attributes[blackboard.AttributeResult], e.Artefact)
			want := ""
			if e.Attributes["sha256"] != "" {
				fields, err := w.b.c.Hash(w.ctx, "read artefact", w.b.c.Keys.Artifact(id))
				must(t, err)
				want = store.RecordOf(store.WholeArtefact(id, fields))
				digests[e.Kind]++
			}
			if got := e.Attributes["record"]; got != want {
				t.Errorf("entry %+v has the digest %q, want %q", e, got, want)
			}
		}
		if len(digests) < 8 {
			t.Errorf("only %v store artefacts", digests)
		}
	})
}

// What an index lacks is found by the ledger: the export has all of it, and names the index.
func TestExportUnlisted(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		ended, going := history(w)
		k, was := w.b.c.Keys, w.dump()
		for key, only := range map[string]string{
			k.Claims(): "", k.Artefacts(): "", k.ArtefactsByType(blackboard.TypeGoalDefined): "",
			k.ClaimsByWorkflow(ended): ended, k.ArtefactsByWorkflow(ended): ended, k.ClaimsByWorkflow(going): going, k.ArtefactsByWorkflow(going): going,
		} {
			before := w.export(only)
			ids, err := w.b.c.List(w.ctx, key, 0, -1)
			must(t, err)
			for _, left := range [][]string{nil, ids[len(ids)-1:], ids[:max(1, len(ids)-3)]} {
				w.raw("DEL", key)
				if len(left) > 0 {
					w.raw("RPUSH", append([]string{key}, left...)...)
				}
				after, broken := w.exportBroken(only)
				if name := strings.TrimPrefix(key, k.Prefix); len(broken) != 1 || !strings.Contains(broken[0], "index "+name+" lacks") {
					t.Errorf("%s: told of %q", name, broken)
				}
				to := fresh(t, otherKind(t))
				_, err := to.imports(after)
				must(t, err)
				slices.Sort(after)
				sorted := slices.Sorted(slices.Values(before))
				if len(after) != len(sorted) {
					t.Fatalf("%s: %d lines, and were %d", key, len(after), len(sorted))
				}
				for i, line := range after {
					if line != sorted[i] && !strings.HasPrefix(line, `{"kind":"header"`) && !strings.HasPrefix(line, `{"kind":"footer"`) {
						t.Errorf("%s: a line was\n%s\nand is\n%s", key, sorted[i], line)
					}
				}
				is := to.dump()
				for thread := range was {
					if _, ok := is[thread]; (ok || only == "") && strings.Contains(thread, ":thread:") && is[thread] != was[thread] {
						t.Errorf("%s: %s was %s and is %s", key, thread, was[thread], is[thread])
					}
				}
			}
			w.raw("DEL", key)
			w.raw("RPUSH", append([]string{key}, ids...)...)
		}
	})
}

// Many records of a board are lost, and its indexes with them: all are named, and the rest is exported.
func TestExportManyLost(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		goal, going := history(w)
		k, claim := w.b.c.Keys, blackboard.BiddingClaimID(goal)
		result := w.grantOf(claim, "a").ResultID
		second, third := blackboard.BiddingClaimID(result), blackboard.BiddingClaimID(going)
		rework := blackboard.ReworkClaimID(second)
		all, _ := w.exportBroken("")
		want := []string{result + " is not in the ledger", goal + " is not what", third + ": the bid of a is in"}
		for _, key := range []string{k.Claims(), k.Artefacts(), k.Claim(claim), k.Claim(rework), k.Bids(third), k.Bids(claim), k.Artifact(going)} {
			w.raw("DEL", key)
		}
		w.raw("HSET", k.Artifact(goal), "payload", "do xx")
		w.raw("RPUSH", k.Artefacts(), result)
		w.removeEntryOf(result)
		want = append(want, "claim "+claim+" is in the ledger and nowhere else", "claim "+rework+" is in the ledger and nowhere else",
			"artefact "+going+" is in the ledger and nowhere else", "index artefacts lacks", "index claims lacks")
		lines, broken := w.exportBroken("")
		for _, one := range want {
			if !slices.ContainsFunc(broken, func(s string) bool { return strings.Contains(s, one) }) {
				t.Errorf("nobody is told %q", one)
			}
		}
		if len(broken) != len(want) || len(lines) != len(all)-1 { // an entry
			t.Errorf("%d lines and were %d, told of %s", len(lines), len(all), strings.Join(broken, "\n"))
		}
		to := fresh(t, otherKind(t))
		_, err := to.imports(lines)
		must(t, err)
		again, _ := to.exportBroken("")
		for _, line := range lines[1 : len(lines)-1] {
			if !slices.Contains(again, line) { // the order is another one: goals are in that of their artefacts
				t.Errorf("lost is %s", line)
			}
		}
		to.goal()
	})
}

// A rework that nobody has begun is named by the end of the claim before it alone.
func TestExportLostRework(t *testing.T) {
	w := newWorld(t, startEmbedded(t))
	first := w.granted(blackboard.PhaseExclusive, "a")
	draft := w.finish(first, "a", blackboard.Standard, "Code", "draft")
	must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(first), ""))
	review := w.open(draft.ID, "r")
	must(t, w.bid(review, "r", blackboard.BidReview))
	w.grant(review, blackboard.PhaseReview, "r")
	said := w.finish(review, "r", blackboard.Review, "Review", "no")
	rework := blackboard.ReworkClaimID(review)
	must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(review), "feedback", nil, &blackboard.Rework{ClaimID: rework, Agent: "a", Context: []string{said.ID}}))
	w.raw("DEL", w.b.c.Keys.Claim(rework), w.b.c.Keys.Claims())
	lines, broken := w.exportBroken("")
	if len(broken) != 2 || !strings.Contains(broken[0], "claim "+rework+" is in the ledger and nowhere else") {
		t.Errorf("told of %q", broken)
	}
	if want := `"id":"` + rework + `","claim":{},"bids":[],"grants":{},"workflow_id":"` + draft.WorkflowID + `"`; !strings.Contains(strings.Join(lines, ""), want) {
		t.Errorf("no %s", want)
	}
}

// exportBroken exports what is there, and returns what was said of the rest.
func (w *world) exportBroken(goal string) (lines, broken []string) {
	w.Helper()
	var out bytes.Buffer
	_, err := archive.Export(w.ctx, w.b, &out, archive.ExportOptions{Goal: goal, Broken: func(err error) { broken = append(broken, err.Error()) }})
	must(w, err)
	return slices.Collect(strings.Lines(out.String())), broken
}

// damaged exports and imports a blackboard with one record that is not as it was.
func damaged(t *testing.T, w *world, what, goal, says string, lost archive.Counts) {
	t.Helper()
	if _, err := archive.Export(w.ctx, w.b, io.Discard, archive.ExportOptions{}); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: nobody is told, and it says %v", what, err)
	}
	for _, only := range []string{"", goal} {
		var out bytes.Buffer
		var broken []string
		counts, err := archive.Export(w.ctx, w.b, &out, archive.ExportOptions{Goal: only, Broken: func(err error) { broken = append(broken, err.Error()) }})
		must(t, err)
		if len(broken) != 1 || !strings.Contains(broken[0], says) || counts.Lost != lost.Lost {
			t.Errorf("%s: %d lost, told of %q", what, counts.Lost, broken)
		}
		to := fresh(t, otherKind(t))
		var altered []string
		imported, err := archive.Import(to.ctx, to.b, strings.NewReader(out.String()), archive.ImportOptions{Token: newID(), By: "ann",
			Source: "a file", Altered: func(err error) { altered = append(altered, err.Error()) }})
		if err != nil || imported != counts {
			t.Fatalf("%s: exported %+v, imported %+v: %v", what, counts, imported, err)
		}
		if compared := strings.HasPrefix(broken[0], "claim ") || strings.HasPrefix(broken[0], "workflow "); compared && strings.Contains(broken[0], " ledger") && !slices.Equal(altered, broken) {
			t.Errorf("%s: the export says %q, the import %q", what, broken, altered)
		}
		var again bytes.Buffer
		_, err = archive.Export(to.ctx, to.b, &again, archive.ExportOptions{Goal: only, Broken: func(error) {}})
		must(t, err)
		first, second := slices.Collect(strings.Lines(out.String())), slices.Collect(strings.Lines(again.String()))
		if more := sameLines(t, first, second); len(more) > 1 { // the import
			t.Errorf("%s: new are %s", what, more)
		}
		if only != "" {
			continue
		}
		// Who led to it through the lists still does; through other records, nobody.
		was, is := w.dump(), to.dump()
		for key := range was {
			if (strings.Contains(key, ":artefacts") || strings.Contains(key, ":claims") || strings.Contains(key, ":endings:")) &&
				!strings.Contains(key, ":artefacts:agent:") && was[key] != is[key] {
				t.Errorf("%s: %s was\n%s\nand is\n%s", what, key, was[key], is[key])
			}
		}
		to.goal()
	}
}

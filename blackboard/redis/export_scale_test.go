package redis

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/archive"
)

// writeMany writes an export of so many goals, each with a claim that is complete
// and a result.
func writeMany(w io.Writer, goals int) error {
	out := archive.NewLineWriter(w)
	start := time.UnixMilli(1_700_000_000_000).UTC()
	id := func(kind, n int) string {
		return blackboard.NewID(start.Add(time.Duration(n)*time.Millisecond), strings.NewReader(fmt.Sprintf("%d%09d", kind, n)))
	}
	at := func(n int) string {
		return strconv.FormatInt(start.Add(time.Duration(n)*time.Millisecond).UnixMicro(), 10)
	}
	payload := strings.Repeat("a line of text that somebody wrote\n", 30)
	sum := sha256.Sum256([]byte(payload))
	size, digest := archive.Exact(strconv.Itoa(len(payload))), archive.Exact(hex.EncodeToString(sum[:]))
	lines := []any{archive.HeaderLine{Kind: archive.LineHeader, Format: archive.Format, Schema: archive.Schema, Instance: "many", ExportedAt: start, Position: "1-1"}}
	write := func(kind string) error {
		for _, l := range lines {
			if err := out.Write(kind, l); err != nil {
				return err
			}
		}
		lines = lines[:0]
		return nil
	}
	kinds := []struct {
		kind string
		of   func(n int)
	}{
		{archive.LineArtefact, func(n int) {
			g := blackboard.Artefact{ID: id(0, n), LogicalID: id(0, n), Version: 1, StructuralType: blackboard.Standard,
				Type: blackboard.TypeGoalDefined, Payload: payload, ProducedByRole: "user", WorkflowID: id(0, n),
				CreatedAt: start.Add(time.Duration(n) * time.Millisecond)}
			r := g
			r.ID, r.LogicalID, r.StructuralType, r.Type, r.ClaimID = id(1, n), id(1, n), blackboard.Terminal, "Code", id(2, n)
			r.ProducedByAgent, r.ProducedByRole, r.SourceArtefacts = "writer", "writer", []string{g.ID}
			lines = append(lines, archive.ArtefactLine{Kind: archive.LineArtefact, Artefact: g}, archive.ArtefactLine{Kind: archive.LineArtefact, Artefact: r})
		}},
		{archive.LineClaim, func(n int) {
			lines = append(lines, archive.ClaimLine{Kind: archive.LineClaim, ID: id(2, n), Fields: archive.Fields{"id": archive.Exact(id(2, n)), "artefact_id": archive.Exact(id(0, n)), "status": "complete",
				"granted_review_agents": "[]", "granted_parallel_agents": "[]", "granted_exclusive_agent": "writer", "workflow_id": archive.Exact(id(0, n)),
				"origin": "artefact", "expected_bidders": `["writer"]`, "additional_context_ids": "[]", "revision": "5", "reason": "",
				"opened_at": archive.Exact(at(n)), "closed_at": archive.Exact(at(n)), "target_logical_id": archive.Exact(id(0, n)), "target_version": "1",
				"target_type": "GoalDefined", "target_agent": "", "target_role": "user"},
				Bids:   []blackboard.Bid{{Agent: "writer", Type: blackboard.BidExclusive}},
				Grants: archive.Fields{"writer": `{"attempt":1,"ended_at":"1","phase":"exclusive","queued_at":"1","started_at":"1","state":"done"}`}})
		}},
		{archive.LineWorkflow, func(n int) {
			lines = append(lines, archive.WorkflowLine{Kind: archive.LineWorkflow, ID: id(0, n), Fields: archive.Fields{"id": archive.Exact(id(0, n)), "status": "achieved", "created_at": archive.Exact(at(n)),
				"ended_at": archive.Exact(at(n)), "outstanding": "0", "terminals": "1", "terminal_id": archive.Exact(id(1, n))}})
		}},
		{archive.LineEvent, func(n int) {
			for i, e := range []archive.Fields{
				{"kind": "goal", "artefact": archive.Exact(id(0, n)), "size": size, "sha256": digest}, {"kind": "open", "claim": archive.Exact(id(2, n))},
				{"kind": "bid", "agent": "writer"}, {"kind": "grant", "agent": "writer"}, {"kind": "start", "agent": "writer"},
				{"kind": "result", "artefact": archive.Exact(id(1, n)), "size": size, "sha256": digest}, {"kind": "complete", "claim": archive.Exact(id(2, n)), "workflow_status": "achieved"},
			} {
				e["workflow"] = archive.Exact(id(0, n))
				lines = append(lines, archive.EventLine{Kind: archive.LineEvent, ID: fmt.Sprintf("%d-%d", start.UnixMilli()+int64(n), i), Fields: e})
			}
		}},
	}
	if err := write(archive.LineHeader); err != nil {
		return err
	}
	for _, k := range kinds {
		for n := range goals {
			k.of(n)
			if err := write(k.kind); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

// compareLines compares two exports but for the first lines and what the second has
// more at its end.
func compareLines(t *testing.T, first, second io.Reader) {
	t.Helper()
	a, b := bufio.NewScanner(first), bufio.NewScanner(second)
	a.Scan()
	b.Scan()
	n := 1
	for a.Scan() && !strings.HasPrefix(a.Text(), `{"kind":"footer"`) {
		if n++; !b.Scan() || a.Text() != b.Text() {
			t.Fatalf("line %d was %.200s and is %.200s", n, a.Text(), b.Text())
		}
	}
	if n < 1000 {
		t.Errorf("%d lines", n)
	}
}

// Thousands of artefacts go in and come out as they went in; fewer on the embedded
// server, which is slower at it.
func TestExportMany(t *testing.T) {
	onTwo(t, func(t *testing.T, s *server) {
		goals := 1200
		if strings.HasSuffix(t.Name(), "embedded") {
			goals = 400
		}
		w := fresh(t, s).patient()
		from, to := io.Pipe()
		go func() { _ = to.CloseWithError(writeMany(to, goals)) }()
		started := time.Now()
		counts, err := archive.Import(w.ctx, w.b, from, archive.ImportOptions{Token: newID(), By: "ann"})
		must(t, err)
		t.Logf("imported %+v in %s", counts, time.Since(started))
		started = time.Now()
		var out strings.Builder
		got, err := archive.Export(w.ctx, w.b, &out, archive.ExportOptions{})
		must(t, err)
		t.Logf("exported in %s", time.Since(started))
		if counts.Artefacts != 2*goals || got.Artefacts != 2*goals || got.Events != counts.Events+1 {
			t.Errorf("imported %+v, exported %+v", counts, got)
		}
		first, again := io.Pipe()
		go func() { _ = again.CloseWithError(writeMany(again, goals)) }()
		compareLines(t, first, strings.NewReader(out.String()))
	})
}

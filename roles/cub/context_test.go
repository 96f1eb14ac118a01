package cub

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// keeps is a tool that keeps its stdin and its goal, and works.
const keeps = `cat >stdin$SETT_ATTEMPT; printf '%s %s' "$SETT_GOAL_ID" "$SETT_GOAL" >goal; echo '` + good + `'`

// read returns the input that a tool kept.
func read(t *testing.T, path string) (in struct {
	Chain []blackboard.Artefact `json:"context_chain"`
	Retry struct {
		FailureID string `json:"failure_id"`
		Why       string `json:"why"`
	} `json:"retry"`
}) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &in)
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestJoinerSeesThePieces: the exclusive grant has the results of its claim's parallel phase in
// its context, and names them as sources.
func TestJoinerSeesThePieces(t *testing.T) {
	onBoth(t, func(c *clan) {
		for _, agent := range []string{"left", "right"} {
			c.start(agent, vars{env.Command: says(`{"artefact_type":"Piece","artefact_payload":"of ` + agent + `"}`)})
		}
		joiner := c.start("joiner", vars{env.Command: shell(keeps)})
		goal := c.goal("add up")
		claim := c.open(goal.ID, somebody)
		c.grant(claim, blackboard.PhaseParallel, "right", "left")
		pieces := []string{c.result(claim, "left").ID, c.result(claim, "right").ID}
		c.grant(claim, blackboard.PhaseExclusive, "joiner")
		sum := c.result(claim, "joiner")
		if want := append([]string{goal.ID}, pieces...); len(sum.SourceArtefacts) != 3 || !slices.Equal(sorted(sum.SourceArtefacts), sorted(want)) {
			c.t.Errorf("the sum comes from %v, want %v", sum.SourceArtefacts, want)
		}
		var seen []string
		for _, a := range read(c.t.(*testing.T), filepath.Join(joiner.dir, "stdin1")).Chain {
			seen = append(seen, a.ID)
			if a.Type != "Piece" || a.Payload == "" {
				c.t.Errorf("in the context: %+v", a)
			}
		}
		if !slices.Equal(sorted(seen), sorted(pieces)) {
			c.t.Errorf("the joiner sees %v, want %v", seen, pieces)
		}
		if got, err := os.ReadFile(filepath.Join(joiner.dir, "goal")); err != nil || string(got) != goal.ID+" add up" {
			c.t.Errorf("its goal: %q %v", got, err)
		}
	})
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

// TestRetrySeesTheFailure: the attempt that a person asks for has the Failure before it and
// the person's words, also when its cub dies.
func TestRetrySeesTheFailure(t *testing.T) {
	onBoth(t, func(c *clan) {
		r := c.start("worker", vars{env.Command: shell(`cat >stdin$SETT_ATTEMPT; [ $SETT_ATTEMPT -gt 1 ] && echo '` + good + `'`)})
		first := c.work("worker", blackboard.PhaseExclusive, "goal")
		failure := c.result(first, "worker")
		c.terminate(first, "worker failed", nil)
		again := newID()
		must(c.t, c.board.People.Retry(c.ctx, first, again, "ann", "the disk is empty now"))
		a := c.result(again, "worker")
		if a.StructuralType != blackboard.Standard {
			c.t.Fatalf("it made %+v", a)
		}
		in := read(c.t.(*testing.T), filepath.Join(r.dir, "stdin2"))
		if len(in.Chain) != 1 || in.Chain[0].ID != failure.ID || in.Chain[0].StructuralType != blackboard.Failure {
			c.t.Errorf("the context: %+v", in.Chain)
		}
		if in.Retry.FailureID != failure.ID || in.Retry.Why != "the disk is empty now" {
			c.t.Errorf("retry: %+v", in.Retry)
		}
		if g := c.await(again, "worker", blackboard.GrantDone); g.Attempt != 2 {
			c.t.Errorf("attempt %d", g.Attempt)
		}
		if old := read(c.t.(*testing.T), filepath.Join(r.dir, "stdin1")); old.Retry.FailureID != "" || len(old.Chain) != 0 {
			c.t.Errorf("the first attempt read %+v", old)
		}
	})
}

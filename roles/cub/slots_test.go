package cub

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// slotted says when it runs, in a file by its slot and claim, and ends when its claim is let
// go, or all are.
const slotted = `cat >/dev/null; cd .. && echo "$$ $OLDPWD $SETT_WORKSPACE $SETT_SLOT $SETT_SLOTS ${SETT_AGENT_SLOTS-unset}" >tool.$SETT_CLAIM_ID
until test -e end || test -e end.$SETT_CLAIM_ID; do sleep 0.02; done
echo '` + good + `'`

// startSlots starts a cub that runs so many grants at once. Its workspace has the slots'.
func (c *clan) startSlots(n int, more vars) *running {
	c.t.Helper()
	dir := c.t.TempDir()
	all := make([]env.Slot, n)
	for i := range all {
		all[i].Workspace = filepath.Join(dir, strconv.Itoa(i+1))
		must(c.t, os.MkdirAll(all[i].Workspace, 0o700))
	}
	text, err := json.Marshal(all)
	must(c.t, err)
	v := vars{env.Command: shell(slotted), env.Workspace: dir, env.Slots: string(text)}
	for name, value := range more {
		v[name] = value
	}
	return c.start("worker", v)
}

// inSlot waits until the tool of a claim runs, and returns its words.
func (r *running) inSlot(claim string) (said []string) {
	r.t.Helper()
	until(r.t, "the tool of "+claim+" runs", func() bool {
		b, _ := os.ReadFile(filepath.Join(r.dir, "tool."+claim))
		said = strings.Fields(string(b))
		return strings.HasSuffix(string(b), "\n")
	})
	return said
}

// let lets the tool of a claim end; empty: all tools.
func (r *running) let(claim string) {
	r.t.Helper()
	must(r.t, os.WriteFile(strings.TrimSuffix(filepath.Join(r.dir, "end."+claim), "."), nil, 0o600))
}

// works grants so many claims.
func (c *clan) works(n int) (claims []string) {
	c.t.Helper()
	for range n {
		claims = append(claims, c.work("worker", blackboard.PhaseExclusive, "goal"))
	}
	return claims
}

// Grants fill the slots, each with a directory and a number of its own; the next one waits
// for one that ends.
func TestSlotsRunGrantsAtOnce(t *testing.T) {
	onBoth(t, func(c *clan) {
		r := c.startSlots(3, nil)
		claims := c.works(3)
		var numbers []string
		for _, claim := range claims {
			said := r.inSlot(claim)
			dir := filepath.Join(r.dir, said[3])
			if said[1] != dir || said[2] != dir || said[4] != "3" || said[5] != "unset" {
				c.t.Errorf("a tool says %q", said)
			}
			numbers = append(numbers, said[3])
			if all := r.log.find(c.t, "tool starting", "claim", claim); len(all) != 1 || strconv.Itoa(int(all[0]["slot"].(float64))) != said[3] {
				c.t.Errorf("logged %v", all)
			}
		}
		slices.Sort(numbers)
		if !slices.Equal(numbers, []string{"1", "2", "3"}) {
			c.t.Errorf("slots %q", numbers)
		}
		if all, err := c.board.Roster.Running(c.ctx); err != nil || len(all) != 3 {
			c.t.Errorf("running %v, error %v", all, err)
		}
		claims = append(claims, c.works(1)...)
		if g := c.await(claims[3], "worker", blackboard.GrantQueued); g.Attempt != 1 {
			c.t.Errorf("grant %+v", g)
		}
		r.let(claims[1])
		if a, b := r.inSlot(claims[3]), r.inSlot(claims[1]); a[3] != b[3] {
			c.t.Errorf("the next one runs in slot %s, and slot %s is free", a[3], b[3])
		}
		r.let("")
		for _, claim := range claims {
			if a := c.result(claim, "worker"); a.Payload != "done" {
				c.t.Errorf("got %+v", a)
			}
		}
	})
}

// Each grant has its own timeout, and its own cancellation; the others go on.
func TestSlotsEndOneByOne(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.startSlots(3, vars{env.Timeout: "5s"})
	claims := c.works(2)
	r.inSlot(claims[0])
	pid, err := strconv.Atoi(r.inSlot(claims[1])[0])
	must(t, err)
	c.terminate(claims[1], "test", nil)
	until(t, "the cancelled tool has ended", func() bool { return dead(pid) })
	a, report := c.failure(claims[0], "worker")
	if !report.TimedOut {
		t.Errorf("got %+v", a)
	}
	last := c.works(1)[0]
	r.inSlot(last)
	r.let("")
	if a := c.result(last, "worker"); a.Payload != "done" {
		t.Errorf("got %+v", a)
	}
}

// A claim is in one slot at most, however often its notice comes; one that came while it
// ran is looked at again.
func TestSlotsTakeAClaimOnce(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	idle := c.idle("worker", vars{env.Slots: `[{"workspace":"/1"},{"workspace":"/2"}]`})
	crew := idle.crew
	idle.granted("A")
	idle.granted("B")
	if got := crew.take(); got != "A" {
		t.Fatalf("took %q", got)
	}
	idle.granted("A") // it is just being started: no slot runs it yet
	if got := crew.take(); got != "B" {
		t.Errorf("took %q", got)
	}
	if got := crew.take(); got != "" {
		t.Errorf("took %q, which a slot has", got)
	}
	crew.leave("B")
	if got := crew.take(); got != "" {
		t.Errorf("took %q, of which nothing was heard", got)
	}
	crew.leave("A")
	if got := crew.take(); got != "A" {
		t.Errorf("took %q", got)
	}
}

// Each tool may finish when the cub is told to stop, and all are handed back when the grace
// is over.
func TestSlotsStop(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.startSlots(3, vars{env.Grace: "1m"})
	claims := c.works(3)
	for _, claim := range claims {
		r.inSlot(claim)
	}
	r.stop()
	for _, claim := range claims {
		r.log.await(t, "stopping: the running tool may finish", "claim", claim)
	}
	next := c.works(1)[0]
	r.let(claims[0])
	if a := c.result(claims[0], "worker"); a.Payload != "done" {
		t.Errorf("got %+v", a)
	}
	r.hurry()
	must(t, r.end())
	for i, claim := range append(claims[1:], next) {
		attempt := 2
		if i == 2 {
			attempt = 1
		}
		if g := c.await(claim, "worker", blackboard.GrantQueued); g.Attempt != attempt || g.Crashes != 0 {
			t.Errorf("grant %+v", g)
		}
	}
}

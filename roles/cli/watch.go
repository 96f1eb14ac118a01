package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type watchCmd struct {
	Since    string `placeholder:"WHEN" help:"Begin with what happened since then: a duration (10m), a time (15:04), or all. Default: from now on."`
	Workflow string `placeholder:"ID" help:"Only what belongs to this goal; @last is the newest."`
	Output   string `short:"o" enum:"text,jsonl" default:"text" placeholder:"FORMAT" help:"How to print: text or jsonl, one object per line."`
}

// Help is shown by `sett watch --help`.
func (watchCmd) Help() string {
	return `Shows the ledger: what happened, and then what happens, one line per change, until
Ctrl-C. Columns: time, goal, kind of event, who, what.

Kinds: goal posted; claim opened; bid; grant; start of work; wait for the workspace;
result; requeue; answer; complete and terminate of a claim; refuse of one; restore of
the working tree; agent, leader and instance coming and going.

Examples:
  sett watch                          from now on
  sett watch --since 1h               the last hour, then live
  sett watch --since all -o jsonl     everything, for programs
  sett watch --workflow @last         the newest goal only`
}

// Run follows the ledger until the user has seen enough.
func (c *watchCmd) Run(a *app) error {
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	v := a.ledgerView(b, in, a.Stdout)
	v.lines = c.Output == "jsonl"
	if c.Workflow != "" {
		if v.workflow, err = a.resolveWorkflow(a.ctx, b, c.Workflow); err != nil {
			return err
		}
	}
	from, err := c.position(a, b)
	if err != nil {
		return err
	}
	err = v.follow(a.ctx, from, func(blackboard.Event) error { return nil })
	if a.ctx.Err() != nil {
		return nil // it has no end of its own
	}
	return err
}

func (c *watchCmd) position(a *app, b *redis.Board) (string, error) {
	switch c.Since {
	case "":
		return b.Last(a.ctx)
	case "all":
		return redis.Beginning, nil
	}
	t, err := a.parseSince(c.Since)
	return redis.PositionAt(t), err
}

// ledgerView shows entries of the ledger as they are followed.
type ledgerView struct {
	a        *app // its colour is that of out
	board    *redis.Board
	out      io.Writer
	width    int    // of the column with names
	workflow string // only this one; empty: all
	lines    bool   // one JSON object per entry instead of text
	brief    bool   // leave out what hardly matters
	lost     atomic.Bool
}

func (a *app) ledgerView(b *redis.Board, in *instance, out io.Writer) *ledgerView {
	own := *a
	own.colour = coloured(a.Env, out)
	v := &ledgerView{a: &own, board: b, out: out, width: len(theOrchestrator)}
	if c, err := in.config(); err == nil {
		for _, name := range c.Names() {
			v.width = min(max(v.width, len(name)), 24)
		}
	}
	return v
}

// follow shows every entry after a position and hands it on, until the context
// ends or then returns an error. That the blackboard is gone for a while ends
// nothing; it is said on stderr.
func (v *ledgerView) follow(ctx context.Context, from string, then func(blackboard.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A read that waits for entries outlasts short interruptions in silence, and
	// the end of its context for a while. The subscription notices both at once.
	go func() {
		_ = v.board.Subscribe(ctx, []redis.Channel{redis.OrchestratorEvents}, v.back, func(redis.Channel, string) {},
			func(err error) { v.gone(ctx, err) })
	}()
	ended := make(chan error, 1)
	go func() {
		ended <- v.board.Follow(ctx, from, func(e blackboard.Event) error {
			if ctx.Err() != nil || v.workflow != "" && e.Workflow != v.workflow {
				return ctx.Err()
			}
			if err := v.show(ctx, e); err != nil {
				return err
			}
			return then(e)
		}, func(err error) { v.gone(ctx, err) })
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gone says that the blackboard is lost, and back that it is back; once each.
func (v *ledgerView) gone(ctx context.Context, err error) {
	if ctx.Err() == nil && !v.lost.Swap(true) {
		v.a.sayf("sett: blackboard lost, waiting for it: %s\n", clean(strings.ReplaceAll(err.Error(), "\n", ": ")))
	}
}

func (v *ledgerView) back() {
	if v.lost.Swap(false) {
		v.a.sayf("sett: blackboard is back\n")
	}
}

func (v *ledgerView) show(ctx context.Context, e blackboard.Event) error {
	if v.lines {
		return writeJSON(v.out, e, "")
	}
	if v.brief && minor(e) {
		return nil
	}
	l := describe(e, v.artefact(ctx, e))
	_, err := fmt.Fprintf(v.out, "%s  %-*s  %s  %-*s  %s\n", v.a.paint(v.a.clock(e.Time), dim), blackboard.ShortIDLength,
		orDash(short(e.Workflow)), v.a.paint(fmt.Sprintf("%-9s", l.Kind), kindStyle(l)), v.width, shorten(orDash(l.Agent), v.width), v.a.paint(l.What, l.As))
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// minor says whether an entry may be left out where people only want the story:
// an agent that ignores a claim as its rules say, and not for any trouble.
func minor(e blackboard.Event) bool {
	byRule := e.Reason == "" || e.Reason == "its own work"
	return e.Kind == blackboard.EventBid && e.To == string(blackboard.BidIgnore) && byRule
}

// kindStyle lets the kinds stand out from what they are about.
func kindStyle(l eventLine) style {
	if l.As == plain {
		return accent
	}
	return l.As
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// maxShown is up to which size, in bytes, an artefact is read for one line about
// it.
const maxShown = 64 << 10

// artefact reads the artefact that an entry is about, when a line about it needs
// it; nil otherwise, and when it cannot be read.
func (v *ledgerView) artefact(ctx context.Context, e blackboard.Event) *blackboard.Artefact {
	if e.Kind != blackboard.EventGoal && e.Kind != blackboard.EventResult || e.Artefact == "" {
		return nil
	}
	if size, err := strconv.Atoi(e.Attributes["size"]); err != nil || size > maxShown {
		return nil
	}
	a, err := v.board.Artefact(ctx, e.Artefact)
	if err != nil {
		return nil
	}
	return &a
}

// interrupted is how a command ends that the user stopped before its end.
func interrupted(text string) error {
	return role.Fail(role.Interrupted, errors.New(text), "")
}

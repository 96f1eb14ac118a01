package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type watchCmd struct {
	Since    string        `placeholder:"WHEN" help:"Begin with what happened since then: a duration (10m), a time (15:04), or all. Default: from now on."`
	Workflow string        `placeholder:"ID" help:"Only what belongs to this goal; @last is the newest."`
	Waits    bool          `help:"For programs: also say what is waited for. People are told in any case."`
	Exit     bool          `name:"exit-when-done" help:"End when no work is outstanding any more: of the goal of --workflow, else of any."`
	Timeout  time.Duration `placeholder:"DURATION" help:"With --exit-when-done: no longer than this (default: for ever)."`
	outputs
}

// Help is shown by `sett watch --help`.
func (watchCmd) Help() string {
	return `Shows the ledger: what happened, and then what happens, one line per change, until
Ctrl-C. Columns: time, goal, kind of event, who, what.

Kinds:
  goal                         one was posted
  open, refuse                 a claim was opened on an artefact, or none is (a limit)
  bid, grant, assign           an agent bid; a phase was granted; a worker was given its claim
  start, wait, restore         work began; it waits for the working tree, which was put back
  result, requeue              an agent's work ended, or goes back to its queue
  complete, terminate          a claim ended
  answer, approve, reject, review, cancel, retry, import      what people do
  agent, leader, instance      who comes and goes
  policy                       other types wait for approval

While nothing happens and work is open, lines of kind waits say what for (see sett list
--help): after two seconds, and then whenever that changes. They are not in the ledger.
Programs get them with --waits only: as objects with time, kind (waits), workflow_id, waits
(all there are then, with the fields that sett list -v has) and waits_more.

It has no end of its own, so json prints one object after another and yaml one document
after another; jsonl is one object per line.

With --exit-when-done it ends once there is nothing left to do, or at once when nothing
is, after what --since asks for. For a goal the exit code says how that ended, as with
forage --wait: 0 achieved, 1 failed, 5 only a person can go on, 6 it ended without a
Terminal. Without --workflow it is 5 when all that is left waits for people, 1 when a
goal failed in what was shown and was not tried again, else 0. After --timeout it is 4.

Examples:
  sett watch                          from now on
  sett watch --since 1h               the last hour, then live
  sett watch --since all -o jsonl     everything, for programs
  sett watch --workflow @last         the newest goal only
  sett watch --exit-when-done         until everything is done`
}

// Run follows the ledger until the user has seen enough.
func (c *watchCmd) Run(a *app) error {
	if c.Timeout < 0 || c.Timeout > 0 && !c.Exit {
		return role.Fail(role.Usage, errors.New("--timeout is how long --exit-when-done may take"), "sett watch --exit-when-done --timeout 10m")
	}
	ctx, cancel := bounded(a.ctx, c.Timeout, nil)
	defer cancel()
	b, in, done, err := a.boardWithin(c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	v := a.ledgerView(b, in, a.Stdout)
	v.form, v.waits = c.outputs, c.Waits || c.forPeople()
	if c.Workflow != "" {
		if v.workflow, err = a.resolveWorkflow(a.ctx, b, c.Workflow); err != nil {
			return err
		}
	}
	from, err := c.position(a, b)
	if err != nil {
		return err
	}
	if !c.Exit {
		err = v.follow(ctx, from, nil)
		if a.ctx.Err() != nil {
			return nil // it has no end of its own
		}
		return err
	}
	end, err := v.toEnd(ctx, from)
	if err != nil && ctx.Err() != nil && a.ctx.Err() == nil {
		return a.notEnough(b, in, v.workflow, c.Timeout)
	}
	if err != nil {
		return err // an interrupt is one: there was an end to wait for
	}
	return end
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
	in       *instance
	out      io.Writer
	width    int    // of the column with names
	workflow string // only this one; empty: all
	form     outputs
	brief    bool // leave out what hardly matters
	waits    bool // tell what is waited for while nothing happens

	onlyWaits bool // and show no entry

	mu      sync.Mutex    // of out
	stirred chan struct{} // something has happened
}

func (a *app) ledgerView(b *redis.Board, in *instance, out io.Writer) *ledgerView {
	own := *a
	own.colour = coloured(a.Env, a.flags.Color, out)
	v := &ledgerView{a: &own, board: b, in: in, out: out, form: outputs{"table"}, width: len(theOrchestrator), stirred: make(chan struct{}, 1)}
	if c, err := in.config(); err == nil {
		for _, name := range c.Names() {
			v.width = min(max(v.width, len(name)), 24)
		}
	}
	return v
}

// follow shows the entries after a position, until the context ends or each returns
// an error. It hands on every entry, also those that are not shown; nil: nobody
// wants them.
func (v *ledgerView) follow(ctx context.Context, from string, each func(blackboard.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		v.mu.Lock() // what is being told is told
		defer v.mu.Unlock()
	}()
	if v.waits {
		go v.tellWaits(ctx)
	}
	f := &ledgerFollower{a: v.a, board: v.board}
	return f.follow(ctx, from, func(e blackboard.Event) error {
		if v.workflow == "" || e.Workflow == v.workflow {
			v.stir()
			if err := v.show(ctx, e); err != nil {
				return err
			}
		}
		if each == nil {
			return nil
		}
		return each(e)
	})
}

// stir says that something has happened.
func (v *ledgerView) stir() {
	select {
	case v.stirred <- struct{}{}:
	default:
	}
}

func (v *ledgerView) show(ctx context.Context, e blackboard.Event) error {
	if v.onlyWaits {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.form.entry(v.out, e, func() error { return v.line(ctx, e) })
}

// line shows an entry to people.
func (v *ledgerView) line(ctx context.Context, e blackboard.Event) error {
	if v.brief && minor(e) {
		return nil
	}
	l := describe(e, v.artefact(ctx, e))
	return v.row(e.Time, e.Workflow, string(l.Kind), kindStyle(l), l.Agent, v.a.paint(l.What, l.As))
}

// row prints a line: time, goal, kind, who, what.
func (v *ledgerView) row(at time.Time, workflow, kind string, as style, who, what string) error {
	_, err := fmt.Fprintf(v.out, "%s  %-*s  %s  %-*s  %s\n", v.a.paint(v.a.clock(at), dim), blackboard.ShortIDLength,
		orDash(short(workflow)), v.a.paint(fmt.Sprintf("%-9s", kind), as), v.width, shorten(orDash(clean(who)), v.width), what)
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
	id := aboutOf(e)
	if id == "" {
		return nil
	}
	if size, err := strconv.Atoi(e.Attributes["size"]); err != nil || size > maxShown {
		return nil
	}
	a, err := v.board.Artefact(ctx, id)
	if err != nil {
		return nil
	}
	return &a
}

// interrupted is how a command ends that the user stopped before its end.
func interrupted(text string) error {
	return role.Fail(role.Interrupted, errors.New(text), "")
}

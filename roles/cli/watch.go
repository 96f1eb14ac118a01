package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"regexp"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/live"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// historyPage is how many entries of the past are read at once.
const historyPage = 500

type watchCmd struct {
	Since    string        `placeholder:"WHEN" help:"Begin with what happened since then: a duration (10m), a time (15:04), the id of an entry (1764150000000-0), which is not repeated, or all. Default: from now on."`
	Workflow string        `placeholder:"ID" help:"Only what belongs to this goal; @last is the newest."`
	Type     string        `placeholder:"TYPE" help:"Only entries that name an artefact of this type, or of a type that fits a pattern, such as 'Code*'."`
	Agent    string        `placeholder:"NAME" help:"Only entries of this agent."`
	Until    string        `placeholder:"WHEN" help:"End with the last entry before then: a duration ago (10m) or a time (15:04). Default: never."`
	Waits    bool          `help:"For programs: also say what is waited for. People are told in any case."`
	Exit     bool          `name:"exit-when-done" help:"End when no work is outstanding any more: of the goal of --workflow, else of any."`
	Timeout  time.Duration `placeholder:"DURATION" help:"With --exit-when-done: no longer than this (default: for ever)."`
	term.Form
}

// Help is shown by `sett watch --help`.
func (watchCmd) Help() string {
	return `Shows the ledger: what happened, and then what happens, one line per change, until
Ctrl-C. Columns: time, goal, kind of event, who, what.

Kinds:
  goal                  a goal was posted
  open, refuse          a claim was opened on an artefact, or a limit forbade it
  bid, grant, assign    an agent bid; a phase was granted, or given to a worker
  start, wait, restore  work began; it waits for the tree; the tree was reset
  result, requeue       an agent's work ended, or goes back to its queue
  complete, terminate   a claim ended
  landing               a goal's result came nearer to its branch
  conflict              commits contradict each other; work waits for that, or goes on
  answer, approve, reject, review, cancel, retry, import
                        a person did this
  agent, leader         an agent or a leader came or went
  instance, policy      the instance or the types to approve changed

While nothing happens and work is open, lines of kind waits say what for (see sett list
--help): after two seconds, and then whenever that changes. They are not in the ledger.
Programs get them with --waits only: as objects with time, kind (waits), workflow_id, waits
(all there are then, with the fields that sett list -v has) and waits_more.

It has no end of its own, so json prints one object after another and yaml one document
after another; jsonl is one object per line.

On a terminal, questions and gates of the goal of --workflow are asked right there, and
following goes on. An empty line leaves one open.

With --exit-when-done it ends once there is nothing left to do, or at once when nothing
is, after what --since asks for. For a goal the exit code says how that ended, as with
forage --wait: 0 achieved, 1 failed, 5 it waits for a person, 6 it ended without a
Terminal, 8 a budget ended it. Without --workflow it is 5 when all that is left waits for people, 1 when a
goal failed in what was shown and was not tried again, else 0. After --timeout it is 4.

Examples:
  sett watch                          from now on
  sett watch --since 1h               the last hour, then live
  sett watch --since all -o jsonl     everything, for programs
  sett watch --since 1764150000000-0 -o jsonl
  sett watch --workflow @last         the newest goal only
  sett watch --since 2h --until 1h    one hour of the past
  sett watch --type 'Code*' --agent writer
  sett watch --exit-when-done         until everything is done`
}

// Run follows the ledger until the user has seen enough.
func (c *watchCmd) Run(a *app) error {
	if c.Timeout > 0 && !c.Exit {
		return role.Fail(role.Usage, errors.New("--timeout is how long --exit-when-done may take"), "sett watch --exit-when-done --timeout 10m")
	}
	if c.Until != "" && c.Exit {
		return role.Fail(role.Usage, errors.New("--until and --exit-when-done are two ends"), "use one of them")
	}
	ctx, cancel := role.WithLimit(a.ctx, c.Timeout, nil)
	defer cancel()
	b, in, done, err := a.at.BoardWithin(a.ctx, c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	v := a.ledgerView(b, in, a.Stdout)
	v.form, v.waits = c.Form, c.Waits || c.ForPeople()
	v.atTerminal()
	if c.Workflow != "" {
		goal, err := a.resolveWorkflow(a.ctx, b, c.Workflow)
		if err != nil {
			return err
		}
		v.of(goal)
	}
	if v.agent = c.Agent; c.Agent != "" {
		if err := knownAgent(a, b, in, c.Agent); err != nil {
			return err
		}
	}
	v.artefactType = c.Type
	if c.ForPeople() && c.Until == "" && role.IsTerminal(a.Stdout) {
		v.asks = askerFor(a, b, in, v.workflow)
	}
	from, err := c.position(a, b)
	if err != nil {
		return err
	}
	if c.Until != "" {
		return c.toTime(ctx, a, v, from)
	}
	if !c.Exit {
		if err = v.ask(ctx); err == nil {
			err = v.follow(ctx, from, nil)
		}
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

// toTime shows the entries after a position that are not younger than --until. Where
// that time is still to come, it follows the ledger until then.
func (c *watchCmd) toTime(ctx context.Context, a *app, v *ledgerView, from string) error {
	until, err := a.When("--until", c.Until)
	if err != nil {
		return err
	}
	for {
		page, err := v.board.Ledger.History(ctx, from, historyPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.Time.After(until) {
				return nil
			}
			if from = e.ID; v.wants(e) {
				if err := v.show(ctx, e); err != nil {
					return err
				}
			}
		}
		if len(page) < historyPage {
			break
		}
	}
	left := until.Sub(a.Now())
	if left <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	if err := v.follow(ctx, from, nil); ctx.Err() == nil {
		return err
	}
	return nil
}

func (c *watchCmd) position(a *app, b *instance.Board) (string, error) {
	switch c.Since {
	case "":
		return b.Ledger.Last(a.ctx)
	case "all":
		return blackboard.Beginning, nil
	}
	if entryID().MatchString(c.Since) {
		return c.Since, nil
	}
	t, err := a.Since(c.Since)
	return blackboard.PositionAt(t), err
}

// entryID is the form of the ids of the ledger's entries.
var entryID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]{10,20}-[0-9]{1,20}$`)
})

// ledgerView shows entries of the ledger as they are followed.
type ledgerView struct {
	a        *app // its colour is that of out
	board    *instance.Board
	in       *instance.Instance
	out      io.Writer
	width    int      // of the column with names
	agents   []string // all that the instance has
	workflow string   // only this one; empty: all
	agent    string   // only this agent's entries; empty: all
	form     term.Form
	brief    bool   // leave out bids that follow the rules
	waits    bool   // name the waits while nothing happens
	logs     bool   // show what the goal's tools say
	asks     *asker // asks the person at the terminal; nil: nobody

	onlyWaits    bool   // and show no entry
	artefactType string // a pattern: only entries that name an artefact of such a type; empty: all

	screen *live.Screen // out, where it is a terminal and people read it; nil: it is not
	fold   live.Folder

	mu      sync.Mutex    // of out
	stirred chan struct{} // something has happened

	follower *ledger.Follower
}

func (a *app) ledgerView(b *instance.Board, in *instance.Instance, out io.Writer) *ledgerView {
	own := *a
	own.Colour = term.Coloured(a.Env, a.flags.Color, out)
	v := &ledgerView{a: &own, board: b, in: in, out: out, form: term.Form{Output: "table"}, width: len(blackboard.RoleOrchestrator), stirred: make(chan struct{}, 1)}
	v.follower = ledger.NewFollower(a.at, &own.Terminal, in, b)
	if c, err := in.Config(); err == nil {
		for _, name := range c.Names() {
			v.width = min(max(v.width, len(name)), 24)
		}
		v.agents = c.Names()
	}
	return v
}

// of has the view show one goal alone.
func (v *ledgerView) of(goal string) { v.workflow, v.follower.Goal = goal, goal }

// atTerminal has the view drawn on a screen, where its output is a terminal and people
// read it. Messages go above the screen's bottom, too.
func (v *ledgerView) atTerminal() {
	if !v.form.ForPeople() || !role.IsTerminal(v.out) {
		return
	}
	v.screen = live.NewScreen(v.out, v.a.Getenv("TERM") == "dumb")
	if role.IsTerminal(v.a.Stderr) {
		v.a.Stderr = v.screen
	}
}

// follow shows the entries after a position, until the context ends or each returns
// an error. each gets every entry, also those that are not shown; it may be nil.
func (v *ledgerView) follow(ctx context.Context, from string, each func(blackboard.Event) error) (err error) {
	around, cancel := context.WithCancel(ctx)
	defer func() {
		if v.logs && errors.Is(err, errOver) {
			v.lastWords(around)
		}
		cancel()
		v.mu.Lock() // a line that is being written is finished
		defer v.mu.Unlock()
		v.screen.Hold()
		if err == nil || errors.Is(err, errOver) {
			err = cmp.Or(v.due(0), err)
		}
	}()
	v.beside(around)
	ctx, lost := context.WithCancelCause(around)
	defer lost(nil)
	go v.guard(ctx, lost)
	err = v.follower.Follow(ctx, from, func(e blackboard.Event) error {
		if v.wants(e) {
			v.stir()
			if err := v.show(ctx, e); err != nil {
				return err
			}
		}
		if v.asks != nil && e.CallsPerson() && e.Workflow == v.workflow {
			if err := v.ask(ctx); err != nil {
				return err
			}
		}
		if each == nil {
			return nil
		}
		return each(e)
	})
	if lost := (*role.Error)(nil); errors.As(context.Cause(ctx), &lost) {
		return lost // by the guard
	}
	return err
}

// beside starts all that is shown beside the ledger, until the context ends.
func (v *ledgerView) beside(ctx context.Context) {
	v.screen.Release()
	redrawn := v.screen != nil && !v.screen.Still()
	go v.tellLead(ctx)
	heard := &toolLines{}
	if redrawn || v.logs {
		go v.hear(ctx, heard)
	}
	if v.screen != nil {
		go v.draw(ctx, heard)
	}
	if v.waits && !redrawn {
		go v.tellWaits(ctx)
	}
}

// ask asks the person at the terminal what the goal waits for, and shows nothing else
// meanwhile.
func (v *ledgerView) ask(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asks == nil {
		return nil
	}
	if err := v.due(0); err != nil {
		return err
	}
	v.screen.Hold()
	defer v.screen.Release()
	return v.follower.Patiently(ctx, func() error { return v.asks.ask(ctx) })
}

// wants reports whether the view shows an entry.
func (v *ledgerView) wants(e blackboard.Event) bool {
	return (v.workflow == "" || e.Workflow == v.workflow) && (v.agent == "" || e.Agent == v.agent) &&
		(v.artefactType == "" || blackboard.Match(v.artefactType, e.Attributes["type"]))
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
	if v.screen == nil {
		return v.form.Entry(v.out, e, func() error { return v.line(ctx, e) })
	}
	return v.lines(ctx, v.fold.Add(e, v.a.Now()))
}

// due shows the opened claims that were kept back for so long.
func (v *ledgerView) due(span time.Duration) error {
	return v.lines(context.Background(), v.fold.Due(v.a.Now(), span))
}

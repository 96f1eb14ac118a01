package cli

import (
	"context"
	"sync"
	"sync/atomic"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/chart"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/view/flow"
)

type planCmd struct {
	Walked bool   `help:"Say of each arrow how often it was walked and how long it took, by the instance's ledger."`
	Output string `short:"o" enum:"text,table,mermaid,dot,svg,json,jsonl,yaml" default:"text" placeholder:"FORMAT" help:"How to print: text (table is the same), mermaid, dot, svg, json, jsonl (one type per line) or yaml."`
}

// Help is shown by `sett plan --help`.
func (planCmd) Help() string {
	return `Draws the clan of sett.yml before anything runs: for each type of artefact the agents that
review it and work on it, by phase, and what these make of it; the gates; where a goal
can end, and where it may stall. It looks at nothing but the file, and as sett up at the
runtime that this repository's instance has, unless --walked is set.

With --walked each arrow says how often it was walked, how long its tool ran on average and
at most, and how often it failed, asked or rejected; a gate how long people took. All entries
of the ledger are read for it. -o jsonl then prints an arrow per line.

What an agent makes is known from makes: in sett.yml. Without it an agent may make any
type, and the drawing has a gap there.

Examples:
  sett plan
  sett plan -o mermaid
  sett plan -o svg > clan.svg
  sett plan --walked`
}

// Run draws the clan.
func (c *planCmd) Run(a *app) error {
	var doubts []config.Warning
	conf, _, err := a.at.Config(config.NoteWarnings(&doubts))
	if err != nil {
		return err
	}
	p := flow.Of(conf)
	shown := term.Shown{Whole: p, Lines: p.Types}
	if c.Walked {
		if p.Walked, err = walkedBy(a); err != nil {
			return err
		}
		shown.Lines = p.Walked.Arrows
	}
	switch c.Output {
	case "text", "table":
		err = chart.Plan(&a.Terminal, p)
	case "mermaid":
		err = term.WriteAll(a.Stdout, p.Mermaid())
	case "dot":
		err = term.WriteAll(a.Stdout, p.Dot())
	case "svg":
		err = term.WriteAll(a.Stdout, p.Draw().File("The clan: types of artefacts, and the agents that work on them"))
	default:
		err = a.Emit(term.Form{Output: c.Output}, shown)
	}
	for _, doubt := range doubts {
		if doubt.Gate == "" {
			a.Sayf("sett: warning: %s\n", role.CleanText(doubt.String()))
		}
	}
	return err
}

// walks is a count of an instance's ledger that commands which run at one time share: they read the
// ledger once.
type walks struct {
	mu    sync.Mutex // of a reader
	users atomic.Int32
	count *flow.Counter
	from  string // all entries up to this one are counted
}

// on counts a ledger to its end.
func (w *walks) on(ctx context.Context, b *instance.Board) (*flow.Walked, error) {
	w.users.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		if w.users.Add(-1) == 0 {
			w.count = nil // an import moves entries: the next count begins anew
		}
	}()
	if w.count == nil {
		w.count, w.from = flow.NewCounter(), blackboard.Beginning
	}
	for {
		page, err := b.Ledger.History(ctx, w.from, historyPage)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			w.count.Add(e)
			w.from = e.ID
		}
		if len(page) < historyPage {
			return w.count.Walked(), nil
		}
	}
}

// walkedBy counts the instance's ledger.
func walkedBy(a *app) (*flow.Walked, error) {
	b, _, done, err := a.at.Board(a.ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	w := a.walks
	if w == nil {
		w = &walks{}
	}
	return w.on(a.ctx, b)
}

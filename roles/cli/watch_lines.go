package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/live"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// lines shows entries on a terminal, an opened claim with its bids.
func (v *ledgerView) lines(ctx context.Context, all []live.Opened) error {
	for _, o := range all {
		if len(o.Bids) == 0 {
			if err := v.line(ctx, o.Event); err != nil {
				return err
			}
			continue
		}
		l := view.DescribeOpened(o.Event, o.Bids)
		if err := v.row(o.Time, o.Workflow, string(l.Kind), kindStyle(l), l.Agent, l.What, term.Of(l.As)); err != nil {
			return err
		}
	}
	return nil
}

// line shows an entry to people.
func (v *ledgerView) line(ctx context.Context, e blackboard.Event) error {
	if v.brief && minor(e) {
		return nil
	}
	l := view.Describe(e, v.artefact(ctx, e))
	if v.brief && v.screen != nil { // digests are for watch and why
		l.What = strings.TrimSuffix(l.What, ", "+view.Program(e.Ran()))
	}
	return v.row(e.Time, e.Workflow, string(l.Kind), kindStyle(l), l.Agent, l.What, term.Of(l.As))
}

// row prints a line: time, goal, kind, agent or person, text.
func (v *ledgerView) row(at time.Time, workflow, kind string, as term.Style, who, what string, whatAs term.Style) error {
	if v.screen != nil {
		r := live.Row{Clock: term.Seconds(v.a.Clock(at)), Kind: kind, Who: orDash(role.Clean(who)), What: what, KindAs: as, WhatAs: whatAs}
		if v.workflow == "" {
			r.Goal = orDash(words.Short(workflow))
		}
		lines := r.Lines(v.screen.Columns(), v.width, v.a.Paint)
		return term.WriteAll(v.screen, strings.Join(lines, "\n")+"\n")
	}
	_, err := fmt.Fprintf(v.out, "%s  %-*s  %s  %-*s  %s\n", v.a.Paint(v.a.Clock(at), term.Dim), blackboard.ShortIDLength,
		orDash(words.Short(workflow)), v.a.Paint(fmt.Sprintf("%-9s", kind), as), v.width, words.Shorten(orDash(role.Clean(who)), v.width), v.a.Paint(what, whatAs))
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// minor reports whether a brief view leaves an entry out: an agent ignores a claim by
// its rules, not because of a fault; or a call of a model ended, of which there are many.
func minor(e blackboard.Event) bool {
	return e.Kind == blackboard.EventBid && view.ByRule(e) || e.Kind == blackboard.EventCall
}

// kindStyle lets the kinds stand out from the texts.
func kindStyle(l view.EventLine) term.Style {
	if l.As == view.Plain {
		return term.Accent
	}
	return term.Of(l.As)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// artefact reads the artefact that an entry is about, when a line about it needs
// it; nil otherwise, and when it cannot be read. Of a large result its summary is read.
func (v *ledgerView) artefact(ctx context.Context, e blackboard.Event) *blackboard.Artefact {
	id := view.About(e)
	if id == "" {
		return nil
	}
	size, err := strconv.Atoi(e.Attributes["size"])
	if err != nil || size > view.MaxShown && e.Kind != blackboard.EventResult {
		return nil
	}
	if size > view.MaxShown {
		all, each, err := v.board.Records.Outlines(ctx, []string{id})
		if err != nil || each[0] != nil || all[0].Summary == "" {
			return nil
		}
		return &all[0].Artefact
	}
	a, err := v.board.Records.Artefact(ctx, id)
	if err != nil {
		return nil
	}
	return &a
}

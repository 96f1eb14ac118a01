package report

import (
	"fmt"
	"strings"

	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Markdown returns the report as Markdown. Pictures are Mermaid, which many readers of
// Markdown draw.
func (r *Report) Markdown() string {
	var b strings.Builder
	title, rest, _ := strings.Cut(r.Goal.Text, "\n")
	fmt.Fprintf(&b, "# %s\n\n", marked(title))
	if rest = strings.TrimSpace(rest); rest != "" {
		fenced(&b, rest)
	}
	fmt.Fprintf(&b, "- Goal %s, **%s**\n- Began %s\n", marked(r.Goal.ID), r.Goal.Status, clock(r.Goal.Began))
	if !r.Goal.Ended.IsZero() {
		fmt.Fprintf(&b, "- Ended %s, after %s\n", clock(r.Goal.Ended), words.Span(r.Goal.Ended.Sub(r.Goal.Began)))
	}
	if r.Goal.Base != "" {
		fmt.Fprintf(&b, "- Starts from commit %s %s\n", marked(r.Goal.Base), marked(r.Goal.Branch))
	}
	fmt.Fprintf(&b, "- Instance %s, report by sett %s\n\n## What came of it\n\n", marked(r.Instance), marked(r.Sett))
	if r.Outcome == nil {
		fmt.Fprintf(&b, "No final result: the goal is %s.\n\n", r.Goal.Status)
	} else {
		fmt.Fprintf(&b, "%s by %s\n\n", marked(r.Outcome.Name()), marked(r.Outcome.Maker))
		fenced(&b, r.Outcome.Excerpt)
	}
	b.WriteString("## Artefacts\n\n```mermaid\n" + r.Graph.Mermaid() + "```\n\n## Decisions\n")
	for _, s := range r.Steps {
		if s.Claim == nil {
			continue
		}
		kind, target := s.Claim.Title()
		fmt.Fprintf(&b, "\n### %s %s on %s: %s\n\n", marked(kind), words.Short(s.Claim.ID), marked(target), s.Claim.Status)
		for _, row := range s.Rows(r.moment) {
			fmt.Fprintf(&b, "- %s: %s\n", marked(row.Label), marked(row.Text))
		}
	}
	r.lists(&b)
	return b.String()
}

// lists writes the parts that are lists.
func (r *Report) lists(b *strings.Builder) {
	b.WriteString("\n## People\n\n")
	for _, d := range r.People {
		fmt.Fprintf(b, "- %s %s, %s: %s\n", r.moment(d.Time), marked(d.By), d.Kind, marked(d.Says))
	}
	for _, c := range r.Commits {
		fmt.Fprintf(b, "\n## Commit %s %s\n\n", words.Commit(c.Hash), marked(c.Subject))
		for _, f := range c.Files {
			fmt.Fprintf(b, "- %s: %d added, %d deleted\n", marked(f.Path), f.Added, f.Deleted)
		}
		if c.Patch != "" {
			b.WriteString("\n")
			fenced(b, c.Patch)
		}
	}
	if len(r.Ran) > 0 {
		b.WriteString("\n## What ran\n\n")
		for _, x := range r.Ran {
			fmt.Fprintf(b, "- %s, %s: %s\n", marked(x.Agent), words.Count(x.Times, "run"), marked(view.Ran(x.Ran)))
		}
	}
	if len(r.Models) > 0 {
		b.WriteString("\n## Models\n\n")
		for _, m := range r.Models {
			fmt.Fprintf(b, "- %s, %s: %s, cost %s\n", marked(m.Agent), marked(m.Model), view.Calls(m.Spent), view.CostText(m.Spent))
		}
	}
	b.WriteString("\n## Ledger\n\n")
	for _, e := range r.Ledger {
		fmt.Fprintf(b, "- %s %s, %s: %s\n", r.moment(e.Time), marked(e.By), e.Kind, marked(e.Says))
	}
	b.WriteString("\n## How to verify\n\n")
	fenced(b, r.commands())
	if len(r.Lacks) > 0 {
		b.WriteString("## What is missing here\n\n")
		for _, l := range r.Lacks {
			fmt.Fprintf(b, "- %s\n", marked(l))
		}
	}
}

// marked makes a text harmless within a line of Markdown: none of its signs means
// anything.
func marked(s string) string {
	var b strings.Builder
	for _, r := range role.Clean(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]>#|~!", r):
			b.WriteString("\\" + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fenced writes a text as a block of code. Its fence is longer than any in the text.
func fenced(b *strings.Builder, s string) {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%s\n%s\n%s\n\n", fence, strings.TrimRight(role.CleanText(s), "\n"), fence)
}

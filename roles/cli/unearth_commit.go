package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

// commitView is a commit as programs read it.
type commitView struct {
	Hash    string       `json:"hash"`
	Parents []string     `json:"parents"`
	Author  string       `json:"author"`
	Email   string       `json:"email"`
	Date    time.Time    `json:"date"` // the author's
	Subject string       `json:"subject"`
	Body    string       `json:"body"`
	Files   []commitFile `json:"files"`           // against the first parent
	Patch   string       `json:"patch,omitempty"` // with --diff

	written time.Time // the date in the author's zone
}

// commitFile is a file that a commit changed.
type commitFile struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // what it was called before
	Added   int    `json:"added"`          // lines
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary"`
}

// commitArtefact is an artefact with the commit that it names.
type commitArtefact struct {
	artefact blackboard.Artefact
	commit   *commitView
	err      error // why there is none
}

// MarshalJSON writes the artefact's fields, then "commit": null with the reason in
// "commit_error" where it cannot be read.
func (c commitArtefact) MarshalJSON() ([]byte, error) {
	out, err := json.Marshal(c.artefact)
	if err != nil {
		return nil, err
	}
	more := struct {
		Commit *commitView `json:"commit"`
		Error  string      `json:"commit_error,omitempty"`
	}{Commit: c.commit}
	if c.err != nil {
		more.Error = c.err.Error()
	}
	rest, err := json.Marshal(more)
	if err != nil {
		return nil, err
	}
	return append(append(out[:len(out)-1], ','), rest[1:]...), nil
}

// showCommit shows a CodeCommit, or its patch. Programs that read the artefact are
// not kept from it by a commit that cannot be read, unless they want its patch.
func (c *unearthCmd) showCommit(a *app, b *redis.Board, in *instance, artefact blackboard.Artefact) error {
	v, err := c.readCommit(a, b, in, artefact)
	if err != nil && (c.patches() || c.Output == "" || a.ctx.Err() != nil) {
		return err
	}
	o := outputs{orElse(c.Output, "table")}
	return a.emit(o, shown{whole: commitArtefact{artefact, v, err}, table: func() error {
		switch {
		case c.patches():
			return v.patch(a)
		case c.Output == "":
			return v.text(a)
		}
		if err := a.metaTable(artefact); err != nil || v == nil {
			return err
		}
		a.printf("\n")
		return v.text(a)
	}})
}

// readCommit reads the commit that an artefact names, with its patch if wanted.
func (c *unearthCmd) readCommit(a *app, b *redis.Board, in *instance, artefact blackboard.Artefact) (*commitView, error) {
	if artefact.Type != blackboard.TypeCodeCommit {
		return nil, role.Fail(role.Usage, fmt.Errorf("%s %s is no %s: it has no patch", clean(shorten(artefact.Type, 40)), short(artefact.ID), blackboard.TypeCodeCommit),
			"%s", a.commandLine(in, "unearth "+short(artefact.ID)))
	}
	g := a.commits(in)
	hash, err := g.hashOf(a.ctx, artefact)
	if err != nil {
		return nil, err
	}
	v, err := g.commit(a.ctx, hash)
	if err != nil || !c.patches() {
		return v, err
	}
	base := v.base()
	if c.Previous {
		if base, err = previousCommit(a.ctx, b, g, artefact); err != nil {
			return nil, err
		}
	}
	v.Patch, err = g.patch(a.ctx, base, hash)
	return v, err
}

// previousCommit returns the commit of an artefact's previous version.
func previousCommit(ctx context.Context, b *redis.Board, g commits, artefact blackboard.Artefact) (string, error) {
	versions, err := b.Versions(ctx, artefact.LogicalID)
	if err != nil {
		return "", err
	}
	for i, id := range versions {
		if id != artefact.ID || i == 0 {
			continue
		}
		previous, err := b.Artefact(ctx, versions[i-1])
		if err != nil {
			return "", err
		}
		return g.hashOf(ctx, previous)
	}
	return "", role.Fail(role.Usage, fmt.Errorf("artefact %s is the first version", short(artefact.ID)),
		"%s", g.hint("unearth "+short(artefact.ID)+" --diff"))
}

// patches says whether a patch is wanted.
func (c *unearthCmd) patches() bool { return c.Diff || c.Previous }

// patch writes the patch: into a file or pipe as it is, for git to apply; where
// people read it, with colours, and without what a terminal would obey.
func (v *commitView) patch(a *app) error {
	if !a.colour && !role.IsTerminal(a.Stdout) {
		return writeAll(a.Stdout, v.Patch)
	}
	var out strings.Builder
	body := false // between hunks, lines are the patch's own
	for line := range strings.Lines(v.Patch) {
		line = strings.TrimSuffix(line, "\n")
		as := plain
		switch {
		case strings.HasPrefix(line, "diff --git "):
			body, as = false, bold
		case strings.HasPrefix(line, "@@ "):
			body, as = true, accent
		case !body:
			as = bold
		case strings.HasPrefix(line, "+"):
			as = good
		case strings.HasPrefix(line, "-"):
			as = bad
		}
		out.WriteString(a.paint(cleanText(line), as) + "\n")
	}
	return writeAll(a.Stdout, out.String())
}

// text shows the commit as git show --stat does.
func (v *commitView) text(a *app) error {
	var out strings.Builder
	out.WriteString(a.paint("commit "+v.Hash, warn) + "\n")
	if len(v.Parents) > 1 {
		out.WriteString("Merge:  " + strings.Join(shortHashes(v.Parents), " ") + "\n")
	}
	fmt.Fprintf(&out, "Author: %s <%s>\n", clean(v.Author), clean(v.Email))
	fmt.Fprintf(&out, "Date:   %s\n\n", v.written.Format("Mon Jan 2 15:04:05 2006 -0700"))
	for line := range strings.Lines(strings.TrimRight(v.Subject+"\n\n"+v.Body, "\n") + "\n") {
		out.WriteString(strings.TrimRight("    "+cleanText(strings.TrimSuffix(line, "\n")), " ") + "\n")
	}
	if len(v.Files) > 0 {
		out.WriteString("\n")
	}
	if err := writeAll(a.Stdout, out.String()); err != nil {
		return err
	}
	return v.stat(a)
}

func shortHashes(all []string) []string {
	out := make([]string, len(all))
	for i, h := range all {
		out[i] = commit(h)
	}
	return out
}

// stat shows how much of each file was changed.
func (v *commitView) stat(a *app) error {
	const bars = 40
	most, added, deleted, width := 1, 0, 0, 0
	for _, f := range v.Files {
		most, added, deleted = max(most, f.Added+f.Deleted), added+f.Added, deleted+f.Deleted
		width = max(width, utf8.RuneCountInString(f.name()))
	}
	scale := func(n int) int {
		if most <= bars {
			return n
		}
		return (n*bars + most - 1) / most
	}
	digits := len(strconv.Itoa(most))
	var out strings.Builder
	for _, f := range v.Files {
		gap := strings.Repeat(" ", width-utf8.RuneCountInString(f.name()))
		if f.Binary {
			fmt.Fprintf(&out, " %s%s | %*s\n", f.name(), gap, digits, "Bin")
			continue
		}
		bar := a.paint(strings.Repeat("+", scale(f.Added)), good) + a.paint(strings.Repeat("-", scale(f.Deleted)), bad)
		out.WriteString(strings.TrimRight(fmt.Sprintf(" %s%s | %*d %s", f.name(), gap, digits, f.Added+f.Deleted, bar), " ") + "\n")
	}
	if len(v.Files) > 0 {
		fmt.Fprintf(&out, " %s changed, %s(+), %s(-)\n", count(len(v.Files), "file"), count(added, "insertion"), count(deleted, "deletion"))
	}
	return writeAll(a.Stdout, out.String())
}

// name is what a file is called, for people.
func (f commitFile) name() string {
	if f.From != "" {
		return clean(f.From) + " => " + clean(f.Path)
	}
	return clean(f.Path)
}

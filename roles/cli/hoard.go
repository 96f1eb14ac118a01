package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type hoardCmd struct {
	Type     string `placeholder:"TYPE" help:"Only artefacts of this type, or of all types that fit a pattern, such as 'Code*'."`
	Agent    string `placeholder:"NAME" help:"Only what this agent produced."`
	Since    string `placeholder:"WHEN" help:"Only what is younger: a duration (10m) or a time (15:04)."`
	Until    string `placeholder:"WHEN" help:"Only artefacts that are older: a duration (10m) or a time (15:04)."`
	Workflow string `placeholder:"ID" help:"Only what belongs to this goal; @last is the newest."`
	Limit    int    `default:"50" placeholder:"N" help:"The newest so many; 0 for all (default 50)."`
	term.Form
}

// Help is shown by `sett hoard --help`.
func (hoardCmd) Help() string {
	return `Lists artefacts, newest last. The forms for programs (-o json, jsonl, yaml) have all
fields, payloads included.

Examples:
  sett hoard --workflow @last
  sett hoard --type 'Code*' --since 24h --until 1h
  sett hoard --type CodeCommit --since 24h -o jsonl`
}

// Run lists artefacts.
func (c *hoardCmd) Run(a *app) error {
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	var broken term.LeftOut
	f := blackboard.Filter{Type: c.Type, Agent: c.Agent, Limit: limitPlusOne(c.Limit), Broken: broken.Add}
	if f.Since, err = a.Since(c.Since); err != nil {
		return err
	}
	if f.Until, err = a.When("--until", c.Until); err != nil {
		return err
	}
	if c.Workflow != "" {
		if f.Workflow, err = a.resolveWorkflow(a.ctx, b, c.Workflow); err != nil {
			return err
		}
	}
	if c.Agent != "" {
		if err := knownAgent(a, b, in, c.Agent); err != nil {
			return err
		}
	}
	if c.ForPeople() {
		all, err := b.Records.ListOutlines(a.ctx, f)
		if err != nil {
			return err
		}
		return cmp.Or(artefactTable(a, b, c.newest(a, len(all)), all), broken.Failure())
	}
	all, err := b.Records.ListArtefacts(a.ctx, f)
	if err != nil {
		return err
	}
	from := c.newest(a, len(all))
	all = append([]blackboard.Artefact{}, all[from:]...)
	err = a.Emit(c.Form, term.Shown{
		Whole: struct {
			Artefacts []blackboard.Artefact `json:"artefacts"`
			More      bool                  `json:"more"`
		}{all, from > 0},
		Lines: all,
	})
	return cmp.Or(err, broken.Failure())
}

// newest returns the index of the first artefact to show, of so many that were found.
// One more than the limit means that there are older ones.
func (c *hoardCmd) newest(a *app, found int) int {
	if c.Limit <= 0 || found <= c.Limit {
		return 0
	}
	a.Sayf("sett: the newest %d, there are more (--limit)\n", c.Limit)
	return found - c.Limit
}

// artefactTable shows artefacts to people, from an index on. A payload that is large
// is not read for the one line about it.
func artefactTable(a *app, b *instance.Board, from int, all []blackboard.Outline) error {
	all = all[from:]
	if len(all) == 0 {
		a.Sayf("sett: no artefacts\n")
		return nil
	}
	lines := make([]*blackboard.Outline, len(all))
	for i := range all {
		lines[i] = &all[i]
	}
	if err := b.Records.ReadPayloads(a.ctx, lines, view.MaxShown); err != nil {
		return err
	}
	t := a.Table("ID", "TYPE", "BY", "FROM", "AGE", "SAYS")
	for _, o := range all {
		t.Row(words.Short(o.ID), term.Cell{Text: view.Title(o.Artefact), As: rowStyle(o.Artefact)}, view.Maker(o.Artefact), origins(o.Artefact), words.Age(a.Now().Sub(o.CreatedAt)),
			words.Shorten(says(&o), 70))
	}
	return t.Write(a.Stdout)
}

// origins are the artefacts that one was made from, three at most.
func origins(a blackboard.Artefact) string {
	const most = 3
	ids := words.Shorts(a.SourceArtefacts)
	if len(ids) > most {
		ids = append(ids[:most], fmt.Sprintf("+%d", len(ids)-most))
	}
	return orDash(strings.Join(ids, " "))
}

// says is the gist of an artefact; a Review has its verdict in front.
func says(o *blackboard.Outline) string {
	if o.StructuralType != blackboard.Review {
		return view.GistOf(o)
	}
	if blackboard.VerdictOf(o.Payload) == blackboard.Approve {
		return "approves" + words.Because(view.GistOf(o))
	}
	return "rejects" + words.Because(view.GistOf(o))
}

// rowStyle is structuralStyle, for a Review by its verdict.
func rowStyle(a blackboard.Artefact) term.Style {
	if a.StructuralType == blackboard.Review && blackboard.VerdictOf(a.Payload) == blackboard.Feedback {
		return term.Warn
	}
	return term.Of(view.StructuralTone(a.StructuralType))
}

// knownAgent is an error with a suggestion when an agent is neither in the clan
// nor ever was.
func knownAgent(a *app, b *instance.Board, in *instance.Instance, name string) error {
	ever, err := b.Roster.Agents(a.ctx)
	if err != nil {
		return err
	}
	known := slices.Sorted(maps.Keys(ever))
	if c, err := in.Config(); err == nil {
		known = append(known, c.Names()...)
		slices.Sort(known)
		known = slices.Compact(known)
	}
	if slices.Contains(known, name) {
		return nil
	}
	return role.Fail(role.NotFound, fmt.Errorf("no agent %s in instance %s", role.Clean(name), in.Name), "%s", words.DidYouMean(name, known, a.at.CommandLine(in, "list")))
}

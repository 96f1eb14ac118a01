package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type hoardCmd struct {
	Type     string `placeholder:"TYPE" help:"Only artefacts of this type, such as CodeCommit."`
	Agent    string `placeholder:"NAME" help:"Only what this agent produced."`
	Since    string `placeholder:"WHEN" help:"Only what is younger: a duration (10m) or a time (15:04)."`
	Workflow string `placeholder:"ID" help:"Only what belongs to this goal; @last is the newest."`
	Limit    int    `default:"50" placeholder:"N" help:"The newest so many; 0 for all (default 50)."`
	outputs
}

// Help is shown by `sett hoard --help`.
func (hoardCmd) Help() string {
	return `Lists artefacts, newest last. The forms for programs (-o json, jsonl, yaml) have all
fields, payloads included.

Examples:
  sett hoard --workflow @last
  sett hoard --type CodeCommit --since 24h -o jsonl`
}

// Run lists artefacts.
func (c *hoardCmd) Run(a *app) error {
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	var broken leftOut
	f := redis.Filter{Type: c.Type, Agent: c.Agent, Limit: limitPlusOne(c.Limit), Broken: broken.add}
	if f.Since, err = a.parseSince(c.Since); err != nil {
		return err
	}
	if c.Workflow != "" {
		if f.Workflow, err = a.resolveWorkflow(a.ctx, b, c.Workflow); err != nil {
			return err
		}
	}
	if c.Agent != "" {
		if err := a.knownAgent(b, in, c.Agent); err != nil {
			return err
		}
	}
	if c.forPeople() {
		all, err := b.ListOutlines(a.ctx, f)
		if err != nil {
			return err
		}
		return cmp.Or(a.artefactTable(b, c.newest(a, len(all)), all), broken.failure())
	}
	all, err := b.ListArtefacts(a.ctx, f)
	if err != nil {
		return err
	}
	from := c.newest(a, len(all))
	all = append([]blackboard.Artefact{}, all[from:]...)
	err = a.emit(c.outputs, shown{
		whole: struct {
			Artefacts []blackboard.Artefact `json:"artefacts"`
			More      bool                  `json:"more"`
		}{all, from > 0},
		lines: all,
	})
	return cmp.Or(err, broken.failure())
}

// newest returns where what is to be shown begins, of so many that were found: one
// more than the limit says only that there are more.
func (c *hoardCmd) newest(a *app, found int) int {
	if c.Limit <= 0 || found <= c.Limit {
		return 0
	}
	a.sayf("sett: the newest %d, there are more (--limit)\n", c.Limit)
	return found - c.Limit
}

// artefactTable shows artefacts to people, from an index on. A payload that is large
// is not read for the one line about it.
func (a *app) artefactTable(b *redis.Board, from int, all []redis.Outline) error {
	all = all[from:]
	if len(all) == 0 {
		a.sayf("sett: no artefacts\n")
		return nil
	}
	lines := make([]*redis.Outline, len(all))
	for i := range all {
		lines[i] = &all[i]
	}
	if err := b.ReadPayloads(a.ctx, lines, maxShown); err != nil {
		return err
	}
	t := a.table("ID", "TYPE", "BY", "FROM", "AGE", "SAYS")
	for _, o := range all {
		t.row(short(o.ID), cell{title(o.Artefact), rowStyle(o.Artefact)}, maker(o.Artefact), origins(o.Artefact), age(a.Now().Sub(o.CreatedAt)),
			shorten(says(&o), 70))
	}
	return t.write(a.Stdout)
}

// size says roughly how many bytes there are: 12 B, 3.4 kB, 10.5 MB.
func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// origins are the artefacts that one was made from, three at most.
func origins(a blackboard.Artefact) string {
	const most = 3
	ids := shorts(a.SourceArtefacts)
	if len(ids) > most {
		ids = append(ids[:most], fmt.Sprintf("+%d", len(ids)-most))
	}
	return orDash(strings.Join(ids, " "))
}

// says is the gist of an artefact; a Review has its verdict in front.
func says(o *redis.Outline) string {
	if o.StructuralType != blackboard.Review {
		return gistOf(o)
	}
	if blackboard.VerdictOf(o.Payload) == blackboard.Approve {
		return "approves" + because(gistOf(o))
	}
	return "rejects" + because(gistOf(o))
}

// rowStyle is structuralStyle, for a Review by its verdict.
func rowStyle(a blackboard.Artefact) style {
	if a.StructuralType == blackboard.Review && blackboard.VerdictOf(a.Payload) == blackboard.Feedback {
		return warn
	}
	return structuralStyle(a.StructuralType)
}

// knownAgent is an error with a suggestion when an agent is neither in the clan
// nor ever was.
func (a *app) knownAgent(b *redis.Board, in *instance, name string) error {
	ever, err := b.Agents(a.ctx)
	if err != nil {
		return err
	}
	known := slices.Sorted(maps.Keys(ever))
	if c, err := in.config(); err == nil {
		known = append(known, c.Names()...)
		slices.Sort(known)
		known = slices.Compact(known)
	}
	if slices.Contains(known, name) {
		return nil
	}
	return role.Fail(role.NotFound, fmt.Errorf("no agent %s in instance %s", clean(name), in.Name), "%s", didYouMean(name, known, a.commandLine(in, "list")))
}

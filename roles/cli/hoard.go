package cli

import (
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
	Output   string `short:"o" enum:"text,json,jsonl" default:"text" placeholder:"FORMAT" help:"How to print: text, json (one object) or jsonl (one per line)."`
}

// Help is shown by `sett hoard --help`.
func (hoardCmd) Help() string {
	return `Lists artefacts, newest last. json and jsonl have all fields, payloads included.

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
	f := redis.Filter{Type: c.Type, Agent: c.Agent, Limit: limitPlusOne(c.Limit)}
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
	all, err := b.ListArtefacts(a.ctx, f)
	if err != nil {
		return err
	}
	more := c.Limit > 0 && len(all) > c.Limit
	if more {
		all = all[1:]
	}
	return c.print(a, all, more)
}

func (c *hoardCmd) print(a *app, all []blackboard.Artefact, more bool) error {
	switch c.Output {
	case "json":
		if all == nil {
			all = []blackboard.Artefact{}
		}
		return a.printJSON(struct {
			Artefacts []blackboard.Artefact `json:"artefacts"`
			More      bool                  `json:"more"`
		}{all, more})
	case "jsonl":
		for _, artefact := range all {
			if err := a.printLine(artefact); err != nil {
				return err
			}
		}
	default:
		if len(all) > 0 {
			if err := a.artefactTable(all); err != nil {
				return err
			}
		} else {
			a.sayf("sett: no artefacts\n")
		}
	}
	if more {
		a.sayf("sett: the newest %d, there are more (--limit)\n", c.Limit)
	}
	return nil
}

func (a *app) artefactTable(all []blackboard.Artefact) error {
	t := a.table("ID", "TYPE", "BY", "FROM", "AGE", "SAYS")
	for _, artefact := range all {
		t.row(short(artefact.ID), cell{title(artefact), structuralStyle(artefact)}, maker(artefact), origins(artefact), age(a.Now().Sub(artefact.CreatedAt)),
			shorten(says(artefact), 70))
	}
	return t.write(a.Stdout)
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
func says(a blackboard.Artefact) string {
	if a.StructuralType != blackboard.Review {
		return gist(&a)
	}
	if blackboard.VerdictOf(a.Payload) == blackboard.Approve {
		return "approves" + because(gist(&a))
	}
	return "rejects" + because(gist(&a))
}

// maker is who produced an artefact: the agent, else the role.
func maker(a blackboard.Artefact) string {
	if a.ProducedByAgent != "" {
		return a.ProducedByAgent
	}
	return a.ProducedByRole
}

func structuralStyle(a blackboard.Artefact) style {
	switch a.StructuralType {
	case blackboard.Terminal:
		return good
	case blackboard.Failure:
		return bad
	case blackboard.Question:
		return warn
	case blackboard.Review:
		if blackboard.VerdictOf(a.Payload) == blackboard.Feedback {
			return warn
		}
	}
	return plain
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
	return role.Fail(role.NotFound, fmt.Errorf("no agent %s in instance %s", clean(name), in.Name), "%s", didYouMean(name, known, "sett list"))
}

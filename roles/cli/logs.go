package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/logline"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/runtime"
)

type logsCmd struct {
	Agents   []string `arg:"" optional:"" name:"agent" help:"An agent, a claim's id, or orchestrator, blackboard, repository, keeper or notifier; none: all of all."`
	All      bool     `help:"With an agent or a claim: also what Sett's own parts logged about it."`
	Follow   bool     `help:"Go on with what is logged from now on; Ctrl-C ends it."`
	Lines    int      `short:"n" default:"-1" placeholder:"N" help:"Only the last N lines (default: all; with --follow 20)."`
	Since    string   `placeholder:"WHEN" help:"Only what was logged since then: a duration (10m) or a time (15:04)."`
	Claim    string   `placeholder:"ID" help:"Only what is about this claim; a beginning or ending of the id will do."`
	Workflow string   `placeholder:"GOAL" help:"Only what is about this goal; @last is the newest."`
	Raw      bool     `help:"Show lines as they were written."`
	term.Form

	about string // the part of a claim's id in a name's place
}

// Help is shown by `sett logs --help`.
func (logsCmd) Help() string {
	return `Of an agent, or of a claim's id, it shows what tools said, with the agent's name and the
time before each line, and Sett's warnings and errors about them. --all adds what else Sett's
own parts logged about it.

Without a name it shows what all of the instance's parts logged, in the order of time, also
of parts that run no more. --claim, --workflow, --raw and the formats for programs have every
line, too. What an agent's workers logged counts as the agent's.

For programs, -o jsonl has one object per line, json and yaml all of them at once; with
--follow these print one object, or document, after another. --raw shows a line to the
byte, whatever is in it; only a terminal is spared what it would obey.

Examples: sett logs -f
          sett logs example-agent -n 50
          sett logs 7XK2ABCD
          sett logs writer --since 10m --claim 7Q2M`
}

// followLines is how many old lines come before the new ones.
const followLines = 20

// Run shows the logs.
func (c *logsCmd) Run(a *app) error {
	in, err := a.at.Find()
	if err != nil {
		return err
	}
	since, err := a.Since(c.Since)
	if err != nil {
		return err
	}
	if err := c.narrow(a, in); err != nil {
		return err
	}
	place, err := a.at.Place(a.ctx, in)
	if err != nil {
		a.Sayf("sett: note: what the container engine has is not shown: %s\n", words.FirstLine(err))
		place = instance.Local{Runtime: in.Processes()} // files are as processes leave them
	}
	if err := place.Gather(a.ctx); err != nil {
		a.Sayf("sett: warning: %v\n", err)
	}
	all, err := (&logsCmd{}).sources(a.ctx, in, place)
	if err != nil {
		return err
	}
	var logging []string
	for _, s := range all {
		logging = append(logging, s.Part)
	}
	parts := in.Logging(logging)
	c.claimed(parts)
	if err := c.known(in, parts); err != nil {
		return err
	}
	p := &logPrinter{a: a, c: c, width: c.width(parts), parts: parts, said: c.said(all)}
	o := runtime.LogOptions{Lines: -1, Since: since, Follow: c.Follow}
	keep := c.Lines
	if c.Follow && keep < 0 && since.IsZero() {
		keep = followLines
	}
	if !c.Follow {
		return c.past(a.ctx, in, place, p, o, keep)
	}
	stopped := in.Down
	f := &logline.Follower{Place: place, Wants: p.wants, Show: p.print, Keep: keep, Picks: c.narrowed() || p.said,
		Sources: func(ctx context.Context) ([]logline.Source, error) {
			fate := instance.FateOf(in)
			if fate == instance.Removed {
				return nil, ledger.Gone(a.at, in, fate, "")
			}
			if now := fate == instance.Stopped; now != stopped {
				if stopped = now; now {
					a.Sayf("sett: %s\n", ledger.SaysStopped(in))
				}
			}
			return c.sources(ctx, in, place)
		}}
	return f.Run(a.ctx, o)
}

// narrow reads the claim or goal that lines have to be about.
func (c *logsCmd) narrow(a *app, in *instance.Instance) error {
	if err := c.goal(a, in); err != nil {
		return err
	}
	for _, p := range []struct {
		what string
		part *string
	}{{logline.Claim, &c.Claim}, {logline.Workflow, &c.Workflow}} {
		if *p.part == "" {
			continue
		}
		part, ok := blackboard.NormalizeIDPart(*p.part)
		if !ok {
			return role.Fail(role.Usage, fmt.Errorf("--%s: %q is no part of a %s's id", p.what, role.Clean(*p.part), p.what), "sett watch, sett goals and sett show @last show ids")
		}
		*p.part = part
	}
	return nil
}

// goal finds the goal that an id belongs to. Where the blackboard does not tell, it stays as it was typed: there are
// logs when nothing runs.
func (c *logsCmd) goal(a *app, in *instance.Instance) error {
	newest := c.Workflow == grammar.LastGoal || c.Workflow == grammar.LastResult
	if c.Workflow == "" || !newest && in.Down {
		return nil
	}
	limit := time.Second
	if newest {
		limit = 0
	}
	b, _, done, err := a.at.BoardWithin(a.ctx, limit)
	if err == nil {
		defer done()
		var goal string
		if goal, err = a.resolveWorkflow(a.ctx, b, c.Workflow); err == nil && goal != "" {
			c.Workflow = goal
		}
	}
	if newest {
		return err
	}
	return nil
}

// claimed takes a name that is none, and looks like a claim's id, for that.
func (c *logsCmd) claimed(parts []string) {
	if len(c.Agents) == 0 {
		return
	}
	last := c.Agents[len(c.Agents)-1]
	shown := len(last) >= blackboard.ShortIDLength && strings.ToUpper(last) == last // as Sett shows ids, of which some have letters alone
	if id, ok := blackboard.NormalizeIDPart(last); ok && len(last) >= leastIDPart && (shown || looksLikeID(last)) && !slices.Contains(parts, last) && c.Claim == "" {
		c.Agents, c.about = c.Agents[:len(c.Agents)-1], id
	}
}

// said says whether people want to read what tools said, rather than whole logs.
func (c *logsCmd) said(all []logline.Source) bool {
	if c.Raw || !c.ForPeople() || c.Claim != "" || c.Workflow != "" {
		return false
	}
	return c.about != "" || slices.ContainsFunc(all, func(s logline.Source) bool { return s.IsAgent() && slices.Contains(c.Agents, s.Part) })
}

// narrowed says whether only some of the lines are wanted.
func (c *logsCmd) narrowed() bool { return c.Claim != "" || c.Workflow != "" || c.about != "" }

// sources returns the logs of the parts that were asked for.
func (c *logsCmd) sources(ctx context.Context, in *instance.Instance, p instance.Place) ([]logline.Source, error) {
	return logline.Sources(ctx, p, in.LogsDir(), c.Agents)
}

// known refuses names of parts that do not exist.
func (c *logsCmd) known(in *instance.Instance, parts []string) error {
	for _, name := range c.Agents {
		if in.External && name == runtime.ComponentBlackboard && !slices.Contains(parts, name) {
			return role.Fail(role.NotFound, fmt.Errorf("there is no log of the blackboard of %s: it is a Redis of your own, at %s", in.Name, instance.Redact(in.URL)),
				"that server has its own log; sett doctor asks the server")
		}
		if !slices.Contains(parts, name) {
			return role.Fail(role.NotFound, fmt.Errorf("no agent %s in instance %s", role.Clean(name), in.Name), "%s", words.DidYouMean(name, parts, ""))
		}
	}
	return nil
}

// width is that of the longest name shown.
func (c *logsCmd) width(parts []string) int {
	shown := c.Agents
	if len(shown) == 0 {
		shown = parts
	}
	width := 0
	for _, name := range shown {
		width = max(width, len(name))
	}
	return width
}

// past shows the lines until now.
func (c *logsCmd) past(ctx context.Context, in *instance.Instance, place instance.Place, p *logPrinter, o runtime.LogOptions, keep int) error {
	sources, err := c.sources(ctx, in, place)
	if err != nil {
		return err
	}
	if keep >= 0 && !c.narrowed() && !p.said {
		o.Lines = keep // no source can have more of the last than that
	}
	var lines []logline.Line
	known := false // what is wanted is in a log
	for _, s := range sources {
		err := logline.Read(ctx, place, s, o, func(l logline.Line) {
			known = known || p.about(l)
			if p.wants(l) {
				lines = append(lines, l)
			}
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("read log of %s: %w", s.Unit, err)
		}
	}
	slices.SortStableFunc(lines, func(x, y logline.Line) int { return x.Time.Compare(y.Time) })
	if keep >= 0 && len(lines) > keep {
		lines = lines[len(lines)-keep:]
	}
	if len(lines) == 0 && c.narrowed() && !known {
		about := "a claim " + cmp.Or(c.Claim, c.about)
		if c.Claim == "" && c.about == "" {
			about = "a goal " + c.Workflow
		}
		return role.Fail(role.NotFound, fmt.Errorf("nothing was logged about %s", about), "sett watch and sett goals show ids")
	}
	if len(lines) == 0 && p.said && !c.All {
		a := p.a
		a.Sayf("sett: no tool has said anything; %s shows what Sett's own parts logged\n", a.at.CommandLine(in, "logs --all "+role.Clean(cmp.Or(c.about, strings.Join(c.Agents, " ")))))
	}
	records := make([]logRecord, len(lines))
	for i, l := range lines {
		records[i] = p.record(l)
	}
	return p.a.Emit(c.Form, term.Shown{
		Whole: struct {
			Lines []logRecord `json:"lines"`
		}{records},
		Lines: records,
		Table: func() error {
			for _, l := range lines {
				if err := p.line(l); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

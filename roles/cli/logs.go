package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
)

type logsCmd struct {
	Agents   []string `arg:"" optional:"" name:"agent" help:"An agent, or orchestrator, blackboard, keeper or notifier; none: all."`
	Follow   bool     `help:"Go on with what is logged from now on; Ctrl-C ends it."`
	Lines    int      `short:"n" default:"-1" placeholder:"N" help:"Only the last N lines (default: all; with --follow 20)."`
	Since    string   `placeholder:"WHEN" help:"Only what was logged since then: a duration (10m) or a time (15:04)."`
	Claim    string   `placeholder:"ID" help:"Only what is about this claim; a beginning or ending of the id will do."`
	Workflow string   `placeholder:"GOAL" help:"Only what is about this goal; @last is the newest."`
	Raw      bool     `help:"Show lines as they were written."`
	outputs
}

// Help is shown by `sett logs --help`.
func (logsCmd) Help() string {
	return `Shows what the instance's parts logged, in the order of time, also of parts that run no
more. What an agent's workers logged counts as the agent's; a tool's stderr is in it.

For programs, -o jsonl has one object per line, json and yaml all of them at once; with
--follow these print one object, or document, after another. --raw shows a line to the
byte, whatever is in it; only a terminal is spared what it would obey.

Examples: sett logs -f
          sett logs example-agent -n 50
          sett logs orchestrator --since 10m --claim 7Q2M`
}

// followLines is how much of the past comes before what is new.
const followLines = 20

// source is one unit's log.
type source struct {
	unit, part string
	claim      string // of a worker
	over       bool   // nothing will be added
}

// worker is the name of a worker's unit: agent, claim, attempt. One that was started
// to wait for its claim has a name that is not the claim's: standby, agent, its own.
var (
	worker = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^worker-(.+)-([0-9A-Z]{26})-([0-9]+)$`)
	})
	standby = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^standby-(.+)-[0-9A-Za-z]{26}$`) })
)

func sourceOf(unit string) source {
	if m := worker().FindStringSubmatch(unit); m != nil {
		return source{unit: unit, part: m[1], claim: m[2]}
	}
	if m := standby().FindStringSubmatch(unit); m != nil {
		return source{unit: unit, part: m[1]}
	}
	if agent, ok := runtime.AgentOf(unit); ok {
		return source{unit: unit, part: agent}
	}
	return source{unit: unit, part: unit}
}

// Run shows the logs.
func (c *logsCmd) Run(a *app) error {
	in, err := a.instance(a.ctx)
	if err != nil {
		return err
	}
	since, err := a.parseSince(c.Since)
	if err != nil {
		return err
	}
	if err := c.narrow(a); err != nil {
		return err
	}
	place, err := a.place(a.ctx, in)
	if err != nil {
		a.sayf("sett: note: what the container engine has is not shown: %s\n", firstLine(err))
		place = local{in.processes()} // files are as processes leave them
	}
	if err := place.Gather(a.ctx); err != nil {
		a.sayf("sett: warning: %v\n", err)
	}
	all, err := (&logsCmd{}).sources(a.ctx, in, place)
	if err != nil {
		return err
	}
	parts := c.parts(in, all)
	if err := c.known(in, parts); err != nil {
		return err
	}
	p := &logPrinter{a: a, c: c, width: c.width(parts)}
	o := runtime.LogOptions{Lines: -1, Since: since, Follow: c.Follow}
	keep := c.Lines
	if c.Follow && keep < 0 && since.IsZero() {
		keep = followLines
	}
	if !c.Follow {
		return c.past(a.ctx, in, place, p, o, keep)
	}
	f := &follower{c: c, p: p, in: in, place: place, lines: make(chan logLine, 256), lost: make(chan string), open: map[string]bool{}, keep: keep, past: keep >= 0}
	return f.run(a.ctx, o)
}

// What a line can be asked to be about: the keys of its attributes.
const (
	aboutClaim    = "claim"
	aboutWorkflow = "workflow"
)

// narrow reads what lines are to be about. It takes the blackboard for @last only:
// there are logs when nothing runs.
func (c *logsCmd) narrow(a *app) error {
	if c.Workflow == lastGoal {
		b, _, done, err := a.board(a.ctx)
		if err != nil {
			return err
		}
		defer done()
		if c.Workflow, _, err = a.resolve(a.ctx, b, lastGoal); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		what string
		part *string
	}{{aboutClaim, &c.Claim}, {aboutWorkflow, &c.Workflow}} {
		if *p.part == "" {
			continue
		}
		part, ok := blackboard.NormalizeIDPart(*p.part)
		if !ok {
			return role.Fail(role.Usage, fmt.Errorf("--%s: %q is no part of a %s's id", p.what, clean(*p.part), p.what), "sett watch, sett goals and sett show @last show ids")
		}
		*p.part = part
	}
	return nil
}

// narrowed says whether only some of the lines are wanted.
func (c *logsCmd) narrowed() bool { return c.Claim != "" || c.Workflow != "" }

// sources returns the logs there are, of the parts that were asked for: files in the
// instance's directory, and what its place has besides.
func (c *logsCmd) sources(ctx context.Context, in *instance, p place) ([]source, error) {
	files, err := filepath.Glob(filepath.Join(in.logsDir(), "*.log"))
	if err != nil {
		return nil, fmt.Errorf("list logs: %w", err)
	}
	units, err := p.List(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list what runs: %w", err)
	}
	names := map[string]bool{}
	for _, f := range files {
		names[strings.TrimSuffix(filepath.Base(f), ".log")] = true
	}
	running := map[string]bool{}
	for _, u := range units {
		if u.Labels[runtime.LabelComponent] != runtime.ComponentAnchor { // it has nothing to say
			names[u.Name], running[u.Name] = true, u.Running
		}
	}
	var out []source
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s := sourceOf(name)
		s.over = isWorker(name) && !running[name]
		if len(c.Agents) == 0 || slices.Contains(c.Agents, s.part) {
			out = append(out, s)
		}
	}
	return out, nil
}

// isWorker says whether a unit runs once and never again.
func isWorker(unit string) bool { return worker().MatchString(unit) || standby().MatchString(unit) }

// parts returns what can be asked for: what sett.yml had, and what has a log.
func (c *logsCmd) parts(in *instance, all []source) []string {
	known := []string{runtime.ComponentOrchestrator, runtime.ComponentBlackboard, runtime.ComponentKeeper}
	cfg, err := in.config()
	if err != nil {
		cfg = &config.Config{}
	}
	if cfg.Notify != nil {
		known = append(known, runtime.ComponentNotifier)
	}
	known = append(cfg.Names(), known...)
	for _, s := range all {
		if !slices.Contains(known, s.part) {
			known = append(known, s.part)
		}
	}
	return known
}

// known refuses names that there is nothing of.
func (c *logsCmd) known(in *instance, parts []string) error {
	for _, name := range c.Agents {
		if !slices.Contains(parts, name) {
			return role.Fail(role.NotFound, fmt.Errorf("no agent %s in instance %s", clean(name), in.Name), "%s", didYouMean(name, parts, ""))
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

// past shows what was logged until now.
func (c *logsCmd) past(ctx context.Context, in *instance, place place, p *logPrinter, o runtime.LogOptions, keep int) error {
	sources, err := c.sources(ctx, in, place)
	if err != nil {
		return err
	}
	if keep >= 0 && !c.narrowed() {
		o.Lines = keep // no source can have more of the last than that
	}
	var lines []logLine
	for _, s := range sources {
		err := readLog(ctx, place, s, o, func(l logLine) {
			if p.wants(l) {
				lines = append(lines, l)
			}
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("read log of %s: %w", s.unit, err)
		}
	}
	slices.SortStableFunc(lines, func(x, y logLine) int { return x.time.Compare(y.time) })
	if keep >= 0 && len(lines) > keep {
		lines = lines[len(lines)-keep:]
	}
	if len(lines) == 0 && c.narrowed() {
		about := "a claim " + c.Claim
		if c.Claim == "" {
			about = "a goal " + c.Workflow
		}
		return role.Fail(role.NotFound, fmt.Errorf("nothing was logged about %s", about), "sett watch and sett goals show ids")
	}
	records := make([]logRecord, len(lines))
	for i, l := range lines {
		records[i] = p.record(l)
	}
	return p.a.emit(c.outputs, shown{
		whole: struct {
			Lines []logRecord `json:"lines"`
		}{records},
		lines: records,
		table: func() error {
			for _, l := range lines {
				if err := p.line(l); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

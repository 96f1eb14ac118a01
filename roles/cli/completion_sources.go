package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
)

// completionTime is how long a blackboard has to answer whoever types.
const completionTime = 300 * time.Millisecond

// valueSource says where the values of an argument or a flag come from; none of both:
// from the user's head.
type valueSource struct {
	kind string // files or directories: the shell knows them
	read func(*completer) []candidate
}

var (
	files       = valueSource{kind: completeFiles}
	directories = valueSource{kind: completeDirs}
	free        = valueSource{}
)

// fromBoard is a source that reads the blackboard.
func fromBoard(read func(*boardReader) []candidate) valueSource {
	return valueSource{read: func(c *completer) []candidate { return c.ask(read) }}
}

// sources are all arguments and flags that take a value that the grammar does not
// enumerate.
var sources = map[string]valueSource{
	"--directory": directories,
	"--config":    files,
	"--name":      {read: (*completer).instanceNames},

	"restart AGENT": {read: (*completer).running},
	"logs AGENT":    {read: (*completer).logging},
	"try AGENT":     {read: (*completer).configured},
	"hoard --agent": {read: (*completer).running},

	"answer QUESTION": fromBoard((*boardReader).questions),
	"approve ID":      fromBoard((*boardReader).gates),
	"reject ID":       fromBoard((*boardReader).gates),
	"review ID":       fromBoard((*boardReader).inReview),
	"cancel ID":       fromBoard((*boardReader).open),
	"retry ID":        fromBoard((*boardReader).retriable),

	"show ID":              fromBoard((*boardReader).everything),
	"why ID":               fromBoard((*boardReader).everything),
	"graph ID":             fromBoard((*boardReader).everything),
	"unearth ID":           fromBoard((*boardReader).artefacts),
	"try --artefact":       fromBoard((*boardReader).claimable),
	"logs --claim":         fromBoard((*boardReader).claims),
	"hoard --type":         fromBoard((*boardReader).types),
	"wait GOAL":            fromBoard((*boardReader).goals),
	"ledger export GOAL":   fromBoard((*boardReader).goals),
	"hoard --workflow":     fromBoard((*boardReader).goals),
	"logs --workflow":      fromBoard((*boardReader).goals),
	"watch --workflow":     fromBoard((*boardReader).goals),
	"questions --workflow": fromBoard((*boardReader).goals),

	"watch --since":   {read: func(*completer) []candidate { return []candidate{{value: "all", about: "everything"}} }},
	"schema --output": {read: func(*completer) []candidate { return []candidate{{value: "json"}} }},

	"forage --file":        files,
	"ledger export --file": files,
	"ledger import FILE":   files,
	"man DIR":              directories,

	"answer TEXT": free, "reject WHY": free, "review --feedback": free, "cancel WHY": free, "retry WHY": free,
	"forage --goal": free, "forage TEXT": free, "try --goal": free,
	"up --timeout": free, "up --redis-url": free, "restart --timeout": free, "down --timeout": free, "questions --timeout": free, "wait --timeout": free,
	"forage --timeout": free, "retry --timeout": free, "watch --timeout": free,
	"logs --lines": free, "logs --since": free, "goals --limit": free, "hoard --limit": free, "hoard --since": free, "graph --depth": free,
	"__complete SHELL": free, "__complete WORDS": free,
}

// completing is the app as what was typed so far would have it, except that it says
// nothing, asks nobody, and has an engine of its own, if any: who waits for it may
// leave before it is done.
func (a *app) completing(t *typedLine) *app {
	b := *a
	b.engines = &engine{}
	b.Stderr, b.prompt = silence{}, silence{}
	b.Stdin = strings.NewReader("")
	b.flags = globals{
		Directory: orElse(a.expanded(t.values["directory"]), a.flags.Directory),
		Config:    orElse(a.expanded(t.values["config"]), a.flags.Config),
		Name:      orElse(t.values["name"], a.flags.Name),
	}
	return &b
}

// silence is where nothing is said.
type silence struct{}

func (silence) Write(b []byte) (int, error) { return len(b), nil }

// expanded is a path as the shell will pass it once it expands ~.
func (a *app) expanded(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == os.PathSeparator) && a.Getenv("HOME") != "" {
		return filepath.Join(a.Getenv("HOME"), rest)
	}
	return path
}

func (c *completer) instanceNames() []candidate {
	all, err := c.instances()
	if err != nil {
		return nil
	}
	var out []candidate
	for _, in := range all {
		out = append(out, candidate{value: in.Name, about: clean(c.tilde(in.Workspace))})
	}
	return out
}

// running are the agents that the instance was last started with, else what sett.yml
// has.
func (c *completer) running() []candidate {
	if in, err := c.instance(c.ctx); err == nil {
		if cfg, err := in.config(); err == nil {
			return agentCandidates(cfg)
		}
	}
	return c.configured()
}

// configured are the agents of sett.yml.
func (c *completer) configured() []candidate {
	cfg, _, err := c.configuration(c.ctx)
	if err != nil {
		return nil
	}
	return agentCandidates(cfg)
}

func agentCandidates(cfg *config.Config) []candidate {
	var out []candidate
	for _, agent := range cfg.Agents {
		out = append(out, candidate{value: agent.Name, about: clean(agent.Role)})
	}
	return out
}

// logging are all that write logs, as sett logs knows them.
func (c *completer) logging() []candidate {
	in, err := c.instance(c.ctx)
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(in.logsDir(), "*.log"))
	var kept []source
	for _, f := range files {
		kept = append(kept, sourceOf(strings.TrimSuffix(filepath.Base(f), ".log")))
	}
	out := c.running()
	for _, name := range (&logsCmd{}).parts(in, kept) {
		if !slices.ContainsFunc(out, func(c candidate) bool { return c.value == name }) {
			out = append(out, candidate{value: name, about: "a part of Sett"})
		}
	}
	return out
}

// ask reads the blackboard of the instance that is meant. What does not answer in
// time is left behind, whatever it hangs on: the process is about to end.
func (c *completer) ask(read func(*boardReader) []candidate) []candidate {
	ctx, cancel := context.WithTimeout(c.ctx, completionTime)
	defer cancel()
	found := make(chan []candidate, 1)
	go func() {
		defer c.closeEngine()
		b, _, done, err := c.board(ctx)
		if err != nil {
			found <- nil
			return
		}
		defer done()
		found <- read(&boardReader{ctx: ctx, b: b, now: c.Now()})
	}()
	select {
	case all := <-found:
		return all
	case <-ctx.Done():
		return nil
	}
}

// boardReader reads what can be named. What cannot be read is left out.
type boardReader struct {
	ctx context.Context
	b   *redis.Board
	now time.Time
}

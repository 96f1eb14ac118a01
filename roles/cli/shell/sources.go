package shell

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/cli/logline"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view/report"
)

// completionTime is how long a blackboard has to answer, as the user waits at the keyboard.
const completionTime = 300 * time.Millisecond

// valueSource says where the values of an argument or a flag come from; none of both:
// from the user's head.
type valueSource struct {
	kind string // files or directories: the shell knows them
	read func(*completer) []candidate
	list bool // the word is a list with commas
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

	"restart AGENT": {read: (*completer).restartable},
	"logs AGENT":    {read: (*completer).logging},
	"try AGENT":     {read: (*completer).configured},
	"hoard --agent": {read: (*completer).running}, "watch --agent": {read: (*completer).running},

	"answer QUESTION": fromBoard((*boardReader).questions),
	"approve ID":      fromBoard((*boardReader).gates),
	"reject ID":       fromBoard((*boardReader).gates),
	"review ID":       fromBoard((*boardReader).inReview),
	"cancel ID":       fromBoard((*boardReader).open),
	"retry ID":        fromBoard((*boardReader).retriable),

	"land ID": fromBoard((*boardReader).results),
	"diff ID": fromBoard((*boardReader).results),

	"checkout ID": fromBoard((*boardReader).results), "checkout DIR": directories, "checkout --branch": free,

	"leftovers show ID": {read: (*completer).leftovers}, "leftovers restore ID": {read: (*completer).leftovers}, "leftovers restore DIR": directories,
	"init --model":      free,
	"leftovers drop ID": {read: (*completer).leftovers}, "leftovers drop --older": free, "leftovers list --older": free,

	"land --onto": {read: (*completer).branches}, "forage --base": {read: (*completer).branches},

	"show ID":          fromBoard((*boardReader).everything),
	"models show GOAL": fromBoard((*boardReader).everything), "models show --limit": free, "models pause WHY": free, "models resume WHY": free,
	"why ID":               fromBoard((*boardReader).everything),
	"graph ID":             fromBoard((*boardReader).everything),
	"unearth ID":           fromBoard((*boardReader).artefacts),
	"blame FILE":           files,
	"blame --at":           free,
	"ui --goal":            fromBoard((*boardReader).goals),
	"ui --port":            free,
	"board --goal":         fromBoard((*boardReader).goals),
	"list INSTANCE":        {read: (*completer).instanceNames},
	"report GOAL":          fromBoard((*boardReader).goals),
	"result GOAL":          fromBoard((*boardReader).goals),
	"try --artefact":       fromBoard((*boardReader).claimable),
	"logs --claim":         fromBoard((*boardReader).claims),
	"hoard --type":         fromBoard((*boardReader).types),
	"wait GOAL":            fromBoard((*boardReader).goals),
	"ledger export GOAL":   fromBoard((*boardReader).goals),
	"hoard --workflow":     fromBoard((*boardReader).goals),
	"logs --workflow":      fromBoard((*boardReader).goals),
	"watch --type":         fromBoard((*boardReader).types),
	"watch --workflow":     fromBoard((*boardReader).goals),
	"questions --workflow": fromBoard((*boardReader).goals),

	"watch --since":   {read: func(*completer) []candidate { return []candidate{{value: "all", about: "everything"}} }},
	"schema --output": {read: func(*completer) []candidate { return []candidate{{value: "json"}} }},

	"forage --file":          files,
	"try --context":          files,
	"ledger export --file":   files,
	"ledger import --bundle": files,
	"report --file":          files,
	"report --ledger":        files,
	"report --only":          {list: true, read: func(*completer) []candidate { return named(report.Fields()) }},
	"ledger import FILE":     files,
	"man DIR":                directories,

	"answer TEXT": free, "reject WHY": free, "review --feedback": free, "cancel WHY": free, "retry WHY": free, "retry --budget": free,
	"forage --goal": free, "forage TEXT": free, "try --goal": free, "try --trust": free, "try --type": free, "try --payload": free, "try --answer": free, "up --trust": free,
	"up --timeout": free, "up --redis-url": free, "restart --timeout": free, "down --timeout": free, "questions --timeout": free, "wait --timeout": free,
	"forage --timeout": free, "retry --timeout": free, "watch --timeout": free,
	"logs --lines": free, "logs --since": free, "goals --limit": free, "hoard --limit": free, "hoard --since": free, "hoard --until": free, "watch --until": free, "graph --depth": free,
	"__complete SHELL": free, "__complete WORDS": free,
}

// named are candidates without more to say about them.
func named(names []string) (all []candidate) {
	for _, name := range names {
		all = append(all, candidate{value: name})
	}
	return all
}

// Sources returns the names of all arguments and flags that have a source.
func Sources() []string { return slices.Sorted(maps.Keys(sources)) }

// completing is the locator with the flags typed so far. It prints nothing and asks nobody, and it
// has its own engine: a read that took too long may still use it.
func completing(at *instance.Locator, t *typedLine) *instance.Locator {
	on := *at.Terminal
	on.Stderr, on.Prompt = silence{}, silence{}
	on.Stdin = strings.NewReader("")
	return instance.New(&on, instance.Flags{
		Directory: cmp.Or(expanded(at, t.values["directory"]), at.Flags.Directory),
		Config:    cmp.Or(expanded(at, t.values["config"]), at.Flags.Config),
		Name:      cmp.Or(t.values["name"], at.Flags.Name),
	})
}

// silence is where nothing is said.
type silence struct{}

func (silence) Write(b []byte) (int, error) { return len(b), nil }

// expanded is a path as the shell will pass it once it expands ~.
func expanded(at *instance.Locator, path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == os.PathSeparator) && env.Home(at.Getenv) != "" {
		return filepath.Join(env.Home(at.Getenv), rest)
	}
	return path
}

func (c *completer) instanceNames() []candidate {
	all, err := c.at.All()
	if err != nil {
		return nil
	}
	var out []candidate
	for _, in := range all {
		out = append(out, candidate{value: in.Name, about: role.Clean(c.at.Tilde(in.Workspace))})
	}
	return out
}

// branches are those of the instance's repository.
func (c *completer) branches() []candidate {
	in, err := c.at.Find()
	if err != nil {
		return nil
	}
	return named(instance.Repository(c.at, in).Branches(c.ctx))
}

// leftovers are those of the instance's repository, newest first.
func (c *completer) leftovers() []candidate {
	in, err := c.at.Find()
	if err != nil {
		return nil
	}
	all, _ := instance.Leftovers(c.ctx, c.at, in)
	var out []candidate
	for _, l := range slices.Backward(all) {
		out = append(out, candidate{value: fmt.Sprintf("%s/%s-%d", words.Short(l.Claim), role.Clean(l.Agent), l.Attempt), about: words.Age(c.at.Now().Sub(l.At)) + " ago"})
	}
	return out
}

// running are the agents of the instance's last start, else those of sett.yml.
func (c *completer) running() []candidate {
	if in, err := c.at.Find(); err == nil {
		if cfg, err := in.Config(); err == nil {
			return agentCandidates(cfg)
		}
	}
	return c.configured()
}

// restartable are the agents and the parts that can be restarted alone.
func (c *completer) restartable() []candidate {
	out := c.running()
	if in, err := c.at.Find(); err == nil {
		cfg, err := in.Config()
		if err != nil {
			return out
		}
		for _, part := range instance.Restartable(cfg) {
			out = append(out, candidate{value: part, about: aboutPart})
		}
	}
	return out
}

// aboutPart describes a part that is no agent.
const aboutPart = "a part of Sett"

// configured are the agents of sett.yml.
func (c *completer) configured() []candidate {
	cfg, _, err := c.at.Config()
	if err != nil {
		return nil
	}
	return agentCandidates(cfg)
}

func agentCandidates(cfg *config.Config) []candidate {
	var out []candidate
	for _, agent := range cfg.Agents {
		out = append(out, candidate{value: agent.Name, about: role.Clean(agent.Role)})
	}
	return out
}

// logging are all that write logs, as sett logs knows them.
func (c *completer) logging() []candidate {
	in, err := c.at.Find()
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(in.LogsDir(), "*.log"))
	var kept []string
	for _, f := range files {
		kept = append(kept, logline.SourceOf(strings.TrimSuffix(filepath.Base(f), ".log")).Part)
	}
	out := c.running()
	for _, name := range in.Logging(kept) {
		if !slices.ContainsFunc(out, func(c candidate) bool { return c.value == name }) {
			out = append(out, candidate{value: name, about: aboutPart})
		}
	}
	return out
}

// ask reads the blackboard of the instance that is meant. It gives up a read that takes
// too long: the process is about to end.
func (c *completer) ask(read func(*boardReader) []candidate) []candidate {
	ctx, cancel := context.WithTimeout(c.ctx, completionTime)
	defer cancel()
	found := make(chan []candidate, 1)
	go func() {
		defer c.at.Close()
		b, _, done, err := c.at.Board(ctx)
		if err != nil {
			found <- nil
			return
		}
		defer done()
		found <- read(&boardReader{ctx: ctx, b: b, now: c.at.Now()})
	}()
	select {
	case all := <-found:
		return all
	case <-ctx.Done():
		return nil
	}
}

// boardReader reads the candidates from a blackboard. It leaves out those that it cannot read.
type boardReader struct {
	ctx context.Context
	b   *instance.Board
	now time.Time
}

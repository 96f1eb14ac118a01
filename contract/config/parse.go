package config

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Option changes how a file is read.
type Option func(*decoder)

// WithRuntime reads the file as if its runtime were the given one: RuntimeDocker or
// RuntimeProcess. The required keys depend on it. Empty leaves it to the file.
func WithRuntime(name string) Option { return func(d *decoder) { d.runtime = name } }

// DefaultRuntime is WithRuntime for a file without a runtime. Empty: RuntimeDocker is
// the default.
func DefaultRuntime(name string) Option { return func(d *decoder) { d.otherwise = name } }

// NoteRuntime sets said to the runtime that the file itself names; empty: it names none.
func NoteRuntime(said *string) Option { return func(d *decoder) { d.saysRuntime = said } }

// NoteEmbedded sets said to whether the file itself says that the blackboard is sett's own, or is not.
func NoteEmbedded(said *bool) Option { return func(d *decoder) { d.saysEmbedded = said } }

// NoteWarnings sets warnings to the doubts about a valid file, in file order.
func NoteWarnings(warnings *[]Warning) Option { return func(d *decoder) { d.warnings = warnings } }

// Parse reads a sett.yml. The file's name is for messages only. The error is an
// *Errors with all problems; the Config is then nil.
func Parse(filename string, src []byte, options ...Option) (*Config, error) {
	source := lineBreaks.Replace(strings.TrimPrefix(string(src), "\uFEFF"))
	d := newDecoder(filename, source)
	for _, o := range options {
		o(d)
	}
	c := d.file(source)
	if err := d.err(); err != nil {
		return nil, err
	}
	if d.warnings != nil {
		slices.SortStableFunc(d.doubts, func(a, b Warning) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
		*d.warnings = d.doubts
	}
	return c, nil
}

// lineBreaks turns the three line breaks of YAML into one.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// exampleAgent is the smallest clan.
const exampleAgent = `agents: {writer: {image: "writer:latest", command: ["/app/run.sh"]}}`

func (d *decoder) file(source string) *Config {
	switch {
	case len(source) > MaxSource:
		d.add(position{1, 1}, "", "the file is larger than %d KiB", MaxSource>>10)
		return nil
	case !utf8.ValidString(source):
		d.add(invalidAt(source), "save the file as UTF-8", "not UTF-8")
		return nil
	}
	root := parseTree(d.reporter, source)
	if root == nil || root.kind == nothing {
		if len(d.problems) == 0 {
			d.add(position{1, 1}, "sett init writes one to start from", "the file is empty")
		}
		return nil
	}
	return d.top(root)
}

// top reads the top level. The runtime comes first, at any place in the file: the
// required keys of an agent depend on it.
func (d *decoder) top(root *node) *Config {
	f := newFile()
	c := f.config
	keys := d.read.object(root, "", d.fields(f)...)
	says := keys["runtime"] != nil
	if d.saysRuntime != nil && says {
		*d.saysRuntime = c.Runtime
	}
	if d.saysEmbedded != nil {
		*d.saysEmbedded = f.embedded != position{}
	}
	if !says && d.runtime == "" {
		d.runtime = d.otherwise
	}
	d.oneURL(f)
	d.oneServer(f)
	d.resolveRun(c, keys, root)
	if f.agents == nil {
		d.readDefaults(&f.defaults)
		if root.kind == mapping && keys["agents"] == nil {
			d.add(root.at, "add one: "+exampleAgent, "no agents")
		}
		return c
	}
	d.readDefaults(&f.defaults)
	d.agents(f, keys["agents"])
	for i := range c.Agents {
		c.Agents[i].Commits = c.Commits
		if c.Runtime == RuntimeProcess {
			c.Agents[i].Local = c.Local
		}
	}
	c.noteTraced()
	c.noteFacts()
	d.checkBudgets(c, keys)
	d.checkLand(c, keys)
	if len(d.problems) == 0 {
		d.doubtCosts(c, keys)
		d.checkFlow(c, keys["agents"], f.agents)
	}
	return c
}

// resolveRun sets the place of the orchestrator. Without docker there is only the
// host; a file with another place contradicts itself, but a command-line flag may
// override the file's runtime.
func (d *decoder) resolveRun(c *Config, keys map[string]*node, root *node) {
	if c.Runtime == RuntimeProcess && c.Orchestrator.Run == RunContainer && d.runtime == "" {
		d.add(keys["orchestrator"].at, "under runtime: process the orchestrator is a process of the host",
			"orchestrator.run: container needs runtime: docker")
	}
	switch d.runtime {
	case "":
	case RuntimeDocker, RuntimeProcess:
		c.Runtime = d.runtime
	default:
		d.add(root.at, didYouMean(d.runtime, []string{RuntimeDocker, RuntimeProcess}), "unknown runtime %s", quote(d.runtime))
	}
	switch {
	case c.Runtime == RuntimeProcess:
		c.Orchestrator.Run = RunHost
	case c.Orchestrator.Run == "":
		c.Orchestrator.Run = RunContainer
	}
}

// invalidAt returns the place of the first byte that is not UTF-8.
func invalidAt(source string) position {
	at := position{1, 1}
	for len(source) > 0 {
		r, size := utf8.DecodeRuneInString(source)
		if r == utf8.RuneError && size == 1 {
			break
		}
		at.column++
		if r == '\n' {
			at = position{at.line + 1, 1}
		}
		source = source[size:]
	}
	return at
}

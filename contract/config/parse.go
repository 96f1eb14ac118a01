package config

import (
	"strings"
	"unicode/utf8"
)

// Option changes how a file is read.
type Option func(*decoder)

// WithRuntime makes the file be read as if its runtime were the given one:
// RuntimeDocker or RuntimeProcess. What must be there depends on it. Empty
// leaves it to the file.
func WithRuntime(name string) Option { return func(d *decoder) { d.runtime = name } }

// Parse reads a sett.yml. The file's name serves for messages only. The error is
// an *Errors with everything that is wrong; the Config is then nil.
func Parse(filename string, src []byte, options ...Option) (*Config, error) {
	source := lineBreaks.Replace(strings.TrimPrefix(string(src), "\uFEFF"))
	d := &decoder{reporter: newReporter(filename, source)}
	for _, o := range options {
		o(d)
	}
	c := d.file(source)
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// lineBreaks makes one of the three kinds that YAML knows.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// exampleAgent is the least that a clan can be.
const exampleAgent = `agents: {writer: {image: "writer:latest", command: ["/app/run.sh"]}}`

func (d *decoder) file(source string) *Config {
	switch {
	case len(source) > maxSource:
		d.add(position{1, 1}, "", "the file is larger than %d KiB", maxSource>>10)
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
	c := defaultConfig()
	d.top(c, root)
	return c
}

// top reads the top level. The runtime comes first, whatever its place in the
// file: what an agent needs depends on it.
func (d *decoder) top(c *Config, root *node) {
	var agents *node
	var redis, service urlSetting
	var embedded position
	keys := d.object(root, "",
		field{"version", d.version(&c.Version)},
		field{"runtime", oneOf(d, &c.Runtime, RuntimeDocker, RuntimeProcess)},
		field{"agents", func(n *node, _ string) { agents = n }},
		field{"services", d.section(
			field{"redis", d.section(
				field{"image", d.text(&c.Services.Redis.Image, imageName)},
				field{"url", d.url(&service)},
				field{"embedded", d.embedded(c, &embedded)})},
			field{"orchestrator", d.section(
				field{"image", d.text(&c.Services.Orchestrator.Image, imageName)})})},
		field{"orchestrator", d.orchestrator(c)},
		field{"redis", d.section(
			field{"url", d.url(&redis)},
			field{"give_up", d.duration(&c.Redis.GiveUp, false)},
			field{"timeout", d.duration(&c.Redis.Timeout, false)},
			field{"retries", d.count(&c.Redis.Retries, 0)})},
	)
	d.oneURL(c, redis, service)
	d.oneServer(c, redis, service, embedded)
	d.resolveRun(c, keys, root)
	if agents == nil {
		if root.kind == mapping && keys["agents"] == nil {
			d.add(root.at, "add one: "+exampleAgent, "no agents")
		}
		return
	}
	d.agents(c, agents, keys["agents"])
}

func (d *decoder) version(into *string) reader {
	return func(n *node, path string) {
		s, ok := d.written(n, path)
		if !ok {
			return
		}
		if s != DefaultVersion && s != "1" {
			d.add(n.at, "this sett reads version '"+DefaultVersion+"'", "unknown version %s", quote(s))
			return
		}
		*into = DefaultVersion
	}
}

func (d *decoder) orchestrator(c *Config) reader {
	o := &c.Orchestrator
	return d.section(
		field{"run", oneOf(d, &o.Run, RunContainer, RunHost)},
		field{"max_review_iterations", d.count(&o.MaxReviewIterations, 0)},
		field{"bid_timeout", d.duration(&o.BidTimeout, true)},
		field{"max_artefacts", d.count(&o.MaxArtefacts, 0)},
	)
}

// urlSetting is a URL and where it was given.
type urlSetting struct {
	url string
	at  position
}

func (d *decoder) url(into *urlSetting) reader {
	return func(n *node, path string) {
		into.at = n.at
		d.text(&into.url, redisURL)(n, path)
	}
}

// oneURL settles the Redis server's URL, which can be given in two places.
func (d *decoder) oneURL(c *Config, redis, service urlSetting) {
	if redis.url != "" && service.url != "" && redis.url != service.url {
		at := service.at
		if redis.at.line > at.line {
			at = redis.at
		}
		d.add(at, "they mean the same server; keep one of them", "redis.url and services.redis.url differ")
	}
	c.Redis.URL = redis.url
	if redis.url == "" {
		c.Redis.URL = service.url
	}
	c.Services.Redis.URL = c.Redis.URL
}

// embedded reads whether sett's own server is wanted, and notes where that stands.
func (d *decoder) embedded(c *Config, at *position) reader {
	return func(n *node, path string) {
		*at = n.at
		d.flag(&c.Services.Redis.Embedded)(n, path)
	}
}

// oneServer refuses a URL beside sett's own server.
func (d *decoder) oneServer(c *Config, redis, service urlSetting, embedded position) {
	if !c.Services.Redis.Embedded || c.Redis.URL == "" {
		return
	}
	given := "services.redis.url"
	if service.url == "" {
		given = "redis.url"
	}
	at := embedded
	for _, s := range []urlSetting{redis, service} {
		if s.url != "" {
			at = latest(at, s.at)
		}
	}
	d.add(at, "keep one of them", "services.redis.embedded and %s name two servers", given)
}

// resolveRun settles where the orchestrator runs. Without docker there is only
// the host; a file that says otherwise contradicts itself, a command-line flag
// that overrides its runtime does not.
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

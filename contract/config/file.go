package config

// file is a sett.yml on its way to a Config, or back: what the keys of its top
// level are bound to.
type file struct {
	config   *Config
	agents   *node      // read last
	redis    urlSetting // redis.url
	service  urlSetting // services.redis.url
	embedded position   // where services.redis.embedded stands
}

func newFile() *file { return &file{config: defaultConfig()} }

// Sett returns the configuration in the shape of sett.yml, for encoding/json and
// YAML: what is printed is itself a valid file that reads as the same Config. Of
// what is not given only that is left out which has no default.
func (c *Config) Sett() any {
	d := &decoder{reporter: newReporter("", "")}
	return writeFields(d.fields(&file{config: c}))
}

// fields are the keys of the top level.
func (d *decoder) fields(f *file) []field {
	c := f.config
	return []field{
		{"version", "Of the file's format.", d.version(&c.Version)},
		{"runtime", "Where agents run: in containers, or as processes of this machine, isolated by nothing.", oneOf(d, &c.Runtime, RuntimeDocker, RuntimeProcess)},
		{"agents", "The clan: a name for each agent, in lower-case letters, digits and hyphens, and what it is.", d.agentsPart(f)},
		{"approve", "Types of artefacts that wait until a person lets them through with sett approve; * stands for any characters.", d.types(&c.Approve)},
		{"notify", "What is run when a question is asked, a gate is reached or a workflow ends, with the event as JSON on stdin.",
			optional(d, &c.Notify, defaultNotify, d.notifyFields,
				need{"command", "add the program to run: command: [\"bin/notify\"]"})},
		{"orchestrator", "The policy by which claims are granted.", d.section(d.orchestratorFields(&c.Orchestrator)...)},
		{"redis", "How the blackboard is reached.", d.section(
			field{"url", "A Redis of your own; without, Sett starts one.", d.url(&f.redis, &c.Redis.URL)},
			field{"timeout", "Of one call.", d.duration(&c.Redis.Timeout, false)},
			field{"retries", "Of a call that did not come through.", d.count(&c.Redis.Retries, 0)},
			field{"give_up", "Unreachable for so long, a process ends with exit code 7.", d.duration(&c.Redis.GiveUp, false)})},
		{"services", "The containers that Sett needs for itself.", d.section(
			field{"redis", "The blackboard's server.", d.section(
				field{"image", "Under docker.", d.text(&c.Services.Redis.Image, imageName)},
				field{"embedded", "Sett's own server in place of Redis, as always without containers.", d.embedded(f)},
				field{"url", "The same setting as redis.url.", d.url(&f.service, nil)})},
			field{"orchestrator", "The control container.", d.section(
				field{"image", "Default: made from the sett that runs.", d.text(&c.Services.Orchestrator.Image, imageName)})})},
	}
}

func (d *decoder) orchestratorFields(o *Orchestrator) []field {
	return []field{
		{"run", "container, or host: a process, so that no container has the engine's socket. Default: container under docker.", oneOf(d, &o.Run, RunContainer, RunHost)},
		{"max_review_iterations", "Reworks of one artefact; 0: no limit.", d.count(&o.MaxReviewIterations, 0)},
		{"on_review_limit", "What follows when reviewers want more: fail ends the workflow, ask asks a person.", oneOf(d, &o.OnReviewLimit, ReviewLimitFail, ReviewLimitAsk)},
		{"bid_timeout", "After which an agent's silence counts as ignore; 0: the claim waits.", d.duration(&o.BidTimeout, true)},
		{"question_timeout", "After which a question without an answer is a Failure; 0: it waits.", d.duration(&o.QuestionTimeout, true)},
		{"max_artefacts", "Of one goal, which then fails; 0: no limit.", d.count(&o.MaxArtefacts, 0)},
	}
}

func (d *decoder) notifyFields(n *Notify) []field {
	return []field{
		{"command", "The program and its arguments; never a shell.", d.words(&n.Command)},
		{"image", "Under docker. Default: that of the first agent.", d.text(&n.Image, imageName)},
		{"environment", "The program's variables, as an agent's.", d.environment(&n.Environment)},
		{"timeout", "Of one run.", d.duration(&n.Timeout, false)},
	}
}

func (d *decoder) version(into *string) part {
	return part{
		read: func(n *node, path string) {
			s, ok := d.written(n, path)
			if !ok {
				return
			}
			if s != DefaultVersion && s != "1" {
				d.add(n.at, "this sett reads version '"+DefaultVersion+"'", "unknown version %s", quote(s))
				return
			}
			*into = DefaultVersion
		},
		shape: func() *schema { return &schema{Enum: []any{DefaultVersion, "1", 1}, Default: DefaultVersion} },
		write: func() any { return *into },
	}
}

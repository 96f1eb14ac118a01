package config

// file binds the keys of the top level of sett.yml to a Config.
type file struct {
	config   *Config
	agents   *node      // read last
	defaults defaults   // read before them
	redis    urlSetting // redis.url
	service  urlSetting // services.redis.url
	caFile   position   // of redis.ca_file
	embedded position   // of services.redis.embedded
}

func newFile() *file { return &file{config: defaultConfig()} }

// Sett returns the configuration in the shape of sett.yml, for encoding/json and
// YAML. The output is a valid file that reads as the same Config. It leaves out only
// keys without a value and without a default.
func (c *Config) Sett() any {
	d := newDecoder("", "")
	return writeFields(d.fields(&file{config: c}))
}

// fields are the keys of the top level.
func (d *decoder) fields(f *file) []field {
	c := f.config
	return []field{
		{"version", "Of the file's format.", d.version(&c.Version)},
		{"runtime", "Agents run in containers, or as processes of this machine without isolation.", oneOf(d.read, &c.Runtime, RuntimeDocker, RuntimeProcess)},
		{"agents", "The clan: a name for each agent, in lower-case letters, digits and hyphens, and its settings.", d.agentsPart(f)},
		{"defaults", "Settings of all agents. An agent's own key takes its place; workspace, resources, prompts, health_check, llm, budget and environment are merged.", d.defaultsPart(f)},
		{"approve", "Types of artefacts that wait for sett approve; * stands for any characters.", d.read.types(&c.Approve)},
		{"pin", "Files and folders of the repository, from its root, that agents' programs use and that no agent's change reaches before the next sett up. The programs that commands name are among them, with the other files of their folders.", d.read.paths(&c.Pin)},
		{"commits", "Types of artefacts whose payload is the hash of a commit, as that of a CodeCommit is.", d.read.names(&c.Commits)},
		{"land", "Results of achieved goals reach this branch by themselves.", optional(d.read, &c.Land, defaultLand, d.landFields,
			need{"onto", "name the branch: onto: main"})},
		{"notify", "A program that runs for each question, gate and end of a goal, with the event as JSON on stdin.",
			optional(d.read, &c.Notify, defaultNotify, d.notifyFields,
				need{"command", "add the program to run: command: [\"bin/notify\"]"})},
		{"otel", "Each goal is sent as a trace to a receiver of OpenTelemetry. Default: that of your OTEL_EXPORTER_OTLP_ENDPOINT, if it is set at sett up.",
			optional(d.read, &c.Otel, func() Otel { return Otel{} }, otelFields(d.read), need{"endpoint", "name the receiver: endpoint: http://localhost:4318"})},
		{"models", "Language models that agents may ask: a name for each, and its settings.", d.models(&c.Models)},
		{"budget", "Bounds of each goal's calls of models.", optional(d.read, &c.Budget, defaultBudget, d.topBudgetFields)},
		{"local", "Walls of local mode, on Linux: agents' programs write nothing but their own trees, temporary files, and the places named here.",
			optional(d.read, &c.Local, defaultLocal, func(l *Local) []field {
				return []field{{"write", "Files and directories: from the repository's root, below ~, or absolute.", d.read.machinePaths(&l.Write)}}
			}, need{"write", "name the places: write: [~/.cache], or none: write: []"})},
		{"orchestrator", "The policy by which claims are granted.", d.read.section(d.orchestratorFields(&c.Orchestrator)...)},
		{"redis", "The connection to the blackboard.", d.read.section(
			field{"url", "A Redis of your own; without, Sett starts one.", d.url(&f.redis, &c.Redis.URL)},
			field{"ca_file", "A PEM file with the certificate of the CA that signed those of a rediss:// server, relative to sett.yml; ~/ is your home directory. Without, known authorities are trusted.", caFile(d, f)},
			field{"timeout", "Of one call.", d.read.duration(&c.Redis.Timeout, false)},
			field{"retries", "Of a call that did not reach Redis.", d.read.count(&c.Redis.Retries, 0)},
			field{"give_up", "After so long without Redis, a process ends with exit code 7.", d.read.duration(&c.Redis.GiveUp, false)})},
		{"services", "The containers of Sett itself.", d.read.section(
			field{"redis", "The blackboard's server.", d.read.section(
				field{"image", "Under docker.", d.read.text(&c.Services.Redis.Image, imageName)},
				field{"embedded", "Sett's own server in place of Redis; local mode always uses it.", d.embedded(f)},
				field{"url", "The same setting as redis.url.", d.url(&f.service, nil)})},
			field{"orchestrator", "The control container.", d.read.section(
				field{"image", "Default: made from the running sett.", d.read.text(&c.Services.Orchestrator.Image, imageName)})},
			field{"repository", "The part that prepares agents' trees and keeps their commits.", d.read.section(
				field{"image", "Under docker, with git.", d.read.text(&c.Services.Repository.Image, imageName)})})},
	}
}

func (d *decoder) orchestratorFields(o *Orchestrator) []field {
	return []field{
		{"run", "container, or host: a process, so that no container has the engine's socket. Default: container under docker.", oneOf(d.read, &o.Run, RunContainer, RunHost)},
		{"max_review_iterations", "Reworks of one artefact; 0: no limit.", d.read.count(&o.MaxReviewIterations, 0)},
		{"on_review_limit", "Then, if reviewers want more: fail ends the goal, ask asks a person.", oneOf(d.read, &o.OnReviewLimit, ReviewLimitFail, ReviewLimitAsk)},
		{"bid_timeout", "After that, an agent's silence counts as ignore; 0: the claim waits.", d.read.duration(&o.BidTimeout, true)},
		{"question_timeout", "After that, a question without an answer is a Failure; 0: it waits.", d.read.duration(&o.QuestionTimeout, true)},
		{"max_artefacts", "Standard and Terminal ones of one goal, which then fails; 0: no limit.", d.read.count(&o.MaxArtefacts, 0)},
	}
}

func (d *decoder) notifyFields(n *Notify) []field {
	return []field{
		{"command", "The program and its arguments; never a shell.", d.read.words(&n.Command)},
		{"image", "Under docker. Default: that of the first agent.", d.read.text(&n.Image, imageName)},
		{"environment", "The program's variables, as an agent's.", d.read.environment(&n.Environment)},
		{"timeout", "Of one run.", d.read.duration(&n.Timeout, false)},
	}
}

func (d *decoder) version(into *string) part {
	return part{
		read: func(n *node, path string) {
			s, ok := d.read.written(n, path)
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

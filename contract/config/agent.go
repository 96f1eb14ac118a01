package config

import (
	"fmt"

	"sett/blackboard"
)

// agents reads the clan. The key is where the list stands, for messages.
func (d *decoder) agents(c *Config, n, key *node) {
	entries := d.mapping(n, "agents")
	if len(entries) == 0 && (n.kind == nothing || n.kind == mapping) {
		d.add(key.at, "add one: "+exampleAgent, "no agents")
		return
	}
	for _, e := range entries {
		c.Agents = append(c.Agents, d.agent(c, e))
	}
}

// agentsPart keeps the list for later: what an agent needs depends on the
// runtime, which may stand below it.
func (d *decoder) agentsPart(f *file) part {
	return part{
		read: func(n *node, _ string) { f.agents = n },
		shape: func() *schema {
			a := defaultAgent("")
			one := objectShape(d.agentFields(&a))
			one.Required = []string{"command"}
			one.AllOf = agentRules()
			own := make([]any, len(reservedNames))
			for i, name := range reservedNames {
				own[i] = name
			}
			names := &schema{Pattern: `^[a-z0-9][a-z0-9-]*$`, MaxLength: maxName, Not: &schema{Enum: own}}
			return &schema{Type: kinds{"object"}, MinProperties: 1, PropertyNames: names, Additional: one}
		},
		write: func() any {
			m := pairs{}
			for i := range f.config.Agents {
				a := &f.config.Agents[i]
				m = append(m, pair{a.Name, writeFields(d.agentFields(a))})
			}
			return m
		},
	}
}

func (d *decoder) agentFields(a *Agent) []field {
	return []field{
		{"role", "What others see as produced_by_role. Default: the agent's name.", d.text(&a.Role, roleName)},
		{"image", "The image to run in, any for Linux; Sett puts itself into it. Under docker this or build is required.", d.text(&a.Image, imageName)},
		{"build", "How the image is built: the folder of a Dockerfile, or a mapping as in compose.", d.build(&a.Build)},
		{"command", "The program that works, and its arguments; never a shell. It starts in the workspace's root, reads one JSON object on stdin and prints one on stdout.", d.words(&a.Command)},
		{"replicas", "Workers at once; above 1 means strategy: fresh_per_call.", d.count(&a.Replicas, 1)},
		{"strategy", "reuse: one container (process) for all grants. fresh_per_call: a new one for every grant. Default: reuse, with replicas above 1 fresh_per_call.", oneOf(d, &a.Strategy, StrategyReuse, StrategyFreshPerCall)},
		{"workspace", "How the agent sees the repository.", d.section(
			field{"mode", "ro: reads it, beside others. rw: changes it and commits, and has the working tree alone.", oneOf(d, &a.Workspace.Mode, blackboard.ReadOnly, blackboard.ReadWrite)})},
		{"environment", "The program's variables. NAME, or a name with nothing, takes the host's value; what is given is taken literally.", d.environment(&a.Environment)},
		{"resources", "Bounds of the container, under docker, as in compose.", d.resources(&a.Resources)},
		{"prompts", "Texts for agents that ask a language model, passed to the program as SETT_PROMPT_CLAIM and SETT_PROMPT_EXECUTION.", d.section(
			field{"claim", "How to bid.", d.prose(&a.Prompts.Claim)},
			field{"execution", "How to work.", d.prose(&a.Prompts.Execution)})},
		{"health_check", "How often the orchestrator asks for the agent's health; after so many failures in a row the agent is started anew. Not asked when absent.",
			optional(d, &a.HealthCheck, defaultHealthCheck, d.healthCheckFields)},
		{"bids", "What to bid on: artefact type to bid, * standing for any characters. An entry without * wins, then the first that fits; what fits none is ignored.", d.bids(&a.Bids)},
		{"bid_script", "Without bids: a program that is given the artefact on stdin and prints one of the four bids.", d.words(&a.BidScript)},
		{"timeout", "Of one run of the program.", d.duration(&a.Timeout, false)},
		{"stop_grace_period", "For a running program when its agent is told to stop; 0 kills it at once.", d.duration(&a.Grace, true)},
		{"retries", "New attempts when a worker dies; a program that fails is not tried again.", d.count(&a.Retries, 0)},
		{"network", "What the program may reach: nothing, the instance's own network (docker), or all.", oneOf(d, &a.Network, NetworkNone, NetworkInternal, NetworkFull)},
		{"warm", "Workers kept started, to wait for a grant; needs strategy: fresh_per_call.", d.count(&a.Warm, 0)},
		{"isolated_ports", "Under docker: each worker has ports of its own; needs strategy: fresh_per_call.", d.flag(&a.IsolatedPorts)},
		{"read_only", "Under docker: nothing can be written but /tmp and a workspace that is rw.", d.flag(&a.ReadOnly)},
	}
}

func (d *decoder) agent(c *Config, e entry) Agent {
	a := defaultAgent(e.key.text)
	d.agentName(e.key)
	keys := d.object(e.value, join("agents", a.Name), d.agentFields(&a)...)
	if e.value.kind == mapping || e.value.kind == nothing {
		d.resolve(&a, e.key, keys, c.Runtime)
	}
	return a
}

func (d *decoder) agentName(key *node) {
	switch name := key.text; {
	case !validName(name):
		hint := errName.Error()
		if fixed := cleanName(name, maxName); fixed != "" {
			hint = fmt.Sprintf("did you mean %q? %s", fixed, hint)
		}
		d.add(key.at, hint, "%s cannot name an agent", quote(name))
	case reservedName(name):
		d.add(key.at, "choose another name, such as \"my-"+name+"\"", "agent name %q is Sett's own", name)
	}
}

// resolve settles what depends on more than one key, and reports what cannot go
// together.
func (d *decoder) resolve(a *Agent, name *node, keys map[string]*node, runtime string) {
	path := join("agents", a.Name)
	if a.Role == "" {
		a.Role = a.Name
		if fault, hint := checkRoleName(a.Name); keys["role"] == nil && fault != "" {
			d.add(name.at, hint+"; add role:", "%s: %s", path, fault)
		}
	}
	if keys["command"] == nil {
		d.add(name.at, "add the program to run: command: [\"/app/run.sh\"]", "%s has no command", path)
	}
	switch {
	case keys["image"] != nil && keys["build"] != nil:
		d.add(later(keys["image"], keys["build"]), "keep one of them", "%s has both image and build", path)
	case keys["image"] == nil && keys["build"] == nil && runtime == RuntimeDocker:
		d.add(name.at, "add image: or build:, or run without containers: runtime: process",
			"%s has neither image nor build", path)
	}
	d.resolveStrategy(a, keys, path)
}

func (d *decoder) resolveStrategy(a *Agent, keys map[string]*node, path string) {
	switch {
	case a.Strategy == StrategyReuse && a.Replicas > 1:
		d.add(later(keys["replicas"], keys["strategy"]), "write strategy: fresh_per_call, or leave it out",
			"%s: replicas above 1 cannot be reused", path)
	case a.Strategy == "" && a.Replicas > 1:
		a.Strategy = StrategyFreshPerCall
	case a.Strategy == "":
		a.Strategy = StrategyReuse
	}
	if a.Warm > 0 && !a.Fresh() && !(a.Replicas > 1) {
		d.add(keys["warm"].at, "add strategy: fresh_per_call", "%s: only workers of fresh_per_call can be kept warm", path)
	}
	if a.IsolatedPorts && !a.Fresh() && !(a.Replicas > 1) {
		d.add(keys["isolated_ports"].at, "add strategy: fresh_per_call, or leave it out: a reused agent has its ports to itself",
			"%s: only workers of fresh_per_call share ports", path)
	}
}

// later returns the place of the key that stands further down.
func later(a, b *node) position {
	return latest(a.at, b.at)
}

// build has compose's two forms: a directory, or a mapping.
func (d *decoder) build(into **Build) part {
	fields := func(b *Build) []field {
		return []field{
			{"context", "The folder it is built from, relative to sett.yml.", d.text(&b.Context)},
			{"dockerfile", "Relative to context.", d.text(&b.Dockerfile)},
			{"args", "Build arguments.", d.buildArgs(&b.Args)},
		}
	}
	return part{
		read: func(n *node, path string) {
			b := defaultBuild()
			switch n.kind {
			case text:
				d.text(&b.Context).read(n, path)
			case nothing:
				d.wrongType(n, path, mapping, "")
			default:
				d.object(n, path, fields(&b)...)
			}
			*into = &b
		},
		shape: func() *schema {
			b := defaultBuild()
			return &schema{AnyOf: []*schema{{Type: kinds{"string"}, Pattern: visible}, objectShape(fields(&b))}}
		},
		write: func() any {
			if *into == nil {
				return nil
			}
			return writeFields(fields(*into))
		},
	}
}

func (d *decoder) resources(into *Resources) part {
	amounts := func(r *Resource, more ...field) part {
		return d.section(append(more,
			field{"cpus", "Processors, may be a fraction.", d.cpus(&r.CPUs)},
			field{"memory", "Bytes, or a number with k, m or g.", d.memory(&r.Memory)})...)
	}
	fields := []field{
		{"limits", "What it can use at most.", amounts(&into.Limits,
			field{"pids", "Processes and threads.", d.count(&into.Limits.Pids, 1)})},
		{"reservations", "What it is promised.", amounts(&into.Reservations)},
	}
	p := d.section(fields...)
	p.read = func(n *node, path string) {
		keys := d.object(n, path, fields...)
		limit, reserved := into.Limits, into.Reservations
		over := func(what string) {
			d.add(keys["reservations"].at, "a container cannot use more than its limit",
				"%s: more %s reserved than the limit allows", path, what)
		}
		if limit.CPUs > 0 && reserved.CPUs > limit.CPUs {
			over("cpus")
		}
		if limit.Memory > 0 && reserved.Memory > limit.Memory {
			over("memory")
		}
	}
	return p
}

func (d *decoder) healthCheckFields(h *HealthCheck) []field {
	return []field{
		{"interval", "From one question to the next.", d.duration(&h.Interval, false)},
		{"timeout", "In which an answer must come.", d.duration(&h.Timeout, false)},
		{"retries", "Failures in a row that count.", d.count(&h.Retries, 1)},
		{"start_period", "In which failures do not count.", d.duration(&h.StartPeriod, true)},
	}
}

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

func (d *decoder) agent(c *Config, e entry) Agent {
	a := defaultAgent(e.key.text)
	d.agentName(e.key)
	path := join("agents", a.Name)
	keys := d.object(e.value, path,
		field{"role", d.text(&a.Role, roleName)},
		field{"image", d.text(&a.Image, imageName)},
		field{"build", d.build(&a.Build)},
		field{"command", d.words(&a.Command)},
		field{"replicas", d.count(&a.Replicas, 1)},
		field{"strategy", oneOf(d, &a.Strategy, StrategyReuse, StrategyFreshPerCall)},
		field{"workspace", d.section(
			field{"mode", oneOf(d, &a.Workspace.Mode, blackboard.ReadOnly, blackboard.ReadWrite)})},
		field{"environment", d.environment(&a.Environment)},
		field{"resources", d.resources(&a.Resources)},
		field{"prompts", d.section(
			field{"claim", d.prose(&a.Prompts.Claim)},
			field{"execution", d.prose(&a.Prompts.Execution)})},
		field{"health_check", d.healthCheck(&a.HealthCheck)},
		field{"bids", d.bids(&a.Bids)},
		field{"bid_script", d.words(&a.BidScript)},
		field{"timeout", d.duration(&a.Timeout, false)},
		field{"stop_grace_period", d.duration(&a.Grace, true)},
		field{"retries", d.count(&a.Retries, 0)},
		field{"network", oneOf(d, &a.Network, NetworkNone, NetworkInternal, NetworkFull)},
		field{"warm", d.count(&a.Warm, 0)},
		field{"isolated_ports", d.flag(&a.IsolatedPorts)},
		field{"read_only", d.flag(&a.ReadOnly)},
	)
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
		if fault, hint := roleName(a.Name); keys["role"] == nil && fault != "" {
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

// build reads compose's two forms: a directory, or a mapping.
func (d *decoder) build(into **Build) reader {
	return func(n *node, path string) {
		b := &Build{Context: ".", Dockerfile: "Dockerfile"}
		switch n.kind {
		case text:
			d.text(&b.Context)(n, path)
		case nothing:
			d.wrongType(n, path, mapping, "")
		default:
			d.object(n, path,
				field{"context", d.text(&b.Context)},
				field{"dockerfile", d.text(&b.Dockerfile)},
				field{"args", d.buildArgs(&b.Args)})
		}
		*into = b
	}
}

func (d *decoder) resources(into *Resources) reader {
	amounts := func(r *Resource, more ...field) reader {
		return d.section(append(more, field{"cpus", d.cpus(&r.CPUs)}, field{"memory", d.memory(&r.Memory)})...)
	}
	return func(n *node, path string) {
		keys := d.object(n, path,
			field{"limits", amounts(&into.Limits, field{"pids", d.count(&into.Limits.Pids, 1)})},
			field{"reservations", amounts(&into.Reservations)})
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
}

func (d *decoder) healthCheck(into **HealthCheck) reader {
	return func(n *node, path string) {
		if n.kind == nothing {
			return
		}
		h := defaultHealthCheck()
		d.object(n, path,
			field{"interval", d.duration(&h.Interval, false)},
			field{"timeout", d.duration(&h.Timeout, false)},
			field{"retries", d.count(&h.Retries, 1)},
			field{"start_period", d.duration(&h.StartPeriod, true)})
		*into = &h
	}
}

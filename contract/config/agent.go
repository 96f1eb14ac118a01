package config

import (
	"cmp"
	"fmt"

	"sett/blackboard"
	"sett/contract/model"
)

// agents reads the clan. Messages use the place of key.
func (d *decoder) agents(f *file, key *node) {
	c, n := f.config, f.agents
	entries := d.read.mapping(n, "agents")
	if len(entries) == 0 && (n.kind == nothing || n.kind == mapping) {
		d.add(key.at, "add one: "+exampleAgent, "no agents")
		return
	}
	for _, e := range entries {
		c.Agents = append(c.Agents, d.agent(f, e))
	}
}

// agentsPart keeps the list for later: the required keys of an agent depend on the
// runtime, which may be below it.
func (d *decoder) agentsPart(f *file) part {
	return part{
		read: func(n *node, _ string) { f.agents = n },
		shape: func() *schema {
			a := defaultAgent("")
			one := orNothing(objectShape(d.agentFields(&a)))
			one.Not = &schema{Type: kinds{"object"}, Required: []string{"image", "build"}}
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
		{"role", "Others see it as produced_by_role. Default: the agent's name.", d.read.text(&a.Role, roleName)},
		{"image", "Any image for Linux; Sett adds its own binary. Under docker this or build is required, but for sett llm without the tool run.", d.read.text(&a.Image, imageName)},
		{"build", "The build of the image: the folder of a Dockerfile, or a mapping as in compose.", d.build(&a.Build)},
		{"command", "The program that works, and its arguments; never a shell. It starts in the workspace's root, reads one JSON object on stdin and prints one on stdout.", d.read.words(&a.Command)},
		{"adapter", "json: the program reads and prints the contract's JSON. check: its exit code decides: 0 approves, or is a result of the type makes. text: its stdout is the payload. commit: its changes to the tree are committed, and the commit is the payload. Default: json.", oneOf(d.read, &a.Adapter.Kind, AdapterJSON, AdapterCheck, AdapterText, AdapterCommit)},
		{"stdin", "Of the program: json (the contract's), payload (the artefact's payload alone), prompt (as plain text all that sett llm would tell a model) or none. Default: json.", oneOf(d.read, &a.Adapter.Stdin, StdinJSON, StdinPayload, StdinPrompt, StdinNone)},
		{"makes", "The type of its results, or a list of types. A result of another type is a Failure. Default: any; check and text need one where they work; of commit CodeCommit.", d.read.nameOrNames(&a.Adapter.Makes)},
		{"fail_on", "Of a check: exit (its exit code), or output: any text on stdout is feedback, too. Default: exit.", oneOf(d.read, &a.Adapter.FailOn, FailOnExit, FailOnOutput)},
		{"terminal", "Its results under an exclusive grant are final.", d.read.flag(&a.Adapter.Terminal)},
		{"replicas", "Workers at once; above 1 means strategy: fresh_per_call.", atMost(d.read, mostWorkers, d.read.count(&a.Replicas, 1), &a.Replicas)},
		{"concurrency", "Grants at once in its one container or process, each with a tree and a run of the program of its own; needs strategy: reuse.", atMost(d.read, mostConcurrency, d.read.count(&a.Concurrency, 1), &a.Concurrency)},
		{"strategy", "reuse: one container (process) for all grants. fresh_per_call: a new one for every grant. Default: reuse, with replicas above 1 fresh_per_call.", oneOf(d.read, &a.Strategy, StrategyReuse, StrategyFreshPerCall)},
		{"workspace", "The agent's access to the repository.", d.read.section(
			field{"mode", "Of its private tree. ro: reads it. rw: changes it and commits. none: it has none.",
				oneOf(d.read, &a.Workspace.Mode, blackboard.ReadOnly, blackboard.ReadWrite, blackboard.NoWorkspace)},
			field{"max_size", "The most that a commit of its program may bring, as 512m. A larger one breaks the contract.", d.read.memory(&a.Workspace.MaxSize)},
			field{"max_tree", "Its program is stopped when the files of the tree take more.", d.read.memory(&a.Workspace.MaxTree)},
			field{"min_free", "Its program is stopped when the disk has less space left.", d.read.memory(&a.Workspace.MinFree)},
			field{"keep", "Paths that are not committed and stay in the agent's own tree from one grant to the next, as node_modules. They get into no commit and no other tree. Needs mode: rw.", d.read.treePaths(&a.Workspace.Keep)},
			field{"copy", "Files of your working tree that are not committed, of which its trees get copies, as .env.test. sett up reads them. They get into no commit.", d.read.treePaths(&a.Workspace.Copy)},
			field{"sparse", "The folders that its trees have, with all below them and the files beside the way to them. Default: all.", d.read.treePaths(&a.Workspace.Sparse)})},
		{"environment", "The program's variables. NAME, or a name without a value, takes the host's value. In a given value ${NAME}, ${NAME:-default} and ${NAME:?message} stand for the host's, and $$ for a dollar.", d.read.environment(&a.Environment)},
		{"resources", "Bounds of the container, under docker, as in compose.", d.resources(&a.Resources)},
		{"prompts", "Texts for agents that ask a language model, passed to the program as SETT_PROMPT_CLAIM and SETT_PROMPT_EXECUTION.", d.read.section(
			field{"claim", "How to bid. With llm, and without bids and bid_script, the model bids by it.", d.read.prose(&a.Prompts.Claim)},
			field{"execution", "How to work.", d.read.prose(&a.Prompts.Execution)})},
		{"llm", "The model that the program may ask, by name. An agent with llm and no command is sett llm: the model itself does the work.",
			optional(d.read, &a.LLM, defaultLLM, d.llmFields, need{"model", "add model: the name of one of models"})},
		{"budget", "Bounds of the calls of each of its grants.", optional(d.read, &a.Budget, func() model.Budget { return model.Budget{} }, d.budgetFields)},
		{"health_check", "The orchestrator asks for the agent's health; after so many failures in a row the agent restarts. Without it, no check.",
			optional(d.read, &a.HealthCheck, defaultHealthCheck, d.healthCheckFields)},
		{"bids", "Artefact type to bid; * stands for any characters. Rules are tried in order; an exact name beats a pattern. No match means ignore. An agent never gets its own results unless an exact name says so.", d.read.bids(&a.Bids)},
		{"bid_script", "In place of bids: a program that reads the artefact on stdin and prints one of the four bids.", d.read.words(&a.BidScript)},
		{"bids_required", "When bid_script fails or the model gives no bid, the claim waits, and each is asked again; otherwise that is an ignore. bid_timeout does not count for this agent.", d.read.flag(&a.BidsRequired)},
		{"timeout", "Of one run of the program.", d.read.duration(&a.Timeout, false)},
		{"stop_grace_period", "For a running program when its agent stops; 0 kills it at once.", d.read.duration(&a.Grace, true)},
		{"retries", "New attempts when a worker dies; a failed program is not retried.", d.read.count(&a.Retries, 0)},
		{"network", "The hosts that the program may reach: none, the instance's own network (docker), or all.", oneOf(d.read, &a.Network, NetworkNone, NetworkInternal, NetworkFull)},
		{"warm", "Workers that are started early and wait for a grant; needs strategy: fresh_per_call.", atMost(d.read, mostWorkers, d.read.count(&a.Warm, 0), &a.Warm)},
		{"isolated_ports", "Under docker: each worker has ports of its own; needs strategy: fresh_per_call.", d.read.flag(&a.IsolatedPorts)},
		{"read_only", "Under docker: only /tmp and an rw workspace can be written, and no VOLUME of the image.", d.read.flag(&a.ReadOnly)},
	}
}

func (d *decoder) agent(f *file, e entry) Agent {
	a := defaultAgent(e.key.text)
	d.agentName(e.key)
	keys := d.read.object(f.defaults.into(e.value), join("agents", a.Name), d.agentFields(&a)...)
	a.Environment = f.defaults.environment(a.Environment)
	if e.value.kind == mapping || e.value.kind == nothing {
		d.resolve(&a, e.key, keys, f.config)
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

// resolve sets the values that depend on several keys, and reports keys that exclude
// each other.
func (d *decoder) resolve(a *Agent, name *node, keys map[string]*node, c *Config) {
	path := join("agents", a.Name)
	if a.Role == "" {
		a.Role = a.Name
		if fault, hint := checkRoleName(a.Name); keys["role"] == nil && fault != "" {
			d.add(name.at, hint+"; add role:", "%s: %s", path, fault)
		}
	}
	d.resolveLLM(a, c, name, keys, path)
	if keys["command"] == nil && a.LLM == nil {
		d.add(name.at, "add the program to run: command: [\"/app/run.sh\"]", "%s has no command", path)
	}
	switch {
	case keys["image"] != nil && keys["build"] != nil:
		d.add(later(keys["image"], keys["build"]), "keep one of them", "%s has both image and build", path)
	case keys["image"] == nil && keys["build"] == nil && c.Runtime == RuntimeDocker && a.NeedsImage():
		d.add(name.at, "add image: or build:, or run without containers: runtime: process",
			"%s has neither image nor build", path)
	}
	d.resolveStrategy(a, keys, path)
	resolveConcurrency(d, a, keys, path)
	resolvePids(d, a, cmp.Or(keys["resources"], name).at, path, c)
	d.resolveWorkspace(a, cmp.Or(keys["workspace"], name).at, path)
	d.resolveAdapter(a, name, keys, path)
}

// resolveAdapter checks the keys of an adapter against one another.
func (d *decoder) resolveAdapter(a *Agent, name *node, keys map[string]*node, path string) {
	at := func(key string) position {
		if n := keys[key]; n != nil {
			return n.at
		}
		return name.at
	}
	for value, usual := range map[*string]string{&a.Adapter.Kind: AdapterJSON, &a.Adapter.Stdin: StdinJSON, &a.Adapter.FailOn: FailOnExit} {
		if *value == usual {
			*value = "" // said or not, it is the same
		}
	}
	if a.Adapter.Kind == AdapterCheck && a.Adapter.Stdin == StdinPrompt {
		d.add(at("stdin"), "a check decides by its exit code; use adapter: text, commit or json", "%s: stdin: prompt is not for adapter: check", path)
	}
	kind := a.Adapter.Kind
	if kind != "" && len(a.Adapter.Makes) > 1 {
		d.add(at("makes"), "name one, or let the program choose with adapter: json", "%s: adapter: %s makes one type", path, kind)
	}
	switch {
	case kind == AdapterCommit:
		d.resolveCommit(a, at, path)
	case kind != "" && len(a.Adapter.Makes) == 0 && a.works():
		d.add(at("adapter"), "add makes: TYPE, or bid review on all that it looks at", "%s: the results of adapter: %s have no type", path, kind)
	}
	if keys["fail_on"] != nil && a.Adapter.Kind != AdapterCheck {
		d.add(at("fail_on"), "add adapter: check", "%s: fail_on is for adapter: check", path)
	}
}

// resolveCommit checks an agent whose changes are its results.
func (d *decoder) resolveCommit(a *Agent, at func(key string) position, path string) {
	if mode := a.Workspace.Mode; mode != blackboard.ReadWrite {
		place := at("workspace")
		if place == at("") {
			place = at("adapter")
		}
		d.add(place, "add workspace: {mode: rw}", "%s: adapter: commit needs a tree that it may change, and workspace.mode is %s", path, mode)
	}
	if a.bidsOn(blackboard.BidReview) {
		d.add(at("bids"), "bid exclusive or claim; a program that reviews has adapter: check", "%s: adapter: commit makes commits, and cannot review", path)
	}
	if len(a.Adapter.Makes) == 0 {
		a.Adapter.Makes = []string{blackboard.TypeCodeCommit}
	}
}

// works says whether an agent may bid anything but review.
func (a Agent) works() bool {
	for _, b := range a.Bids {
		if b.Bid == blackboard.BidClaim || b.Bid == blackboard.BidExclusive || b.Bid == BidModel {
			return true
		}
	}
	return len(a.Bids) == 0
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

// mostWorkers is the most workers of an agent, and the most that are kept warm beside them: each is a
// container or process with a tree.
const mostWorkers = 1000

// mostConcurrency is the most grants that one cub runs at once: each may have a tree, and a
// process with two pipes and more.
const mostConcurrency = 256

// resolveConcurrency checks the number of grants at once against the strategy, which is known.
func resolveConcurrency(d *decoder, a *Agent, keys map[string]*node, path string) {
	at := keys["concurrency"]
	switch {
	case a.Concurrency <= 1:
		return
	case a.Replicas > 1:
		d.add(later(at, keys["replicas"]), "keep one: concurrency runs grants in one process, replicas a process for each", "%s has both concurrency and replicas above 1", path)
	case a.Fresh():
		d.add(later(at, keys["strategy"]), "use replicas for workers at once, or strategy: reuse", "%s: concurrency needs strategy: reuse", path)
	}
}

// later returns the place of the key further down.
func later(a, b *node) position {
	return latest(a.at, b.at)
}

// build has compose's two forms: a directory, or a mapping.
func (d *decoder) build(into **Build) part {
	fields := func(b *Build) []field {
		return []field{
			{"context", "The folder of the build, relative to sett.yml.", d.read.text(&b.Context)},
			{"dockerfile", "Relative to context.", d.read.text(&b.Dockerfile)},
			{"args", "Build arguments.", d.read.buildArgs(&b.Args)},
		}
	}
	return part{
		read: func(n *node, path string) {
			b := defaultBuild()
			switch n.kind {
			case text:
				d.read.text(&b.Context).read(n, path)
			case nothing:
				d.read.wrongType(n, path, mapping, "")
			default:
				d.read.object(n, path, fields(&b)...)
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
		return d.read.section(append(more,
			field{"cpus", "Processors, may be a fraction.", d.read.cpus(&r.CPUs)},
			field{"memory", "Bytes, or a number with k, m or g.", d.read.memory(&r.Memory)})...)
	}
	fields := []field{
		{"limits", "The most that it can use.", amounts(&into.Limits,
			field{"pids", "Processes and threads, with about 30 of Sett's own; at least 32, and 2 more for each further grant of concurrency.", d.read.count(&into.Limits.Pids, 1)})},
		{"reservations", "The amount that it is promised.", amounts(&into.Reservations)},
	}
	p := d.read.section(fields...)
	p.read = func(n *node, path string) {
		keys := d.read.object(n, path, fields...)
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

// leastPids is the smallest limit of processes and threads. Sett's own part of a container
// has up to 30 threads; with fewer it crashes, or no tool can be started. Each further grant
// at once needs a thread, and a process for its tool.
func leastPids(a Agent) int { return 30 + 2*a.Slots() }

// resolvePids refuses a limit that leaves a container no room for the tool.
func resolvePids(d *decoder, a *Agent, at position, path string, c *Config) {
	least, has := leastPids(*a), a.Resources.Limits.Pids
	if c.Runtime == RuntimeDocker && has > 0 && has < least {
		d.add(at, fmt.Sprintf("Sett's own part of the container needs up to 30 processes and threads, and each grant at once 2 more: pids: %d or more", least),
			"%s.resources.limits.pids is too small: %d", path, has)
	}
}

func (d *decoder) healthCheckFields(h *HealthCheck) []field {
	return []field{
		{"interval", "From one question to the next.", d.read.duration(&h.Interval, false)},
		{"timeout", "Of one answer.", d.read.duration(&h.Timeout, false)},
		{"retries", "Failures in a row before the restart.", d.read.count(&h.Retries, 1)},
		{"start_period", "Time at the start without counting failures.", d.read.duration(&h.StartPeriod, true)},
	}
}

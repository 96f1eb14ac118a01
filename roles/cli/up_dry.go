package cli

import (
	"context"
	"net/url"
	"slices"

	"sett/contract/config"
	"sett/runtime"
)

// plan is what a sett up would do. The fields' names are part of the interface.
type plan struct {
	Instance   string         `json:"instance"`
	Workspace  string         `json:"workspace"`
	ConfigFile string         `json:"config_file"`
	Runtime    string         `json:"runtime"`
	Action     string         `json:"action"` // create, start or apply
	Changes    plannedChanges `json:"changes"`
	Blackboard plannedBoard   `json:"blackboard"`
	Parts      []plannedPart  `json:"parts"`
	Images     []plannedImage `json:"images"`
	Networks   []plannedThing `json:"networks"`
	Volumes    []plannedThing `json:"volumes"`
	Notices    []string       `json:"notices"` // what sett up would say besides
}

// What an up does with an instance.
const (
	actionCreate = "create" // nothing is known of it
	actionStart  = "start"  // it was there before, and does not run
	actionApply  = "apply"  // it runs
)

// plannedChanges are those of sett.yml since a running instance was told last.
type plannedChanges struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []string `json:"changed"`
	Policy  bool     `json:"policy"` // the orchestrator has something new to go by
	Notify  bool     `json:"notify"` // what is told of questions and ends
}

// plannedBoard is the blackboard.
type plannedBoard struct {
	Kind    string `json:"kind"`              // redis, embedded, or external: one of the user's own
	Address string `json:"address,omitempty"` // absent: a port that is free when it starts
}

// plannedPart is a unit of the instance, and what becomes of it.
type plannedPart struct {
	Part      string `json:"part"`
	Agent     string `json:"agent,omitempty"`
	Kind      string `json:"kind"`   // container or process
	Action    string `json:"action"` // start, restart, stop or keep
	Container string `json:"container,omitempty"`
	Image     string `json:"image,omitempty"`
	Network   string `json:"network,omitempty"`
}

// What becomes of a part.
const (
	partStart   = "start"
	partRestart = "restart"
	partStop    = "stop"
	partKeep    = "keep" // it runs, and goes on
)

// plannedImage is an image that containers are made of.
type plannedImage struct {
	For    string   `json:"for"` // sett, redis, orchestrator, or agent NAME
	Image  string   `json:"image"`
	Action string   `json:"action"`             // present, pull, build or make
	Pulls  []string `json:"pulls,omitempty"`    // images that a build needs, and that are not there
	Bases  []string `json:"based_on,omitempty"` // those that are
}

// plannedThing is a network or a volume.
type plannedThing struct {
	Name   string `json:"name"`
	Action string `json:"action"` // present or make
}

// foresee prints what Run would do, and does nothing.
func (c *upCmd) foresee(a *app) error {
	u := &upping{a: a, began: a.Now(), timeout: c.Timeout, plan: &plan{
		Changes: plannedChanges{Added: []string{}, Removed: []string{}, Changed: []string{}},
		Parts:   []plannedPart{}, Images: []plannedImage{}, Networks: []plannedThing{}, Volumes: []plannedThing{}, Notices: []string{},
	}}
	root, path, err := u.begin(c)
	if err != nil {
		return err
	}
	defer u.launch.done()
	if u.in, _, err = a.claimInstance(a.ctx, root, u.launch.taken, noLock); err != nil {
		return err
	}
	ctx, cancel := bounded(a.ctx, u.timeout, errTooLong)
	defer cancel()
	if err := u.foresee(ctx, root, path); err != nil {
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		return u.inTime(ctx, err)
	}
	return a.emit(c.outputs, shown{whole: u.plan, table: func() error { return u.plan.write(a) }})
}

// foresee goes the way of run, up to where something would be done.
func (u *upping) foresee(ctx context.Context, root, path string) error {
	p := u.plan
	p.Action = actionCreate
	if u.in.known() {
		p.Action = actionStart
	}
	found, err := u.look(ctx)
	if err != nil {
		return err
	}
	if found.inTheWay {
		u.foreseeStop(found)
	}
	before := u.in.URL
	if err := u.provide(ctx, root, path); err != nil {
		return err
	}
	p.Instance, p.Workspace, p.ConfigFile, p.Runtime = u.in.Name, root, path, u.c.Runtime
	if u.adopt {
		p.Action = actionApply
		err = u.foreseeChanges()
		if u.other != "" {
			u.note("it was started by %s; its parts are restarted with this one, sett %s", u.other, u.a.builtAs())
		}
	} else {
		err = u.locate(ctx)
	}
	if err != nil {
		return err
	}
	u.foreseeBoard(before)
	u.foreseeParts(found)
	if err := u.launch.foresee(ctx); err != nil {
		return err
	}
	if !u.in.Told {
		p.Notices = append(p.Notices, u.launch.notes()...)
	}
	if text := u.noRepository(); text != "" {
		p.Notices = append(p.Notices, clean(text))
	}
	return nil
}

// foreseeStop says what has to end before anything starts.
func (u *upping) foreseeStop(found standing) {
	runs := slices.ContainsFunc(found.units, func(unit runtime.Unit) bool { return unit.Running })
	if runs && found.stopping {
		u.note("a sett down was interrupted, and is finished first")
	}
	if runs && found.moved {
		u.note("what runs with runtime %s is stopped first", u.in.Runtime)
	}
	u.move(found)
}

// foreseeChanges compares what runs with sett.yml, as apply does.
func (u *upping) foreseeChanges() error {
	old, err := u.in.config()
	if err != nil {
		return err
	}
	c, to := config.Diff(old, u.c), &u.plan.Changes
	to.Added, to.Removed, to.Changed = append(to.Added, c.Added...), append(to.Removed, c.Removed...), append(to.Changed, c.Changed...)
	to.Policy, to.Notify = c.Policy, c.Notify
	return nil
}

// foreseeBoard says where the blackboard is going to be: at the port that it had, if
// that could be kept.
func (u *upping) foreseeBoard(before string) {
	b := &u.plan.Blackboard
	switch {
	case u.in.External:
		b.Kind = "external"
	case u.c.Runtime == config.RuntimeDocker && !u.c.Services.Redis.Embedded:
		b.Kind = "redis"
	default:
		b.Kind = "embedded"
	}
	at, err := url.Parse(u.in.URL)
	if was, wasErr := url.Parse(before); err == nil && wasErr == nil && (u.in.External || was.Host == at.Host) {
		b.Address = clean(at.Host)
	}
}

// foreseeParts says what becomes of each part. What runs of an agent goes on if it was
// started with what sett.yml says now.
func (u *upping) foreseeParts(found standing) {
	running := map[string]runtime.Unit{}
	for _, unit := range found.units {
		if unit.Running {
			running[unit.Name] = unit
		}
	}
	add := func(part, agent string, fits func(runtime.Unit) bool) {
		p := plannedPart{Part: part, Agent: agent, Kind: "process", Action: partStart}
		if u.isContainer(part) {
			p.Kind = "container"
		}
		if unit, runs := running[part]; runs {
			p.Action = partRestart
			if !found.inTheWay && fits(unit) {
				p.Action = partKeep
			}
		}
		u.plan.Parts = append(u.plan.Parts, p)
	}
	for _, part := range u.in.parts() {
		add(part, "", func(runtime.Unit) bool { return u.other == "" || !slices.Contains(u.in.ownProcesses(), part) })
	}
	for _, agent := range u.c.Agents {
		add(runtime.AgentUnit(agent.Name), agent.Name, func(unit runtime.Unit) bool { return unit.Labels[runtime.LabelConfig] == agent.Digest() })
	}
	for _, unit := range found.units {
		name := unit.Labels[runtime.LabelAgent]
		_, wanted := u.c.Agent(name)
		if unit.Running && unit.Labels[runtime.LabelComponent] == runtime.ComponentAgent && !wanted {
			add(unit.Name, name, func(runtime.Unit) bool { return false })
			u.plan.Parts[len(u.plan.Parts)-1].Action = partStop
		}
	}
	if _, runs := running[runtime.ComponentNotifier]; runs || u.c.Notify != nil {
		add(runtime.ComponentNotifier, "", func(unit runtime.Unit) bool { return unit.Labels[runtime.LabelConfig] == u.c.Notify.Digest() })
		if u.c.Notify == nil {
			u.plan.Parts[len(u.plan.Parts)-1].Action = partStop
		}
	}
	for _, agent := range u.c.Agents {
		if agent.Warm > 0 {
			u.note("agent %s: %s kept started besides", agent.Name, count(agent.Warm, "worker"))
		}
	}
}

// isContainer says whether a part of that name is a container.
func (u *upping) isContainer(part string) bool {
	return u.c.Runtime == config.RuntimeDocker && (!u.in.Host || !mayBeProcess(part))
}

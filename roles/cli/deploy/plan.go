package deploy

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/pin"
	"sett/roles/role"
	"sett/runtime"
)

// Plan is a sett up before it is done. A dry run prints it; the names of its fields are
// part of the interface.
type Plan struct {
	Instance   string         `json:"instance"`
	Workspace  string         `json:"workspace"`
	ConfigFile string         `json:"config_file"`
	Runtime    string         `json:"runtime"`
	Action     string         `json:"action"` // create, start or apply
	Changes    PlannedChanges `json:"changes"`
	Blackboard PlannedBoard   `json:"blackboard"`
	Parts      []PlannedPart  `json:"parts"`
	Images     []PlannedImage `json:"images"`
	Networks   []PlannedThing `json:"networks"`
	Volumes    []PlannedThing `json:"volumes"`
	Rights     []config.Right `json:"rights"`  // of sett.yml that nobody agreed to yet
	Notices    []string       `json:"notices"` // other notices of sett up

	state     instance.State // of the instance, for its directory
	clears    bool           // units that run are stopped before anything starts
	newData   bool           // the blackboard has no volume yet
	values    bool           // the host has other values for variables of the running instance
	other     string         // the running instance was started by this other sett; empty: by this one
	reloads   []string       // the changed settings of the orchestrator
	onlySett  []string       // changed agents that differ in the version of sett alone
	sameParts []string       // changed parts of sett itself that differ in its version alone
	onlyPin   []string       // changed agents that differ in the pinned files alone
	tells     bool           // there are notices that are said once
	atOnce    []string       // notices before anything is done
	atEnd     []string       // notices when the instance is ready
}

// The actions on an instance.
const (
	ActionCreate = "create" // nothing is known of it
	ActionStart  = "start"  // it was there before, and does not run
	actionApply  = "apply"  // it runs
)

// PlannedChanges are the changes of sett.yml since the last sett up of a running instance.
type PlannedChanges struct {
	Added   []string     `json:"added"`
	Removed []string     `json:"removed"`
	Changed []string     `json:"changed"`
	Pinned  []pin.Change `json:"pinned"` // changes of pinned files, also while the instance does not run
	Policy  bool         `json:"policy"` // settings of the orchestrator
	Notify  bool         `json:"notify"` // the notifier's settings

	Models     bool `json:"models"`     // the settings of the model gateway or its keys, or whether there are any models
	Repository bool `json:"repository"` // the settings of the role that prepares trees, or whether there are any
}

// PlannedBoard is the blackboard.
type PlannedBoard struct {
	Kind     string `json:"kind"`               // redis, embedded, or external: one of the user's own
	Address  string `json:"address,omitempty"`  // absent: a port that is free when it starts
	Converts bool   `json:"converts,omitempty"` // its records are of an older sett, and are converted, once: that shuts older ones out
}

// PlannedPart is a unit of the instance and the action on it.
type PlannedPart struct {
	Part      string `json:"part"`
	Agent     string `json:"agent,omitempty"`
	Kind      string `json:"kind"`   // container or process
	Action    string `json:"action"` // start, restart, restart_if_built, stop or keep
	Container string `json:"container,omitempty"`
	Image     string `json:"image,omitempty"`
	Network   string `json:"network,omitempty"`
}

// The actions on a part.
const (
	partStart   = "start"
	partRestart = "restart"
	PartStop    = "stop"
	PartKeep    = "keep" // it runs, and goes on
)

// PlannedImage is an image that containers are made of.
type PlannedImage struct {
	For    string   `json:"for"` // sett, redis, orchestrator, or agent NAME
	Image  string   `json:"image"`
	Action string   `json:"action"`             // present, pull, build or make
	Pulls  []string `json:"pulls,omitempty"`    // images that a build needs, and that are not there
	Bases  []string `json:"based_on,omitempty"` // those that are
}

// PlannedThing is a network or a volume.
type PlannedThing struct {
	Name   string `json:"name"`
	Action string `json:"action"` // present or make
}

// The actions on a network, a volume or an image. An image may also be pulled or built.
const (
	thingPresent = "present"
	ThingPull    = "pull"
	ThingBuild   = "build"
	thingMake    = "make"
)

// newPlan derives the plan from the facts, and from nothing else.
func newPlan(f *facts) *Plan {
	p := &Plan{
		Instance: f.state.Name, Workspace: f.root, ConfigFile: f.file, Runtime: f.desired.Runtime, Action: ActionCreate,
		Changes: PlannedChanges{Added: []string{}, Removed: []string{}, Changed: []string{}, Pinned: []pin.Change{}},
		Parts:   []PlannedPart{}, Images: []PlannedImage{}, Networks: []PlannedThing{}, Volumes: []PlannedThing{}, Rights: []config.Right{}, Notices: []string{},
	}
	switch {
	case f.runs():
		p.Action = actionApply
	case f.known:
		p.Action = ActionStart
	}
	p.clears = !f.runs() && f.unseen == nil && (f.stopping || f.moved() || !f.known)
	p.planState(f)
	p.planChanges(f)
	p.planPinned(f)
	p.Blackboard = p.board(f)
	p.noteFirst(f)
	p.planParts(f)
	if f.engine != nil {
		p.planEngine(f)
	}
	p.noteLast(f)
	return p
}

// planState settles the state of the instance, but for its ports.
func (p *Plan) planState(f *facts) {
	p.state = f.state
	s, containers := &p.state, f.desired.Runtime == config.RuntimeDocker
	s.Workspace, s.ConfigFile, s.Runtime, s.Down = f.root, f.file, f.desired.Runtime, false
	s.VariableCA = f.authority.variable
	if p.Action == actionApply {
		return
	}
	s.Sett = f.sett
	s.Embedded = containers && f.desired.Services.Redis.Embedded
	s.Host = containers && f.desired.Orchestrator.Run == config.RunHost
	if f.moved() {
		s.Told = false
		s.OnEngine = s.OnEngine || !containers
	}
	if f.moved() || s.External {
		s.URL = ""
	}
	if s.External = f.desired.Redis.URL != ""; s.External {
		s.URL = f.desired.Redis.URL
	}
}

// noteOtherBoard says where that is which happened until now, if the instance starts with another blackboard.
func (p *Plan) noteOtherBoard(f *facts) {
	database, external := strings.CutPrefix(f.upAt, externalBoard)
	switch {
	case f.upAt == "", f.upAt == boardOf(p.state): // nothing happened, or there
	case external:
		p.note(&p.atOnce, "what happened on %s is kept there, and seen with that only: --redis-url or SETT_REDIS_URL names it, or sett.yml does", database)
	default:
		p.note(&p.atOnce, "what happened with the other blackboard, Redis or sett's own, is kept apart")
	}
}

// The blackboards that boardOf tells apart.
const (
	externalBoard = "redis://" // the beginning of one on a server of the user's own
	ownBoard      = "own"
	embeddedBoard = "embedded"
)

// boardOf names the blackboard of a state, without the login.
func boardOf(s instance.State) string {
	switch {
	case s.External:
		return externalBoard + databaseOf(s.URL)
	case s.Embedded:
		return embeddedBoard
	}
	return ownBoard
}

// upAt names the blackboard with which an instance was up last; empty: it never was. An older
// sett noted the mark alone.
func upAt(in *instance.Instance) string {
	if in.UpAt == "" && in.URL != "" && in.Mark().ID != "" {
		return boardOf(in.State)
	}
	return in.UpAt
}

// databaseOf names the server and the database of a URL, without the login.
func databaseOf(redis string) string {
	at, err := url.Parse(redis)
	if err != nil {
		return ""
	}
	return role.Clean(at.Host + strings.TrimSuffix(strings.TrimSuffix(at.Path, "/0"), "/"))
}

// planChanges compares sett.yml with the configuration of the running instance.
func (p *Plan) planChanges(f *facts) {
	if p.Action != actionApply {
		return
	}
	if p.other = OtherSett(f.state.Sett, f.sett); p.other != "" {
		p.state.Sett = f.sett
	}
	p.values = newValues(f.before, f.desired) || f.before.Otel.OfThisMachine() != f.desired.Otel.OfThisMachine() || len(f.before.Models) == 0 && len(f.desired.Models) > 0 // or it does not know the gateway
	c, to := config.Diff(f.before, f.desired), &p.Changes
	to.Added, to.Removed, to.Changed = append(to.Added, c.Added...), append(to.Removed, c.Removed...), append(to.Changed, c.Changed...)
	to.Policy, to.Notify, to.Repository, to.Models = c.Policy, c.Notify, c.Repository, c.Models
	p.reloads = reloads(f.before, f.desired)
	if p.other != "" {
		p.sameParts = sameParts(f.before, f.desired)
	}
	for _, name := range c.Changed {
		was, _ := f.before.Agent(name)
		if is, _ := f.desired.Agent(name); p.other != "" && onlySett(was, is) {
			p.onlySett = append(p.onlySett, name)
		} else if onlyPin(was, is) {
			p.onlyPin = append(p.onlyPin, name)
		}
	}
}

// reloads names the settings of the orchestrator that differ.
func reloads(before, after *config.Config) (all []string) {
	if !slices.Equal(before.Approve, after.Approve) {
		all = append(all, "approve")
	}
	if !reflect.DeepEqual(before.Land, after.Land) {
		all = append(all, "land")
	}
	if !reflect.DeepEqual(before.Otel, after.Otel) {
		all = append(all, "otel")
	}
	if before.Orchestrator != after.Orchestrator {
		all = append(all, "orchestrator")
	}
	if config.Diff(&config.Config{Agents: before.Agents}, &config.Config{Agents: after.Agents}).Policy {
		all = append(all, "bids, replicas, warm or retries of agents")
	}
	return all
}

// board describes the blackboard.
func (p *Plan) board(f *facts) PlannedBoard {
	b := PlannedBoard{Kind: "embedded"}
	switch {
	case p.state.External:
		b.Kind = "external"
	case f.desired.Runtime == config.RuntimeDocker && !f.desired.Services.Redis.Embedded:
		b.Kind = "redis"
	}
	if b.Address = f.address; p.state.External || p.Action == actionApply {
		if at, err := url.Parse(p.state.URL); err == nil {
			b.Address = role.Clean(at.Host)
		}
	}
	return b
}

// part returns the plan of a part; nil: it has none.
func (p *Plan) part(name string) *PlannedPart {
	i := slices.IndexFunc(p.Parts, func(part PlannedPart) bool { return part.Part == name })
	if i < 0 {
		return nil
	}
	return &p.Parts[i]
}

// replaces says whether the running orchestrator gives way to one of another version.
func (p *Plan) replaces() bool {
	return p.Action == actionApply && (p.other != "" || p.values || p.part(runtime.ComponentOrchestrator).Action == partRestart)
}

// Idle says whether the instance is as it should be: nothing is to be done.
func (p *Plan) Idle() bool {
	differs := func(t PlannedThing) bool { return t.Action != thingPresent }
	return p.Action == actionApply && p.unchanged() && p.other == "" && !p.Blackboard.Converts &&
		!slices.ContainsFunc(p.Parts, func(part PlannedPart) bool { return part.Action != PartKeep }) &&
		!slices.ContainsFunc(slices.Concat(p.Networks, p.Volumes), differs)
}

// unchanged says whether sett.yml is as before.
func (p *Plan) unchanged() bool {
	c := p.Changes
	return len(c.Added)+len(c.Removed)+len(c.Changed) == 0 && !c.Policy && !c.Notify && !c.Repository && !c.Models
}

// noteFirst makes the notices of a beginning.
func (p *Plan) noteFirst(f *facts) {
	if f.asBefore && !f.moved() {
		p.note(&p.atOnce, "instance %s runs as processes, as before; --runtime docker for containers", p.Instance)
	}
	for _, sentence := range f.unset {
		p.note(&p.atOnce, "warning: %s", sentence)
	}
	if f.unseen != nil {
		p.note(&p.atOnce, "warning: what was left of runtime %s cannot be looked at: %v", f.state.Runtime, f.unseen)
	}
	if p.clears && slices.ContainsFunc(f.units, func(u runtime.Unit) bool { return u.Running }) {
		if f.stopping {
			p.note(&p.atOnce, "a sett down was interrupted, and is finished first")
		}
		if f.moved() {
			p.note(&p.atOnce, "what runs with runtime %s is stopped first", f.state.Runtime)
		}
	}
	if f.moved() {
		p.note(&p.atOnce, "what happened with runtime %s is kept, and seen with that only", f.state.Runtime)
	} else if p.Action == ActionStart {
		p.noteOtherBoard(f)
	}
	if f.engine != nil && p.Action != actionApply {
		for _, text := range f.engine.notices {
			p.note(&p.atOnce, "%s", text)
		}
	}
	for _, text := range slices.Concat(f.settings, f.notices, f.proxies) {
		p.note(&p.atOnce, "%s", text)
	}
	p.notePinned(f)
	if p.other != "" {
		p.note(nil, "it was started by %s; its parts are restarted with this one, sett %s", p.other, f.sett)
	}
}

// noteLast makes the notices that are read best at the end.
func (p *Plan) noteLast(f *facts) {
	before := len(p.atEnd)
	p.noteLocal(f)
	if !p.state.Told {
		if f.desired.Runtime == config.RuntimeDocker && f.desired.Services.Redis.Embedded {
			p.note(&p.atEnd, "the embedded blackboard knows one password: agents' cubs have the administrator's, which their tools do not see")
		}
		p.tells = p.tells || len(p.atEnd) > before
	}
	if !p.state.ToldValues && f.desired.Interpolates() {
		if f.before != nil { // an older sett took the same settings otherwise
			p.note(&p.atEnd, "environment and build.args: $NAME and ${NAME} in a value stand for this machine's variable, and $$ for a dollar; until now such values were literal")
		}
		p.tells = true
	}
	if f.landing != "" {
		p.note(&p.atEnd, "%s", f.landing)
	}
	if f.borrows != "" {
		p.note(&p.atEnd, "%s", f.borrows)
	}
	if f.evicts != "" {
		p.note(&p.atEnd, "%s", f.evicts)
	}
	for _, line := range f.pointers.lines {
		p.note(&p.atEnd, "%s", line)
	}
	if !f.repository {
		p.note(&p.atEnd, "%s is no git repository; sett forage wants one: git init", f.shown)
	}
}

// note adds a notice. An up prints it with the others of that list; nil: a dry run
// alone does.
func (p *Plan) note(list *[]string, format string, args ...any) {
	text := role.CleanText(fmt.Sprintf(format, args...))
	p.Notices = append(p.Notices, text)
	if list != nil {
		*list = append(*list, text)
	}
}

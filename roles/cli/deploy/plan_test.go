package deploy

import (
	"slices"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
)

// thisSett is the version of the sett that plans.
const thisSett = "2 (commit b)"

// planned are facts about an instance, with the desired configuration yml.
func planned(t *testing.T, yml string) *facts {
	t.Helper()
	c, err := config.Parse("sett.yml", []byte(yml))
	if err != nil {
		t.Fatal(err)
	}
	f := &facts{desired: c, file: "/clan/sett.yml", root: "/clan", shown: "~/clan", sett: thisSett, repository: true, state: instance.State{Name: "clan"}}
	if c.Runtime == config.RuntimeDocker {
		f.engine = &engineFacts{names: plannedNames{}, control: "sett:2", brain: "control-2", present: map[string]bool{}, images: []PlannedImage{
			{For: "sett", Image: "sett:2", Action: thingPresent}, {For: "redis", Image: "redis:7", Action: "pull"}, {For: "repository", Image: "git:1", Action: thingPresent},
			{For: "agent one", Image: "tools:1", Action: thingPresent},
		}}
		c.Services.Repository.Network = runtime.NetworkInternal
	}
	return f
}

// plannedNames names things on an engine as simply as can be.
type plannedNames struct{}

func (plannedNames) ContainerName(unit string) string { return "c-" + unit }
func (plannedNames) Network(reach string) string      { return "n-" + reach }
func (plannedNames) LedgerVolume() string             { return "v-ledger" }
func (plannedNames) ControlVolume() string            { return "v-control" }

// stopped makes the facts those of an instance that ran before.
func (f *facts) stopped() *facts {
	f.known = true
	f.state.Sett, f.state.Runtime, f.state.URL, f.state.Told, f.state.Control = thisSett, f.desired.Runtime, "redis://u:p@127.0.0.1:7000/0", true, "control-2"
	f.address = "127.0.0.1:7000"
	return f
}

// running makes the facts those of an instance that runs with the configuration yml.
func (f *facts) running(t *testing.T, yml string) *facts {
	t.Helper()
	f.stopped().before = planned(t, yml).desired
	unit := func(name, component, agent, digest string) {
		f.units = append(f.units, runtime.Unit{Name: name, Running: true,
			Labels: runtime.Labels{runtime.LabelComponent: component, runtime.LabelAgent: agent, runtime.LabelConfig: digest}})
	}
	will := &instance.Instance{State: f.state}
	for _, part := range will.Parts() {
		unit(part, part, "", "")
	}
	for _, agent := range f.before.Agents {
		unit(runtime.AgentUnit(agent.Name), runtime.ComponentAgent, agent.Name, agent.Digest())
	}
	unit(runtime.ComponentRepository, runtime.ComponentRepository, "", f.before.RepositoryDigest())
	if f.engine != nil {
		f.engine.present = map[string]bool{"n-full": true, "n-internal": true, "v-ledger": true, "v-control": true}
	}
	return f
}

const (
	planOne      = "runtime: process\nagents:\n  one: {command: [a]}\n"
	planTwo      = "runtime: process\napprove: [GoalDefined]\nagents:\n  one: {command: [b]}\n  two: {command: [a]}\n"
	planEmbedded = planDocker + "services: {redis: {embedded: true}}\n"
	planDocker   = "runtime: docker\nagents:\n  one: {image: 'tools:1', command: [a], network: internal}\n"
)

// An instance that starts with another blackboard than before says where that is which happened until now: a flag that
// is left out, as --redis-url, would hide its goals without a word.
func TestPlanOfAnotherBoard(t *testing.T) {
	const one, two, sett = "redis://:old@one:6379/0", "redis://two:6379/0", "redis://127.0.0.1:7000"
	for _, c := range []struct{ before, now, says string }{
		{one, "", "what happened on one:6379 is kept there, and seen with that only: --redis-url or SETT_REDIS_URL names it, or sett.yml does"},
		{one, two, "what happened on one:6379 is kept there"},
		{one, "redis://one:6379/1", "what happened on one:6379 is kept there"},
		{one, "redis://:new@one:6379", ""},
		{sett, two, "what happened with the other blackboard, Redis or sett's own, is kept apart"},
		{sett, "", ""},
		{"", two, ""},
	} {
		f := planned(t, planOne).stopped()
		f.state.URL, f.state.External, f.desired.Redis.URL = c.before, c.before == one, c.now
		if c.before != "" {
			f.upAt = boardOf(f.state)
		}
		said := strings.Join(newPlan(f).Notices, "\n")
		if !strings.Contains(said, c.says) || c.says == "" && strings.Contains(said, "what happened") || strings.Contains(said, "old") {
			t.Errorf("from %q to %q: %q", c.before, c.now, said)
		}
	}
	f := planned(t, planOne).stopped() // an up that never connected
	f.state.URL, f.state.External, f.desired.Redis.URL = one, true, two
	if said := strings.Join(newPlan(f).Notices, "\n"); strings.Contains(said, "what happened") {
		t.Errorf("nothing happened on %s: %q", one, said)
	}
	f.upAt = boardOf(instance.State{URL: "redis://zero:1", External: true}) // it was up before that one
	if said := strings.Join(newPlan(f).Notices, "\n"); !strings.Contains(said, "what happened on zero:1 is kept there") {
		t.Errorf("from zero, by %s: %q", one, said)
	}
}

// TestPlan: a plan follows from facts alone, without any runtime.
func TestPlan(t *testing.T) {
	interrupted := planned(t, planOne).running(t, planOne)
	interrupted.stopping = true
	other := planned(t, planOne).running(t, planOne)
	other.state.Sett = "1 (commit a)"
	moved := planned(t, planOne).running(t, planOne)
	moved.units, moved.state.Runtime = moved.units[3:], config.RuntimeDocker // an agent is left
	brain := planned(t, planDocker).running(t, planDocker)
	brain.engine.brain = "control-3"
	embedded := func(sett string) *facts {
		f := planned(t, planEmbedded).running(t, planEmbedded)
		f.state.Embedded, f.units[0].Labels[runtime.LabelSett] = true, sett
		return f
	}
	const embeddedThings = "sett:2 present, redis:7 pull, git:1 present, tools:1 present, n-full present, n-internal present, v-ledger present, v-control present"
	upgraded := embedded("1 (commit a)")
	upgraded.state.Sett = "1 (commit a)"
	unset := planned(t, planOne)
	unset.unset, unset.repository = []string{"agent one: variable X is not set here"}, false
	for _, c := range []struct {
		name    string
		facts   *facts
		action  string
		parts   string
		things  string // images, networks and volumes
		address string
		notices string
		flags   string
	}{
		{name: "new", facts: planned(t, planOne), action: ActionCreate, parts: "blackboard start, orchestrator start, keeper start, agent-one start, repository start", notices: "local mode isolates nothing", flags: "clears tells"},
		{name: "stopped", facts: planned(t, planOne).stopped(), action: ActionStart, parts: "blackboard start, orchestrator start, keeper start, agent-one start, repository start", address: "127.0.0.1:7000"},
		{name: "the same", facts: planned(t, planOne).running(t, planOne), action: actionApply, parts: "blackboard keep, orchestrator keep, keeper keep, agent-one keep, repository keep", address: "127.0.0.1:7000", flags: "idle"},
		{name: "changed", facts: planned(t, planTwo).running(t, planOne), action: actionApply, parts: "blackboard keep, orchestrator keep, keeper keep, agent-one restart, agent-two start, repository keep", address: "127.0.0.1:7000"},
		{name: "gone", facts: planned(t, planOne).running(t, planTwo), action: actionApply, parts: "blackboard keep, orchestrator keep, keeper keep, agent-one restart, agent-two stop, repository keep", address: "127.0.0.1:7000"},
		{name: "interrupted down", facts: interrupted, action: ActionStart, parts: "blackboard restart, orchestrator restart, keeper restart, agent-one restart, repository restart", address: "127.0.0.1:7000", notices: "is finished first", flags: "clears"},
		{name: "other sett", facts: other, action: actionApply, parts: "blackboard restart, orchestrator restart, keeper restart, agent-one keep, repository keep", address: "127.0.0.1:7000", notices: "it was started by sett 1 (commit a)", flags: "replaces"},
		{name: "moved", facts: moved, action: ActionStart, parts: "blackboard start, orchestrator start, keeper start, agent-one restart, repository restart", address: "127.0.0.1:7000", notices: "what runs with runtime docker is stopped first", flags: "clears tells"},
		{name: "notices", facts: unset, action: ActionCreate, parts: "blackboard start, orchestrator start, keeper start, agent-one start, repository start", notices: "warning: agent one: variable X is not set here", flags: "clears tells"},
		{name: "containers", facts: planned(t, planDocker), action: ActionCreate, parts: "blackboard start, orchestrator start, agent-one start, repository start",
			things: "sett:2 present, redis:7 pull, git:1 present, tools:1 present, n-full make, n-internal make, v-ledger make, v-control make", flags: "clears newData"},
		{name: "the same containers", facts: planned(t, planDocker).running(t, planDocker), action: actionApply, parts: "blackboard keep, orchestrator keep, agent-one keep, repository keep",
			things: "sett:2 present, redis:7 pull, git:1 present, tools:1 present, n-full present, n-internal present, v-ledger present, v-control present", address: "127.0.0.1:7000", flags: "idle"},
		{name: "the same embedded blackboard", facts: embedded(thisSett), action: actionApply, parts: "blackboard keep, orchestrator keep, agent-one keep, repository keep",
			things: embeddedThings, address: "127.0.0.1:7000", flags: "idle"},
		{name: "an embedded blackboard of another sett", facts: embedded("1 (commit a)"), action: actionApply, parts: "blackboard restart, orchestrator keep, agent-one keep, repository keep",
			things: embeddedThings, address: "127.0.0.1:7000"},
		{name: "one of an older sett", facts: embedded(""), action: actionApply, parts: "blackboard restart, orchestrator keep, agent-one keep, repository keep",
			things: embeddedThings, address: "127.0.0.1:7000"},
		{name: "all of another sett", facts: upgraded, action: actionApply, parts: "blackboard restart, orchestrator restart, agent-one keep, repository keep",
			things: embeddedThings, address: "127.0.0.1:7000", notices: "it was started by sett 1 (commit a)", flags: "replaces"},
		{name: "another control image", facts: brain, action: actionApply, parts: "blackboard keep, orchestrator restart, agent-one keep, repository keep",
			things: "sett:2 present, redis:7 pull, git:1 present, tools:1 present, n-full present, n-internal present, v-ledger present, v-control present", address: "127.0.0.1:7000", flags: "replaces"},
	} {
		p := newPlan(c.facts)
		var parts, things []string
		for _, part := range p.Parts {
			parts = append(parts, part.Part+" "+part.Action)
		}
		for _, i := range p.Images {
			things = append(things, i.Image+" "+i.Action)
		}
		for _, thing := range slices.Concat(p.Networks, p.Volumes) {
			things = append(things, thing.Name+" "+thing.Action)
		}
		if got := strings.Join(parts, ", "); p.Action != c.action || got != c.parts {
			t.Errorf("%s: %s\n got %s\nwant %s", c.name, p.Action, got, c.parts)
		}
		if got := strings.Join(things, ", "); got != c.things {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.things)
		}
		if p.Blackboard.Address != c.address || !strings.Contains(strings.Join(p.Notices, "\n"), c.notices) || c.notices == "" && len(p.Notices) > 0 {
			t.Errorf("%s: %s %q", c.name, p.Blackboard.Address, p.Notices)
		}
		if r := p.part(runtime.ComponentRepository); r.Kind == "container" && (r.Image != "git:1" || r.Network != "n-internal" || r.Container != "c-repository") {
			t.Errorf("%s: repository %+v", c.name, r)
		}
		if got := p.marks(); got != c.flags {
			t.Errorf("%s: %q, want %q", c.name, got, c.flags)
		}
	}
}

// marks are the decisions that no dry run prints.
func (p *Plan) marks() string {
	var all []string
	for _, m := range []struct {
		name string
		set  bool
	}{{"clears", p.clears}, {"idle", p.Idle()}, {"newData", p.newData}, {"replaces", p.replaces()}, {"tells", p.tells}} {
		if m.set {
			all = append(all, m.name)
		}
	}
	return strings.Join(all, " ")
}

// TestPlanChanges: a plan names the differences of sett.yml.
func TestPlanChanges(t *testing.T) {
	p := newPlan(planned(t, planTwo).running(t, planOne))
	if c := p.Changes; !slices.Equal(c.Added, []string{"two"}) || !slices.Equal(c.Changed, []string{"one"}) || len(c.Removed) > 0 || !c.Policy || !slices.Equal(p.reloads, []string{"approve"}) {
		t.Errorf("%+v %q", c, p.reloads)
	}
	other := planned(t, planOne).running(t, planOne)
	other.state.Sett = ""
	other.before.Agents[0].Resolved, other.desired.Agents[0].Resolved = &config.Resolved{Sett: "1"}, &config.Resolved{Sett: "2"}
	other.before.Services.Repository.Resolved, other.desired.Services.Repository.Resolved = &config.Resolved{Sett: "1"}, &config.Resolved{Sett: "2"}
	if p := newPlan(other); !p.Changes.Repository || !slices.Contains(p.sameParts, runtime.ComponentRepository) {
		t.Errorf("%+v", p)
	}
	other.desired.Services.Repository.Image = "git:2"
	if p := newPlan(other); slices.Contains(p.sameParts, runtime.ComponentRepository) {
		t.Errorf("with another image: %+v", p)
	}
	other.desired.Services.Repository.Image = other.before.Services.Repository.Image
	if p := newPlan(other); p.other != "an older sett" || !slices.Equal(p.onlySett, []string{"one"}) || p.state.Sett != thisSett {
		t.Errorf("%+v", p)
	}
}

// TestPlanRefused: what takes a new start, or another state directory's password, is refused.
func TestPlanRefused(t *testing.T) {
	stranger := planned(t, planOne).running(t, planOne)
	stranger.known = false
	for _, c := range []struct {
		facts *facts
		code  role.Code
	}{
		{planned(t, planOne), 0}, {planned(t, planTwo).running(t, planOne), 0},
		{planned(t, planDocker).running(t, planOne), role.Usage}, {stranger, role.Failed},
	} {
		if err := c.facts.refusal(); role.CodeOf(err) != c.code {
			t.Errorf("%v, want code %d", err, c.code)
		}
	}
}

// TestPlanOfBuilds: a dry run says keep only of agents whose build is known to make their image again.
func TestPlanOfBuilds(t *testing.T) {
	const yml = "runtime: docker\nnotify: {command: [x]}\nagents:\n  one: {build: ., command: [a]}\n  two: {image: t, command: [a]}\n"
	actions := func(image string, built bool) (all []string) {
		f := planned(t, yml).running(t, yml)
		f.engine.built = built
		f.engine.images[3].Action = image
		f.units = append(f.units, runtime.Unit{Name: runtime.ComponentNotifier, Running: true,
			Labels: runtime.Labels{runtime.LabelComponent: runtime.ComponentNotifier, runtime.LabelConfig: f.desired.Notify.Digest()}})
		p := newPlan(f)
		for _, part := range []string{"agent-one", "agent-two", runtime.ComponentNotifier} {
			all = append(all, p.part(part).Action)
		}
		if p.Idle() != (all[0] == PartKeep) {
			t.Errorf("%s: idle is %v", all, p.Idle())
		}
		return all
	}
	if got, want := actions(ThingBuild, false), []string{"restart_if_built", "keep", "restart_if_built"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, got := range [][]string{actions(ThingBuild, true), actions(thingPresent, false)} {
		if want := []string{"keep", "keep", "keep"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

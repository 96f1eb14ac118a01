package deploy

import (
	"slices"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role/words"
	"sett/runtime"
)

// planParts decides about each part. A running agent is kept if it was started with the
// configuration that sett.yml has now.
func (p *Plan) planParts(f *facts) {
	running := map[string]runtime.Unit{}
	for _, unit := range f.units {
		if unit.Running {
			running[unit.Name] = unit
		}
	}
	add := func(part, agent string, fits func(runtime.Unit) bool) *PlannedPart {
		planned := PlannedPart{Part: part, Agent: agent, Kind: "process", Action: partStart}
		if p.isContainer(part) {
			planned.Kind = "container"
		}
		if unit, runs := running[part]; runs {
			planned.Action = partRestart
			if p.Action == actionApply && fits != nil && fits(unit) {
				planned.Action = PartKeep
			}
		}
		p.Parts = append(p.Parts, planned)
		return &p.Parts[len(p.Parts)-1]
	}
	will := &instance.Instance{State: p.state}
	for _, part := range will.Parts() {
		add(part, "", func(runtime.Unit) bool { return !slices.Contains(p.replaced(will.OwnProcesses()), part) })
	}
	for _, agent := range f.desired.Agents {
		add(runtime.AgentUnit(agent.Name), agent.Name, func(unit runtime.Unit) bool { return unit.Labels[runtime.LabelConfig] == agent.Digest() })
	}
	for _, unit := range f.units {
		name := unit.Labels[runtime.LabelAgent]
		_, wanted := f.desired.Agent(name)
		if unit.Running && unit.Labels[runtime.LabelComponent] == runtime.ComponentAgent && !wanted {
			add(unit.Name, name, nil).Action = PartStop
		}
	}
	notify := f.desired.Notify
	if _, runs := running[runtime.ComponentNotifier]; runs || notify != nil {
		part := add(runtime.ComponentNotifier, "", func(unit runtime.Unit) bool { return unit.Labels[runtime.LabelConfig] == notify.Digest() })
		if notify == nil {
			part.Action = PartStop
		}
	}
	for _, kept := range []struct{ name, wanted string }{
		{runtime.ComponentRepository, f.desired.RepositoryDigest()}, {runtime.ComponentModelGateway, f.desired.ModelsDigest()},
	} {
		if _, runs := running[kept.name]; runs || kept.wanted != "" {
			part := add(kept.name, "", func(unit runtime.Unit) bool { return unit.Labels[runtime.LabelConfig] == kept.wanted })
			if kept.wanted == "" {
				part.Action = PartStop
			}
		}
	}
	for _, agent := range f.desired.Agents {
		if agent.Warm > 0 {
			p.note(nil, "agent %s: %s kept started besides", agent.Name, words.Count(agent.Warm, "worker"))
		}
	}
}

// isContainer says whether a part of that name is a container.
func (p *Plan) isContainer(part string) bool {
	return p.Runtime == config.RuntimeDocker && (!p.state.Host || !instance.MayBeProcess(part))
}

// planEngine adds the images, networks and volumes of the engine.
func (p *Plan) planEngine(f *facts) {
	refs := map[string]string{}
	p.Images = f.engine.images
	for _, i := range p.Images {
		refs[i.For] = i.Image
	}
	p.doubtBuilds(f)
	names := f.engine.names
	reached := map[string]bool{runtime.NetworkFull: true} // the blackboard's
	for i := range p.Parts {
		part := &p.Parts[i]
		if part.Kind != "container" {
			continue
		}
		reach := p.planContainer(f, part, refs)
		reached[reach] = true
		part.Container, part.Network = names.ContainerName(part.Part), names.Network(reach)
	}
	for _, reach := range []string{runtime.NetworkFull, runtime.NetworkInternal} {
		if reached[reach] {
			p.Networks = append(p.Networks, f.engine.thing(names.Network(reach)))
		}
	}
	if !p.state.External {
		p.Volumes = append(p.Volumes, f.engine.thing(names.LedgerVolume()))
		p.newData = !f.engine.present[names.LedgerVolume()]
	}
	if !p.state.Host {
		p.Volumes = append(p.Volumes, f.engine.thing(names.ControlVolume()))
	}
	p.Volumes = append(p.Volumes, f.engine.volumes...)
}

// partRestartIfBuilt is the action on a part that goes on if the build makes the image that
// it runs in, which a dry run cannot know.
const partRestartIfBuilt = "restart_if_built"

// doubtBuilds says of each part that runs in the image of a build that it may be restarted:
// whether the build makes that image again is known only when it is made, or if all that
// it depends on is as at the last sett up.
func (p *Plan) doubtBuilds(f *facts) {
	if f.engine.built {
		return
	}
	doubt := func(part, user string) {
		builds := func(i PlannedImage) bool { return i.For == user && i.Action == ThingBuild }
		if planned := p.part(part); planned != nil && planned.Action == PartKeep && slices.ContainsFunc(p.Images, builds) {
			planned.Action = partRestartIfBuilt
			p.note(nil, "%s is restarted if the build of %s makes another image", part, user)
		}
	}
	for _, agent := range f.desired.Agents {
		doubt(runtime.AgentUnit(agent.Name), agentImage(agent.Name))
	}
	if n := f.desired.Notify; n != nil && n.Image == "" {
		doubt(runtime.ComponentNotifier, agentImage(f.desired.Agents[0].Name))
	}
}

// planContainer adds the image of a part and returns the network that it may reach.
func (p *Plan) planContainer(f *facts, part *PlannedPart, refs map[string]string) (reach string) {
	own := f.engine.control
	switch part.Part {
	case runtime.ComponentBlackboard:
		if part.Image = refs[redisImage]; p.state.Embedded {
			part.Image = own
			if part.Action == PartKeep && (p.state.Control != f.engine.brain || !ofSett(f.units, part.Part, f.sett)) {
				part.Action = partRestart // sett's own, and of another version
			}
		}
		return runtime.NetworkFull
	case runtime.ComponentOrchestrator:
		if part.Image = refs[orchestratorImage]; part.Image == "" {
			part.Image = own
		}
		if part.Action == PartKeep && (p.state.Control != f.engine.brain || p.other != "" || p.values) {
			part.Action = partRestart // it is of another version, or lacks a value
		}
		return runtime.NetworkFull
	case runtime.ComponentNotifier:
		if part.Image = refs[runtime.ComponentNotifier]; part.Image == "" {
			part.Image = refs[agentImage(f.desired.Agents[0].Name)]
		}
		return runtime.NetworkFull
	case runtime.ComponentRepository:
		part.Image = refs[runtime.ComponentRepository]
		return f.desired.Services.Repository.Network
	case runtime.ComponentModelGateway:
		part.Image = own
		return runtime.NetworkFull
	}
	if part.Image = refs[agentImage(part.Agent)]; part.Image == "" {
		part.Image = own
	}
	agent, _ := f.desired.Agent(part.Agent)
	return runtime.AgentNetwork(agent.Network, !p.state.External)
}

// thing plans a network or a volume.
func (e *engineFacts) thing(name string) PlannedThing {
	if e.present[name] {
		return PlannedThing{name, thingPresent}
	}
	return PlannedThing{name, thingMake}
}

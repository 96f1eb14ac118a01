package cli

import (
	"context"

	"sett/contract/config"
	"sett/runtime"
	"sett/runtime/docker"
)

// foresee adds nothing: processes are all there is.
func (*processLauncher) foresee(context.Context) error { return nil }

// foresee completes the plan with what is on the engine.
func (l *containerLauncher) foresee(ctx context.Context) error {
	p := l.plan
	images, volumes := l.preview.Foreseen()
	refs := map[string]string{}
	for _, f := range images {
		refs[f.Name] = f.Ref
		i := plannedImage{For: f.Name, Image: f.Ref, Action: f.Action}
		for _, base := range f.Base {
			if base.Present {
				i.Bases = append(i.Bases, base.Ref)
			} else {
				i.Pulls = append(i.Pulls, base.Ref)
			}
		}
		p.Images = append(p.Images, i)
		if _, built := l.builtFor(f.Name); built && l.adopt {
			l.note("%s is restarted if its build makes another image", f.Name)
		}
	}
	needed := map[string]bool{l.containers().Network(runtime.NetworkFull): true} // the blackboard's, or whose own is elsewhere
	for i := range p.Parts {
		part := &p.Parts[i]
		if part.Kind != "container" {
			continue
		}
		reach := l.complete(part, refs)
		part.Container, part.Network = l.containers().ContainerName(part.Part), l.containers().Network(reach)
		needed[part.Network] = true
	}
	return l.foreseeThings(ctx, needed, volumes)
}

// builtFor returns the agent whose image has that name in messages, if it is built.
func (l *containerLauncher) builtFor(image string) (config.Agent, bool) {
	for _, agent := range l.c.Agents {
		if agentImage(agent.Name) == image {
			return agent, agent.Build != nil
		}
	}
	return config.Agent{}, false
}

// complete says what image a part is made of, and returns what it may reach.
func (l *containerLauncher) complete(part *plannedPart, refs map[string]string) (reach string) {
	switch part.Part {
	case runtime.ComponentBlackboard:
		part.Image = refs[redisImage]
		if l.embedded() {
			part.Image = l.control.Ref
		}
		return l.blackboardSpec().Container.Network
	case runtime.ComponentOrchestrator:
		if part.Image = refs[orchestratorImage]; part.Image == "" {
			part.Image = l.control.Ref
		}
		if part.Action == partKeep && (l.in.Control != l.brain.image || l.other != "") {
			part.Action = partRestart // it is of another version
		}
		return l.orchestratorSpec().Container.Network
	}
	part.Image = refs[agentImage(part.Agent)]
	agent, _ := l.c.Agent(part.Agent)
	return runtime.AgentNetwork(agent.Network, !l.in.External)
}

// foreseeThings adds networks and volumes.
func (l *containerLauncher) foreseeThings(ctx context.Context, networks map[string]bool, binaries []docker.Foreseen) error {
	p, c := l.plan, l.containers()
	add := func(to *[]plannedThing, name string, has func(context.Context, string) (bool, error)) error {
		there, err := has(ctx, name)
		action := docker.ActionMake
		if there {
			action = docker.ActionPresent
		}
		*to = append(*to, plannedThing{name, action})
		return err
	}
	for _, name := range []string{c.Network(runtime.NetworkFull), c.Network(runtime.NetworkInternal)} {
		if !networks[name] {
			continue
		}
		if err := add(&p.Networks, name, l.preview.HasNetwork); err != nil {
			return err
		}
	}
	if !l.in.External {
		if err := add(&p.Volumes, c.LedgerVolume(), l.preview.HasVolume); err != nil {
			return err
		}
	}
	if !l.in.Host {
		if err := add(&p.Volumes, c.ControlVolume(), l.preview.HasVolume); err != nil {
			return err
		}
	}
	for _, v := range binaries {
		p.Volumes = append(p.Volumes, plannedThing{v.Ref, v.Action})
	}
	return nil
}

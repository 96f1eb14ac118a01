package cli

import (
	"strings"

	"sett/runtime"
	"sett/runtime/docker"
)

// write shows the plan to people.
func (p *plan) write(a *app) error {
	what := map[string]string{
		actionCreate: "would be started, for the first time", actionStart: "would be started", actionApply: "runs already",
	}[p.Action]
	a.printf("%s  %s  %s\n", a.paint(p.Instance, bold), clean(a.tilde(p.Workspace)), what)
	if p.Action == actionApply {
		a.printf("  %s\n", p.changes(clean(a.relative(p.ConfigFile))))
	}
	t := a.table()
	if p.Blackboard.Kind == "external" {
		t.row("  blackboard", actionCell(partKeep), "your own", p.Blackboard.Address)
	}
	for _, part := range p.Parts {
		name := part.Part
		if part.Agent != "" {
			name = part.Agent
		}
		t.row("  "+name, actionCell(part.Action), part.where(), p.detail(part))
	}
	if err := t.write(a.Stdout); err != nil {
		return err
	}
	if err := p.writeThings(a); err != nil {
		return err
	}
	if len(p.Notices) > 0 {
		a.printf("\n")
	}
	for _, n := range p.Notices {
		if !strings.HasPrefix(n, "warning: ") {
			n = "note: " + n
		}
		a.printf("sett: %s\n", n)
	}
	a.printf("\nNothing was done: this was a dry run.\n")
	return nil
}

// changes says how sett.yml differs from what runs.
func (p *plan) changes(file string) string {
	var all []string
	for _, c := range []struct {
		what  string
		names []string
	}{{"new", p.Changes.Added}, {"changed", p.Changes.Changed}, {"gone", p.Changes.Removed}} {
		if len(c.names) > 0 {
			all = append(all, c.what+": "+strings.Join(c.names, ", "))
		}
	}
	if p.Changes.Policy {
		all = append(all, "the orchestrator goes by new settings")
	}
	if p.Changes.Notify {
		all = append(all, "notify changed")
	}
	if len(all) == 0 {
		return "nothing changed in " + file
	}
	return file + ": " + strings.Join(all, "; ")
}

func actionCell(action string) cell {
	as := map[string]style{partStart: good, partRestart: warn, partStop: bad, partKeep: dim,
		docker.ActionPresent: dim, docker.ActionMake: good, docker.ActionPull: good, docker.ActionBuild: good}[action]
	return cell{action, as}
}

// where says what the part is, and where it is to be found.
func (p plannedPart) where() string {
	if p.Container == "" {
		return p.Kind
	}
	return p.Kind + " " + p.Container
}

// detail says what a part is made of, and the blackboard's address.
func (p *plan) detail(part plannedPart) string {
	said := part.Image
	if part.Part != runtime.ComponentBlackboard {
		return said
	}
	at := p.Blackboard.Address
	if at == "" {
		at = "a free port of 127.0.0.1"
	}
	if said != "" {
		said += ", "
	}
	return said + at
}

// writeThings shows images, networks and volumes.
func (p *plan) writeThings(a *app) error {
	if len(p.Images)+len(p.Networks)+len(p.Volumes) == 0 {
		return nil
	}
	a.printf("\n")
	t := a.table()
	for _, i := range p.Images {
		more := ""
		if len(i.Pulls) > 0 {
			more = "pulls " + strings.Join(i.Pulls, ", ")
		}
		t.row("  image", actionCell(i.Action), i.Image, i.For, more)
	}
	for _, n := range p.Networks {
		t.row("  network", actionCell(n.Action), n.Name)
	}
	for _, v := range p.Volumes {
		t.row("  volume", actionCell(v.Action), v.Name)
	}
	return t.write(a.Stdout)
}

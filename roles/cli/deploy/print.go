package deploy

import (
	"fmt"
	"slices"
	"strings"

	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/runtime"
)

// Write shows the plan to people.
func (p *Plan) Write(at *instance.Locator) error {
	at.Printf("%s  %s", at.Paint(p.Instance, term.Bold), role.Clean(at.Tilde(p.Workspace)))
	at.Printf("%s\n", map[string]string{ActionCreate: "  would be started, for the first time", ActionStart: "  would be started"}[p.Action])
	p.tell(at)
	t := at.Table()
	if p.Blackboard.Kind == "external" {
		t.Row("  blackboard", actionCell(PartKeep), "your own", p.Blackboard.Address)
	}
	for _, part := range p.Parts {
		name := part.Part
		if part.Agent != "" {
			name = part.Agent
		}
		t.Row("  "+name, actionCell(part.Action), part.where(), p.detail(part))
	}
	if err := t.Write(at.Stdout); err != nil {
		return err
	}
	if err := p.writeThings(at); err != nil {
		return err
	}
	p.writeRights(at)
	if len(p.Notices) > 0 {
		at.Printf("\n")
	}
	sayNotices(func(format string, args ...any) {
		at.Printf("%s", term.Fold(at.Stdout, fmt.Sprintf(format, args...), "  "))
	}, p.Notices)
	at.Printf("\nNothing was done: this was a dry run.\n")
	return nil
}

// writeRights shows the rights that an up would ask for.
func (p *Plan) writeRights(at *instance.Locator) {
	if len(p.Rights) == 0 {
		return
	}
	at.Printf("\nRights that sett up would ask for; --yes or --trust DIGEST agrees:\n")
	for _, r := range p.Rights {
		signLine(at, "!", term.Warn, role.Clean(r.Key+": "+r.Text))
	}
}

// sayNotices prints notices, one a line.
func sayNotices(printf func(format string, args ...any), notices []string) {
	for _, n := range notices {
		if !strings.HasPrefix(n, "warning: ") {
			n = "note: " + n
		}
		printf("sett: %s\n", n)
	}
}

// tell prints the changes to a running instance, one a line.
func (p *Plan) tell(at *instance.Locator) {
	line := func(sign string, as term.Style, format string, args ...any) {
		signLine(at, sign, as, fmt.Sprintf(format, args...))
	}
	switch {
	case p.Action != actionApply:
		return
	case p.other != "":
		line("~", term.Warn, "was started by %s; its parts are restarted with this one, sett %s", role.Clean(p.other), p.state.Sett)
	case p.unchanged() && !p.replaces() && !p.renewsBoard():
		at.Printf("  runs already, nothing changed in %s\n", role.Clean(at.Relative(p.ConfigFile)))
		return
	}
	if len(p.Changes.Pinned) > 0 {
		line("~", term.Warn, "pinned files: %s", ChangedFiles(p.Changes.Pinned))
	}
	for _, name := range p.Changes.Added {
		line("+", term.Good, "%s: new", name)
	}
	for _, name := range p.Changes.Removed {
		line("-", term.Bad, "%s: gone, is stopped", name)
	}
	for _, name := range p.Changes.Changed {
		why := "changed, is restarted"
		if slices.Contains(p.onlySett, name) {
			why = "as before, is restarted with this sett"
		} else if slices.Contains(p.onlyPin, name) {
			why = "is restarted with the pinned files"
		}
		line("~", term.Warn, "%s: %s", name, why)
	}
	for _, own := range []struct {
		name    string
		changed bool
	}{{runtime.ComponentNotifier, p.Changes.Notify}, {runtime.ComponentRepository, p.Changes.Repository}, {runtime.ComponentModelGateway, p.Changes.Models}} {
		switch part := p.part(own.name); {
		case !own.changed:
		case part != nil && part.Action == PartStop:
			line("-", term.Bad, "%s: gone, is stopped", own.name)
		case slices.Contains(p.sameParts, own.name):
			line("~", term.Warn, "%s: as before, is started anew with this sett", own.name)
		default:
			line("~", term.Warn, "%s: changed, is started anew", own.name)
		}
	}
	if p.renewsBoard() {
		line("~", term.Warn, "blackboard: of another version, is replaced; it keeps what it holds")
	}
	switch o := p.part(runtime.ComponentOrchestrator); {
	case p.values && p.other == "":
		line("~", term.Warn, "orchestrator: gets the new values of this machine's variables and keys, is restarted")
	case p.replaces() && o.Kind == "container":
		line("~", term.Warn, "orchestrator: of another version, is replaced")
	}
	if p.Changes.Policy {
		line("~", term.Warn, "settings reloaded: %s", strings.Join(p.reloads, ", "))
	}
}

// signLine prints a text behind a sign.
func signLine(at *instance.Locator, sign string, as term.Style, text string) {
	const indent = "  "
	text = strings.TrimPrefix(term.Hang(at.Stdout, indent+sign+" ", text), indent+sign)
	at.Printf("%s%s%s\n", indent, at.Paint(sign, as), text)
}

func actionCell(action string) term.Cell {
	as := map[string]term.Style{partStart: term.Good, partRestart: term.Warn, partRestartIfBuilt: term.Warn, PartStop: term.Bad, PartKeep: term.Dim,
		thingPresent: term.Dim}[action]
	if as == "" {
		as = term.Good // make, pull, build
	}
	if action == partRestartIfBuilt {
		action = "restart if its build changes"
	}
	return term.Cell{Text: action, As: as}
}

// where names the kind of a part, and its container.
func (p PlannedPart) where() string {
	if p.Container == "" {
		return p.Kind
	}
	return p.Kind + " " + p.Container
}

// detail names the image of a part, and the blackboard's address.
func (p *Plan) detail(part PlannedPart) string {
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
func (p *Plan) writeThings(at *instance.Locator) error {
	if len(p.Images)+len(p.Networks)+len(p.Volumes) == 0 {
		return nil
	}
	at.Printf("\n")
	t := at.Table()
	for _, i := range p.Images {
		more := ""
		if len(i.Pulls) > 0 {
			more = "pulls " + strings.Join(i.Pulls, ", ")
		}
		t.Row("  image", actionCell(i.Action), i.Image, i.For, more)
	}
	for _, n := range p.Networks {
		t.Row("  network", actionCell(n.Action), n.Name)
	}
	for _, v := range p.Volumes {
		t.Row("  volume", actionCell(v.Action), v.Name)
	}
	return t.Write(at.Stdout)
}

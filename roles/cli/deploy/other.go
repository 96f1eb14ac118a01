package deploy

import (
	"slices"
	"strings"

	"sett/contract/config"
	"sett/runtime"
)

// onlySett says whether two configurations of an agent differ in the version of sett
// alone, and in nothing of sett.yml or of its image.
func onlySett(was, is config.Agent) bool {
	if was.Resolved != nil && is.Resolved != nil {
		resolved := *is.Resolved
		resolved.Sett, resolved.Binary = was.Resolved.Sett, was.Resolved.Binary
		is.Resolved = &resolved
	} else {
		was.Resolved, is.Resolved = nil, nil // a sett of before there was any
	}
	return was.Digest() == is.Digest()
}

// sameParts names the parts of sett itself that differ in its version alone, and in nothing of sett.yml.
func sameParts(before, after *config.Config) (names []string) {
	was, is := *before, *after
	settle := func(was, is **config.Resolved, image bool) {
		if *was == nil || *is == nil { // a sett of before there was any
			*was, *is = nil, nil
			return
		}
		now := **is
		if now.Sett, now.Binary = (*was).Sett, (*was).Binary; image {
			now.Image = (*was).Image
		}
		*is = &now
	}
	if was.Notify != nil && is.Notify != nil {
		one, other := *was.Notify, *is.Notify
		settle(&one.Resolved, &other.Resolved, false)
		was.Notify, is.Notify = &one, &other
	}
	settle(&was.Services.Repository.Resolved, &is.Services.Repository.Resolved, false)
	settle(&was.Services.ModelGateway.Resolved, &is.Services.ModelGateway.Resolved, true) // its image is sett's own
	c := config.Diff(&was, &is)
	for name, changed := range map[string]bool{runtime.ComponentNotifier: c.Notify, runtime.ComponentRepository: c.Repository, runtime.ComponentModelGateway: c.Models} {
		if !changed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// OtherSett names the sett that started an instance; empty: this one did.
func OtherSett(started, this string) string {
	switch started {
	case this:
		return ""
	case "":
		return "an older sett"
	}
	return "sett " + started
}

// ofSett says whether the container of a part runs that sett. One of an older sett does not say it.
func ofSett(units []runtime.Unit, part, sett string) bool {
	return slices.ContainsFunc(units, func(u runtime.Unit) bool { return u.Name == part && u.Labels[runtime.LabelSett] == sett })
}

// renewsBoard says whether the running blackboard gives way to one of this sett: sett's own, in a container.
func (p *Plan) renewsBoard() bool {
	board := p.part(runtime.ComponentBlackboard)
	return p.Action == actionApply && p.state.Embedded && board != nil && board.Action == partRestart
}

// flagsOf names the flags that made an instance differ from the desired one, in parentheses; empty: none is known.
func flagsOf(before, desired *config.Config) string {
	var flags []string
	if before.Runtime != desired.Runtime {
		flags = append(flags, "--runtime "+before.Runtime)
	}
	if was := before.Redis.URL; was != "" && was != desired.Redis.URL {
		flags = append(flags, "--redis-url")
	}
	if before.Services.Redis.Embedded && !desired.Services.Redis.Embedded {
		flags = append(flags, "--embedded")
	}
	if was := before.Orchestrator.Run; was != desired.Orchestrator.Run && before.Runtime == config.RuntimeDocker {
		flags = append(flags, "--orchestrator "+was)
	}
	if len(flags) == 0 {
		return ""
	}
	return " (" + strings.Join(flags, ", ") + ")"
}

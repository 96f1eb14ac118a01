package docker

import "github.com/docker/docker/api/types/system"

// Shortfalls says, a sentence each, what of the hardening this engine cannot
// enforce or has to do without. None for an engine that does all.
func (e *Engine) Shortfalls() []string { return e.shortfalls }

func shortfallsOf(info system.Info, f Facts) []string {
	var all []string
	say := func(when bool, sentence string) {
		if when {
			all = append(all, sentence)
		}
	}
	seccomp := securityOption(info, "seccomp")
	say(seccomp == nil, "This engine filters no system calls of containers: it was built or started without seccomp.")
	say(seccomp != nil && seccomp["profile"] == "unconfined", "This engine filters no system calls of containers: its seccomp profile is \"unconfined\".")
	say(!info.MemoryLimit, "Memory limits are not enforced: an agent can use up the machine's memory.")
	say(info.MemoryLimit && !info.SwapLimit, "Memory limits do not count swap: an agent over its limit swaps instead of ending.")
	say(!info.PidsLimit, "The number of an agent's processes is not limited: a fork bomb reaches the whole machine.")
	say(!info.CPUCfsQuota, "CPU limits are not enforced: an agent can keep every processor busy.")
	say(f.Rootless, "This engine is rootless: agents are root in their containers, which outside is the user that the engine runs as.")
	say(f.UserNamespaces, "This engine maps users (userns-remap), and this instance's containers opt out of it: otherwise the files that agents write would belong to nobody here.")
	say(f.SELinux, "SELinux does not keep agents apart: containers that see the workspace run without its labels, or they could not read it.")
	say(info.Driver == "vfs", "The storage driver \"vfs\" copies the whole image for every container: starts are slow and the disk fills.")
	return all
}

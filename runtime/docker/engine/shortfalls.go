package engine

import "github.com/docker/docker/api/types/system"

// Shortfall is a part of the hardening that an engine cannot enforce.
type Shortfall struct {
	Sentence string // for people
	Remedy   string // without a period; empty: it is the price of the engine's setup
}

// Shortfalls returns the parts of the hardening that this engine cannot enforce.
func (e *Engine) Shortfalls() []Shortfall { return e.shortfalls }

const (
	noSeccomp = "start the engine with its default seccomp profile, on a kernel with CONFIG_SECCOMP"
	noCgroups = "give the engine the controller: in a rootless engine delegate cgroup v2 to its user (systemd's Delegate=), else enable it in the kernel"
	noSwap    = "boot the kernel with swapaccount=1, or swapoff -a"
	aVFS      = "let the engine use overlay2, or fuse-overlayfs where it is rootless"
)

func shortfallsOf(info system.Info, f Facts) []Shortfall {
	var all []Shortfall
	say := func(when bool, sentence, remedy string) {
		if when {
			all = append(all, Shortfall{sentence, remedy})
		}
	}
	seccomp := securityOption(info, "seccomp")
	say(seccomp == nil, "This engine filters no system calls of containers: it was built or started without seccomp.", noSeccomp)
	say(seccomp != nil && seccomp["profile"] == "unconfined", "This engine filters no system calls of containers: its seccomp profile is \"unconfined\".", noSeccomp)
	say(!info.MemoryLimit, "Memory limits are not enforced: an agent can use up the machine's memory.", noCgroups)
	say(info.MemoryLimit && !info.SwapLimit, "Memory limits do not count swap: an agent over its limit swaps instead of ending.", noSwap)
	say(!info.PidsLimit, "The number of an agent's processes is not limited: a fork bomb reaches the whole machine.", noCgroups)
	say(!info.CPUCfsQuota, "CPU limits are not enforced: an agent can keep every processor busy.", noCgroups)
	say(f.Rootless, "This engine is rootless: agents are root in their containers, which outside is the user that the engine runs as.", "")
	say(f.UserNamespaces, "This engine maps users (userns-remap), and this instance's containers opt out of it: otherwise the files that agents write would belong to nobody here.", "")
	say(f.SELinux, "SELinux does not keep agents apart: containers that see the workspace run without its labels, or they could not read it.", "")
	say(info.Driver == "vfs", "The storage driver \"vfs\" copies the whole image for every container: starts are slow and the disk fills.", aVFS)
	return all
}

// Package container describes the container of an agent's tool, as the orchestrator starts
// it and as sett try does. It starts nothing.
package container

import (
	"cmp"
	"path"
	"strconv"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role/store"
	"sett/runtime"
)

// The limits of an agent's container without any in sett.yml. The engine's own size is
// another limit.
const (
	CPUs   = 2
	Memory = 2 << 30
	Pids   = 512
	Tmp    = 1 << 30 // of /tmp, at most: it counts as memory, and the tool keeps half of the memory
)

// Places in an agent's container.
const (
	Workspace = "/workspace"
	Objects   = "/.sett-objects" // the store's, read-only
	TreeGit   = "/.sett-git"     // the repository of a read-only tree
	Pin       = "/.sett-pin"
	RedisCA   = "/.sett-redis-ca" // read-only, with the file CAName: the certificates that vouch for the blackboard's server
	CAName    = "ca.pem"
	Home      = "/tmp" // the one place that can always be written
)

// Of returns the container of an agent with an image, which runs as a user (uid:gid). It
// has no network yet.
func Of(agent config.Agent, user string) runtime.Container {
	r, limits := agent.Resolved, agent.Resources.Limits
	c := runtime.Container{
		Image: r.Image, Binary: r.Binary, User: user, Writable: !agent.ReadOnly,
		CPUs: cmp.Or(limits.CPUs, CPUs), Memory: cmp.Or(limits.Memory, Memory), Pids: cmp.Or(int64(limits.Pids), Pids),
		MemoryKept: agent.Resources.Reservations.Memory, CPUsKept: agent.Resources.Reservations.CPUs,
	}
	// A reservation above our own default raises the limit.
	c.Memory, c.CPUs = max(c.Memory, c.MemoryKept), max(c.CPUs, c.CPUsKept)
	c.Tmp = min(Tmp, c.Memory/2)
	return c
}

// InSlot is a place of the tree of a slot, from 1: a directory in one that all slots share.
// Slot 0 is the only one, and has it for itself.
func InSlot(place string, slot int) string {
	if slot == 0 {
		return place
	}
	return path.Join(place, strconv.Itoa(slot))
}

// Mounts returns the mounts of a private tree, with the objects of its store. Where the tool
// cannot write the tree, the tree's repository lies beside it. The slot is as for InSlot.
func Mounts(tree *store.Tree, slot int, objects string, mode blackboard.WorkspaceMode) []runtime.Mount {
	readOnly := mode != blackboard.ReadWrite
	mounts := []runtime.Mount{
		{Source: tree.Dir(), Target: InSlot(Workspace, slot), ReadOnly: readOnly},
		{Source: objects, Target: Objects, ReadOnly: true},
	}
	if readOnly {
		mounts = append(mounts, runtime.Mount{Source: tree.GitDir(), Target: InSlot(TreeGit, slot)})
	}
	return mounts
}

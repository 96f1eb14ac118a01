package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
)

// Changes is what applying a new configuration to a running instance takes.
type Changes struct {
	Added    []string `json:"added"`    // agents to start, sorted
	Removed  []string `json:"removed"`  // agents to stop, sorted
	Changed  []string `json:"changed"`  // agents to restart, sorted
	Policy   bool     `json:"policy"`   // the orchestrator has something new to go by
	Notify   bool     `json:"notify"`   // what notifies people is to be started, restarted or stopped
	Instance bool     `json:"instance"` // runtime, services, redis or where the orchestrator runs: takes a new start of all
}

// Empty says whether nothing changed.
func (c Changes) Empty() bool {
	return len(c.Added)+len(c.Removed)+len(c.Changed) == 0 && !c.Policy && !c.Notify && !c.Instance
}

// Diff compares two configurations. That a variable which an agent inherits has
// a new value on the host cannot be seen in it. What containers are made of
// counts: both have their agents' Resolved, or neither.
func Diff(before, after *Config) Changes {
	changes := Changes{
		Policy: before.Orchestrator != after.Orchestrator || !slices.Equal(before.Approve, after.Approve),
		Notify: before.Notify.Digest() != after.Notify.Digest(),
		Instance: before.Version != after.Version || before.Runtime != after.Runtime || before.Services != after.Services ||
			before.Redis != after.Redis || before.Orchestrator.Run != after.Orchestrator.Run,
	}
	for _, was := range before.Agents {
		is, found := after.Agent(was.Name)
		switch {
		case !found:
			changes.Removed = append(changes.Removed, was.Name)
			continue
		case was.Digest() != is.Digest():
			changes.Changed = append(changes.Changed, was.Name)
		}
		if !samePolicy(was, is) {
			changes.Policy = true
		}
	}
	for _, is := range after.Agents {
		if _, found := before.Agent(is.Name); !found {
			changes.Added = append(changes.Added, is.Name)
		}
	}
	slices.Sort(changes.Added)
	slices.Sort(changes.Removed)
	slices.Sort(changes.Changed)
	return changes
}

// samePolicy compares what the orchestrator goes by when it decides about an
// agent's claims and workers.
func samePolicy(a, b Agent) bool {
	return a.Replicas == b.Replicas && a.Warm == b.Warm && a.Retries == b.Retries &&
		reflect.DeepEqual(a.Bids, b.Bids) && slices.Equal(a.BidScript, b.BidScript)
}

// Digest returns a hash, in hex, of everything about the agent that takes a
// restart to change. The number of workers and of retries is not part of it: only the
// orchestrator goes by those.
func (a Agent) Digest() string {
	a.Replicas, a.Warm, a.Retries = 0, 0, 0
	return digest(a)
}

// Digest returns a hash, in hex, of everything about it, since any of that takes
// a restart to change; "" for nil.
func (n *Notify) Digest() string {
	if n == nil {
		return ""
	}
	return digest(n)
}

func digest(part any) string {
	text, err := json.Marshal(part)
	if err != nil {
		panic("config: encode: " + err.Error()) // no value of its types can fail
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

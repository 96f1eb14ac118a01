package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
)

// Changes are the steps that apply a new configuration to a running instance.
type Changes struct {
	Added    []string `json:"added"`    // agents to start, sorted
	Removed  []string `json:"removed"`  // agents to stop, sorted
	Changed  []string `json:"changed"`  // agents to restart, sorted
	Policy   bool     `json:"policy"`   // the orchestrator has a new policy
	Notify   bool     `json:"notify"`   // the notifier must start, restart or stop
	Instance bool     `json:"instance"` // runtime, redis, their services or the place of the orchestrator: all parts must restart
	// The repository must start, restart or stop.
	Repository bool `json:"repository"`
	Models     bool `json:"models"` // the model gateway must start, restart or stop
}

// Diff compares two configurations. The parts of containers and the host's values count:
// both configurations have their agents' Resolved, or neither.
func Diff(before, after *Config) Changes {
	changes := Changes{
		Policy: before.Orchestrator != after.Orchestrator || !slices.Equal(before.Approve, after.Approve) || !reflect.DeepEqual(before.Land, after.Land) || !reflect.DeepEqual(before.Otel, after.Otel),
		Notify: before.Notify.Digest() != after.Notify.Digest(), Repository: before.RepositoryDigest() != after.RepositoryDigest(),
		Models: before.ModelsDigest() != after.ModelsDigest(),
		Instance: before.Version != after.Version || before.Runtime != after.Runtime || before.Services.Redis != after.Services.Redis ||
			before.Services.Orchestrator != after.Services.Orchestrator || before.Redis != after.Redis || before.Orchestrator.Run != after.Orchestrator.Run,
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

// samePolicy compares the settings by which the orchestrator decides about an agent's
// claims and workers.
func samePolicy(a, b Agent) bool {
	return a.Replicas == b.Replicas && a.Warm == b.Warm && a.Retries == b.Retries &&
		slices.Equal(withoutLines(a.Bids), withoutLines(b.Bids)) && a.BidsByModel("") == b.BidsByModel("") && slices.Equal(a.BidScript, b.BidScript) && a.BidsRequired == b.BidsRequired
}

// Digest returns a hash, in hex, of all settings of the agent that need a restart to
// change. The numbers of workers and of retries are not part of it: only the
// orchestrator uses them. Its budget is the model gateway's.
func (a Agent) Digest() string {
	a.Replicas, a.Warm, a.Retries, a.Budget, a.Bids = 0, 0, 0, nil, withoutLines(a.Bids)
	a.Concurrency = a.Slots() // a configuration of an older Sett has none
	return digest(a)
}

// PublicDigest is the Digest without the host's values, for the ledger.
func (a Agent) PublicDigest() string {
	if a.Resolved != nil && a.Resolved.Values != "" {
		r := *a.Resolved
		r.Values, a.Resolved = "", &r
	}
	return a.Digest()
}

// Digest returns a hash, in hex, of all its settings, since each needs a restart to
// change; "" for nil.
func (n *Notify) Digest() string {
	if n == nil {
		return ""
	}
	return digest(n)
}

// RepositoryDigest returns a hash, in hex, of all settings of the repository's unit, since
// each needs a restart to change; "": no agent has a tree, and it does not run.
func (c *Config) RepositoryDigest() string {
	if !c.HasTrees() {
		return ""
	}
	if c.Land != nil { // it has a way to the user's repository
		return digest([]any{c.Services.Repository, "land"})
	}
	return digest(c.Services.Repository)
}

func digest(part any) string {
	text, err := json.Marshal(part)
	if err != nil {
		panic("config: encode: " + err.Error()) // no value of its types can fail
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

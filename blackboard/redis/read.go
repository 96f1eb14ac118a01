package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Records reads artefacts, claims, grants and workflows by their ids.
type Records struct{ c *store.Conn }

// tryAll reads one hash per id in one round trip, with an error for each that is
// missing or corrupt.
func tryAll[T any](ctx context.Context, c *store.Conn, what string, ids []string, key func(string) string, decode func(string, map[string]string) (T, error)) ([]T, []error, error) {
	out, each := make([]T, len(ids)), make([]error, len(ids))
	err := c.Hashes(ctx, what, ids, key, func(i int, fields map[string]string) error {
		out[i], each[i] = decode(ids[i], fields)
		return nil
	})
	return out, each, err
}

// all turns the first error of a record into the error of the whole.
func all[T any](out []T, each []error, err error) ([]T, error) {
	for _, broken := range each {
		if err == nil {
			err = broken
		}
	}
	return out, err
}

// one takes the only record.
func one[T any](out []T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return out[0], nil
}

// Artefact reads one artefact.
func (b Records) Artefact(ctx context.Context, id string) (blackboard.Artefact, error) {
	return one(b.Artefacts(ctx, []string{id}))
}

// Artefacts reads artefacts in one round trip, in the order of the ids.
// ErrNotFound when one is missing.
func (b Records) Artefacts(ctx context.Context, ids []string) ([]blackboard.Artefact, error) {
	return all(b.TryArtefacts(ctx, ids))
}

// TryArtefacts is Artefacts with an error per artefact, for callers that go on with
// the others when one is missing or corrupt.
func (b Records) TryArtefacts(ctx context.Context, ids []string) ([]blackboard.Artefact, []error, error) {
	return tryAll(ctx, b.c, "read artefacts", ids, b.c.Keys.Artifact, store.DecodeArtefact)
}

// Claims reads claims in one round trip, in the order of the ids.
func (b Records) Claims(ctx context.Context, ids []string) ([]blackboard.Claim, error) {
	return all(b.TryClaims(ctx, ids))
}

// TryClaims is Claims with an error per claim, for callers that go on with the
// others when one is missing or corrupt.
func (b Records) TryClaims(ctx context.Context, ids []string) ([]blackboard.Claim, []error, error) {
	return tryAll(ctx, b.c, "read claims", ids, b.c.Keys.Claim, store.DecodeClaim)
}

// Workflows reads workflows in one round trip, in the order of the ids.
func (b Records) Workflows(ctx context.Context, ids []string) ([]blackboard.Workflow, error) {
	return all(b.TryWorkflows(ctx, ids))
}

// TryWorkflows is Workflows with an error per workflow, for callers that go on with
// the others when one is missing or corrupt.
func (b Records) TryWorkflows(ctx context.Context, ids []string) ([]blackboard.Workflow, []error, error) {
	out, each := make([]blackboard.Workflow, len(ids)), make([]error, len(ids))
	err := b.c.Each(ctx, "read workflows", ids, func(id string) rueidis.Commands {
		c, k := b.c.Client.B(), b.c.Keys
		return rueidis.Commands{c.Hgetall().Key(k.Workflow(id)).Build(),
			c.Llen().Key(k.ArtefactsByWorkflow(id)).Build(), c.Llen().Key(k.ClaimsByWorkflow(id)).Build()}
	}, func(i int, res []rueidis.RedisResult) error {
		fields, err := res[0].AsStrMap()
		if err != nil {
			return err
		}
		out[i], each[i] = store.DecodeWorkflow(ids[i], fields)
		artefacts, err1 := res[1].ToInt64()
		claims, err2 := res[2].ToInt64()
		out[i].Artefacts, out[i].Claims = int(artefacts), int(claims)
		return errors.Join(err1, err2)
	})
	return out, each, err
}

// Workflow reads one workflow.
func (b Records) Workflow(ctx context.Context, id string) (blackboard.Workflow, error) {
	return one(b.Workflows(ctx, []string{id}))
}

// Snapshot reads a claim with its bids and grants, in one round trip. A write
// between its parts shows in the revision, which guards every decision.
func (b Records) Snapshot(ctx context.Context, claimID string) (blackboard.Snapshot, error) {
	return one(all(b.Snapshots(ctx, []string{claimID})))
}

// Grant reads one agent's grant on a claim.
func (b Records) Grant(ctx context.Context, claimID, agent string) (blackboard.Grant, error) {
	names := store.GrantNames(agent)
	m, err := b.c.Ask(ctx, "read grant", append([]string{"HMGET", b.c.Keys.Claim(claimID)}, names...)...)
	if err != nil {
		return blackboard.Grant{}, err
	}
	values, err := m.ToArray()
	if err != nil {
		return blackboard.Grant{}, err
	}
	hash := map[string]string{}
	for i, v := range values {
		if s, err := v.ToString(); err == nil {
			hash[names[i]] = s
		}
	}
	return store.ReadGrant(claimID, agent, hash)
}

// LatestVersions returns, for each logical thread, the id of its latest version;
// a thread nobody knows is left out.
func (b Records) LatestVersions(ctx context.Context, logicalIDs []string) (map[string]string, error) {
	out := make(map[string]string, len(logicalIDs))
	err := b.c.Each(ctx, "read threads", logicalIDs, func(id string) rueidis.Commands {
		c := b.c.Client.B()
		return rueidis.Commands{c.Zrevrange().Key(b.c.Keys.Thread(id)).Start(0).Stop(0).Build(), firstVersion(b.c, id)}
	}, func(i int, res []rueidis.RedisResult) error {
		latest, err := res[0].AsStrSlice()
		first, err1 := isFirst(res[1])
		switch {
		case len(latest) > 0:
			out[logicalIDs[i]] = latest[0]
		case first:
			out[logicalIDs[i]] = logicalIDs[i]
		}
		return errors.Join(err, err1)
	})
	return out, err
}

// Children returns the ids of the artefacts that name this one as a source,
// oldest first.
func (b Index) Children(ctx context.Context, id string) ([]string, error) {
	return b.c.Sorted(ctx, b.c.Keys.Children(id))
}

// firstVersion asks for the facts by which isFirst knows the first version of a thread, which has the
// thread's id: there is no list of versions before there are two.
func firstVersion(c *store.Conn, id string) rueidis.Completed {
	return c.Client.B().Hmget().Key(c.Keys.Artifact(id)).Field("type", "logical_id").Build()
}

func isFirst(res rueidis.RedisResult) (bool, error) {
	facts, err := res.ToArray()
	return len(facts) == 2 && !facts[0].IsNil() && facts[1].IsNil(), err
}

// decodeRunning reads the index of running grants, and that of a Sett of before.
func decodeRunning(all, before map[string]string) []blackboard.Running {
	out := make([]blackboard.Running, 0, len(all))
	read := func(s string) {
		var r struct {
			Claim      string `json:"claim"`
			Agent      string `json:"agent"`
			Holder     string `json:"holder"`
			Attempt    int    `json:"attempt"`
			Since      string `json:"since"`
			WaitsSince string `json:"waits_since"`
		}
		if json.Unmarshal([]byte(s), &r) != nil {
			return // shown by nobody, waited for by nobody
		}
		since, _ := store.ParseMicros(r.Since)
		waits, _ := store.ParseMicros(r.WaitsSince)
		out = append(out, blackboard.Running{
			Claim: r.Claim, Agent: r.Agent, Holder: r.Holder, Attempt: r.Attempt, Since: since, WaitsSince: waits,
		})
	}
	for _, s := range all {
		read(s)
	}
	for field, s := range before {
		if name, holds := strings.CutPrefix(field, "hold:"); holds && all[name] == "" {
			read(s)
		}
	}
	slices.SortFunc(out, func(a, b blackboard.Running) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Claim+a.Agent, b.Claim+b.Agent))
	})
	return out
}

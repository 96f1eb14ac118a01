package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Artefact reads one artefact.
func (b *Board) Artefact(ctx context.Context, id string) (blackboard.Artefact, error) {
	all, err := b.Artefacts(ctx, []string{id})
	if err != nil {
		return blackboard.Artefact{}, err
	}
	return all[0], nil
}

// Artefacts reads artefacts in one round trip, in the order of the ids.
// ErrNotFound when one is missing.
func (b *Board) Artefacts(ctx context.Context, ids []string) ([]blackboard.Artefact, error) {
	out := make([]blackboard.Artefact, len(ids))
	err := b.hashes(ctx, "read artefacts", ids, b.keys.artifact, func(i int, fields map[string]string) (err error) {
		out[i], err = decodeArtefact(ids[i], fields)
		return err
	})
	return out, err
}

// TryArtefacts is Artefacts with an error per artefact, for callers that go on with
// the others when one is missing or corrupt.
func (b *Board) TryArtefacts(ctx context.Context, ids []string) ([]blackboard.Artefact, []error, error) {
	out, each := make([]blackboard.Artefact, len(ids)), make([]error, len(ids))
	err := b.hashes(ctx, "read artefacts", ids, b.keys.artifact, func(i int, fields map[string]string) error {
		out[i], each[i] = decodeArtefact(ids[i], fields)
		return nil
	})
	return out, each, err
}

// Claims reads claims in one round trip, in the order of the ids.
func (b *Board) Claims(ctx context.Context, ids []string) ([]blackboard.Claim, error) {
	out := make([]blackboard.Claim, len(ids))
	err := b.hashes(ctx, "read claims", ids, b.keys.claim, func(i int, fields map[string]string) (err error) {
		out[i], err = decodeClaim(ids[i], fields)
		return err
	})
	return out, err
}

// TryClaims is Claims with an error per claim, for callers that go on with the
// others when one is missing or corrupt.
func (b *Board) TryClaims(ctx context.Context, ids []string) ([]blackboard.Claim, []error, error) {
	out, each := make([]blackboard.Claim, len(ids)), make([]error, len(ids))
	err := b.hashes(ctx, "read claims", ids, b.keys.claim, func(i int, fields map[string]string) error {
		out[i], each[i] = decodeClaim(ids[i], fields)
		return nil
	})
	return out, each, err
}

// Workflows reads workflows in one round trip, in the order of the ids.
func (b *Board) Workflows(ctx context.Context, ids []string) ([]blackboard.Workflow, error) {
	out, each, err := b.TryWorkflows(ctx, ids)
	for _, broken := range each {
		if err == nil {
			err = broken
		}
	}
	return out, err
}

// TryWorkflows is Workflows with an error per workflow, for callers that go on with
// the others when one is missing or corrupt.
func (b *Board) TryWorkflows(ctx context.Context, ids []string) ([]blackboard.Workflow, []error, error) {
	out, each := make([]blackboard.Workflow, len(ids)), make([]error, len(ids))
	if len(ids) == 0 {
		return out, each, nil
	}
	err := b.retry(ctx, "read workflows", func(ctx context.Context) error {
		cmds := make(rueidis.Commands, 0, 3*len(ids))
		for _, id := range ids {
			cmds = append(cmds, b.client.B().Hgetall().Key(b.keys.workflow(id)).Build(),
				b.client.B().Llen().Key(b.keys.artefactsByWorkflow(id)).Build(),
				b.client.B().Llen().Key(b.keys.claimsByWorkflow(id)).Build())
		}
		res := b.client.DoMulti(ctx, cmds...)
		for i, id := range ids {
			fields, err := res[3*i].AsStrMap()
			if err != nil {
				return err
			}
			out[i], each[i] = decodeWorkflow(id, fields)
			for j, count := range []*int{&out[i].Artefacts, &out[i].Claims} {
				n, err := res[3*i+1+j].ToInt64()
				if err != nil {
					return err
				}
				*count = int(n)
			}
		}
		return nil
	})
	return out, each, err
}

// Workflow reads one workflow.
func (b *Board) Workflow(ctx context.Context, id string) (blackboard.Workflow, error) {
	all, err := b.Workflows(ctx, []string{id})
	if err != nil {
		return blackboard.Workflow{}, err
	}
	return all[0], nil
}

// hashes reads one hash per id in one round trip.
func (b *Board) hashes(ctx context.Context, what string, ids []string, key func(string) string, each func(int, map[string]string) error) error {
	if len(ids) == 0 {
		return nil
	}
	return b.retry(ctx, what, func(ctx context.Context) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = b.client.B().Hgetall().Key(key(id)).Build()
		}
		for i, res := range b.share.do(ctx, cmds...) {
			fields, err := res.AsStrMap()
			if err != nil {
				return err
			}
			if err := each(i, fields); err != nil {
				return err
			}
		}
		return nil
	})
}

// Snapshot reads a claim with its bids and grants, in one round trip. What was
// written between its parts shows in the revision, which guards every decision.
func (b *Board) Snapshot(ctx context.Context, claimID string) (blackboard.Snapshot, error) {
	var s blackboard.Snapshot
	err := b.retry(ctx, "read claim", func(ctx context.Context) error {
		var broken, err error
		if s, broken, err = decodeSnapshot(claimID, b.share.do(ctx, b.snapshotReads(claimID)...)); err != nil {
			return err
		}
		return broken
	})
	return s, err
}

// orderBids puts bids in the order they came in; one that the order does not
// know goes last.
func orderBids(bids map[string]string, order []string) []blackboard.Bid {
	out := make([]blackboard.Bid, 0, len(bids))
	seen := map[string]bool{}
	for _, agent := range order {
		if bid, ok := bids[agent]; ok && !seen[agent] {
			seen[agent] = true
			out = append(out, blackboard.Bid{Agent: agent, Type: blackboard.BidType(bid)})
		}
	}
	var rest []string
	for agent := range bids {
		if !seen[agent] {
			rest = append(rest, agent)
		}
	}
	sort.Strings(rest)
	for _, agent := range rest {
		out = append(out, blackboard.Bid{Agent: agent, Type: blackboard.BidType(bids[agent])})
	}
	return out
}

func decodeGrants(claimID string, grants map[string]string) ([]blackboard.Grant, error) {
	out := make([]blackboard.Grant, 0, len(grants))
	for agent, s := range grants {
		g, err := decodeGrant(claimID, agent, s)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b blackboard.Grant) int { return strings.Compare(a.Agent, b.Agent) })
	return out, nil
}

// Grant reads one agent's grant on a claim.
func (b *Board) Grant(ctx context.Context, claimID, agent string) (blackboard.Grant, error) {
	var g blackboard.Grant
	err := b.retry(ctx, "read grant", func(ctx context.Context) error {
		s, err := b.client.Do(ctx, b.client.B().Hget().Key(b.keys.grants(claimID)).Field(agent).Build()).ToString()
		if err != nil {
			return notFound(err, "grant of claim "+claimID+" to", agent)
		}
		g, err = decodeGrant(claimID, agent, s)
		return err
	})
	return g, err
}

// LatestVersions returns, for each logical thread, the id of its latest version;
// a thread nobody knows is left out.
func (b *Board) LatestVersions(ctx context.Context, logicalIDs []string) (map[string]string, error) {
	out := make(map[string]string, len(logicalIDs))
	if len(logicalIDs) == 0 {
		return out, nil
	}
	err := b.retry(ctx, "read threads", func(ctx context.Context) error {
		cmds := make(rueidis.Commands, len(logicalIDs))
		for i, id := range logicalIDs {
			cmds[i] = b.client.B().Zrevrange().Key(b.keys.thread(id)).Start(0).Stop(0).Build()
		}
		for i, res := range b.client.DoMulti(ctx, cmds...) {
			ids, err := res.AsStrSlice()
			if err != nil {
				return err
			}
			if len(ids) > 0 {
				out[logicalIDs[i]] = ids[0]
			}
		}
		return nil
	})
	return out, err
}

// Children returns the ids of the artefacts that name this one as a source,
// oldest first.
func (b *Board) Children(ctx context.Context, id string) ([]string, error) {
	return b.wholeIndex(ctx, b.keys.children(id))
}

func decodeWorkspace(all map[string]string) []WorkspaceUse {
	out := make([]WorkspaceUse, 0, len(all))
	for field, s := range all {
		var w struct {
			Claim   string                   `json:"claim"`
			Agent   string                   `json:"agent"`
			Mode    blackboard.WorkspaceMode `json:"mode"`
			Holder  string                   `json:"holder"`
			Attempt int                      `json:"attempt"`
			Since   string                   `json:"since"`
			Base    string                   `json:"base"`
			Branch  string                   `json:"branch"`
			State   string                   `json:"state"`
		}
		if json.Unmarshal([]byte(s), &w) != nil {
			continue // shown by nobody, waited for by nobody
		}
		since, _ := parseMicros(w.Since)
		out = append(out, WorkspaceUse{
			Claim: w.Claim, Agent: w.Agent, Mode: w.Mode, Holder: w.Holder, Attempt: w.Attempt, Since: since,
			Base: w.Base, Branch: w.Branch, Waiting: strings.HasPrefix(field, "wait:"), Restore: w.State == "restore",
		})
	}
	slices.SortFunc(out, func(a, b WorkspaceUse) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.Claim+a.Agent, b.Claim+b.Agent)
	})
	return out
}

// String is for people: who, and what they do with the tree.
func (w WorkspaceUse) String() string {
	return fmt.Sprintf("%s (%s, claim %s)", w.Agent, w.Mode, blackboard.ShortID(w.Claim))
}

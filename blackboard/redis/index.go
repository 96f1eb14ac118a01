package redis

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
)

// Filter selects artefacts from the indexes. At most one of Type, Agent and
// Workflow is looked up; the others are compared.
type Filter struct {
	Type, Agent, Workflow string
	Since                 time.Time
	Limit                 int // the newest so many; 0: all
}

// page is how many artefacts are read at a time when a filter has to compare.
const page = 200

// ListArtefacts returns the newest artefacts that fit, newest last. It reads
// pages of the best index from its end, never more than it needs.
func (b *Board) ListArtefacts(ctx context.Context, f Filter) ([]blackboard.Artefact, error) {
	index := b.keys.artefacts()
	switch {
	case f.Workflow != "":
		index = b.keys.artefactsByWorkflow(f.Workflow)
	case f.Agent != "":
		index = b.keys.artefactsByAgent(f.Agent)
	case f.Type != "":
		index = b.keys.artefactsByType(f.Type)
	}
	size := page
	if f.Limit > 0 {
		size = min(f.Limit, page)
	}
	var out []blackboard.Artefact // newest first
	seen := map[string]bool{}     // what arrives meanwhile pushes entries to the next page
	for offset := 0; ; offset += size {
		ids, err := b.list(ctx, index, -offset-size, -offset-1)
		if err != nil {
			return nil, err
		}
		all, err := b.Artefacts(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i := len(all) - 1; i >= 0; i-- {
			a := all[i]
			if a.CreatedAt.Before(f.Since) || (f.Limit > 0 && len(out) >= f.Limit) {
				slices.Reverse(out)
				return out, nil
			}
			if fits := (f.Type == "" || a.Type == f.Type) && (f.Agent == "" || a.ProducedByAgent == f.Agent); fits && !seen[a.ID] {
				seen[a.ID] = true
				out = append(out, a)
			}
		}
		if len(ids) < size {
			slices.Reverse(out)
			return out, nil
		}
	}
}

// list returns a range of an index, oldest first; negative positions count from
// its end.
func (b *Board) list(ctx context.Context, index string, from, to int) ([]string, error) {
	return b.strings(ctx, "read index", func() []string {
		return []string{"LRANGE", index, strconv.Itoa(from), strconv.Itoa(to)}
	})
}

// strings makes a read that answers with strings. args[1] is the key.
func (b *Board) strings(ctx context.Context, what string, args func() []string) ([]string, error) {
	var out []string
	err := b.retry(ctx, what, func(ctx context.Context) (err error) {
		a := args()
		cmd := b.client.B().Arbitrary(a[0]).Keys(a[1]).Args(a[2:]...).ReadOnly()
		out, err = b.client.Do(ctx, cmd).AsStrSlice()
		return err
	})
	return out, err
}

func (b *Board) wholeIndex(ctx context.Context, key string) ([]string, error) {
	return b.strings(ctx, "read index", func() []string { return []string{"ZRANGE", key, "0", "-1"} })
}

// Goals returns the ids of the newest workflows, newest last; limit 0: all.
func (b *Board) Goals(ctx context.Context, limit int) ([]string, error) {
	return b.list(ctx, b.keys.artefactsByType(blackboard.TypeGoalDefined), -limit, -1)
}

// OpenClaims returns the ids of the claims that are open, oldest first.
func (b *Board) OpenClaims(ctx context.Context) ([]string, error) {
	return b.wholeIndex(ctx, b.keys.openClaims())
}

// OpenQuestions returns the ids of the unanswered Questions, oldest first.
func (b *Board) OpenQuestions(ctx context.Context) ([]string, error) {
	return b.wholeIndex(ctx, b.keys.questions())
}

// ActiveWorkflows returns the ids of the workflows with work outstanding, oldest
// first.
func (b *Board) ActiveWorkflows(ctx context.Context) ([]string, error) {
	return b.wholeIndex(ctx, b.keys.activeWorkflows())
}

// WorkflowClaims returns the ids of a workflow's claims, oldest first.
func (b *Board) WorkflowClaims(ctx context.Context, workflow string) ([]string, error) {
	return b.list(ctx, b.keys.claimsByWorkflow(workflow), 0, -1)
}

// Work is what is open for the orchestrator, oldest first.
type Work struct {
	Unclaimed []string // artefacts without their claim
	Claims    []string // open ones
}

// OpenWork reads what is open for the orchestrator.
func (b *Board) OpenWork(ctx context.Context) (Work, error) {
	var w Work
	err := b.pair(ctx, b.keys.unclaimed(), b.keys.openClaims(), &w.Unclaimed, &w.Claims)
	return w, err
}

// AgentWork is what is open for an agent, oldest first.
type AgentWork struct {
	Due    []string // claims that await its bid
	Grants []string // claims with a grant of its that is queued or running
}

// OpenAgentWork reads what is open for an agent.
func (b *Board) OpenAgentWork(ctx context.Context, agent string) (AgentWork, error) {
	var w AgentWork
	err := b.pair(ctx, b.keys.agentDue(agent), b.keys.agentGrants(agent), &w.Due, &w.Grants)
	return w, err
}

func (b *Board) pair(ctx context.Context, first, second string, a, c *[]string) error {
	return b.retry(ctx, "read open work", func(ctx context.Context) (err error) {
		// At rest there is nothing, and one command says so.
		n, err := b.client.Do(ctx, b.client.B().Exists().Key(first, second).Build()).ToInt64()
		if err != nil || n == 0 {
			*a, *c = nil, nil
			return err
		}
		res := b.client.DoMulti(ctx,
			b.client.B().Zrange().Key(first).Min("0").Max("-1").Build(),
			b.client.B().Zrange().Key(second).Min("0").Max("-1").Build())
		if *a, err = res[0].AsStrSlice(); err == nil {
			*c, err = res[1].AsStrSlice()
		}
		return err
	})
}

// Kind says what an id names.
type Kind string

// What ids can name.
const (
	KindArtefact Kind = "artefact"
	KindClaim    Kind = "claim"
)

// AmbiguousError lists what an abbreviated id fits. It wraps ErrAmbiguous.
type AmbiguousError struct {
	Part       string
	Candidates []string // at most ten
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("id %s fits several: %s", e.Part, strings.Join(e.Candidates, ", "))
}

// Unwrap makes errors.Is find blackboard.ErrAmbiguous.
func (e *AmbiguousError) Unwrap() error { return blackboard.ErrAmbiguous }

// Resolve returns the full id that begins or ends with part, and what it names.
// ErrNotFound when there is none, *AmbiguousError when there are several.
func (b *Board) Resolve(ctx context.Context, part string, want ...Kind) (string, Kind, error) {
	norm, ok := blackboard.NormalizeIDPart(part)
	if !ok {
		return "", "", fmt.Errorf("id %q: %w: ids are made of digits and letters", part, blackboard.ErrNotFound)
	}
	found := map[string]Kind{}
	ids := []string{norm}
	if len(norm) < blackboard.IDLength {
		endings, err := b.byEnding(ctx, norm)
		if err != nil {
			return "", "", err
		}
		prefixes, err := b.byPrefix(ctx, norm)
		if err != nil {
			return "", "", err
		}
		ids = slices.Concat(endings, prefixes)
	}
	for _, id := range ids {
		kind, err := b.kindOf(ctx, id)
		if err != nil {
			return "", "", err
		}
		for _, w := range want {
			if kind == w {
				found[id] = kind
			}
		}
	}
	return pick(part, found)
}

func pick(part string, found map[string]Kind) (string, Kind, error) {
	candidates := make([]string, 0, len(found))
	for id := range found {
		candidates = append(candidates, id)
	}
	sort.Strings(candidates)
	switch len(candidates) {
	case 0:
		return "", "", fmt.Errorf("id %s: %w", part, blackboard.ErrNotFound)
	case 1:
		return candidates[0], found[candidates[0]], nil
	}
	return "", "", &AmbiguousError{part, candidates[:min(len(candidates), 10)]}
}

func (b *Board) kindOf(ctx context.Context, id string) (Kind, error) {
	var kind Kind
	err := b.retry(ctx, "look up id", func(ctx context.Context) error {
		res := b.client.DoMulti(ctx,
			b.client.B().Exists().Key(b.keys.artifact(id)).Build(), b.client.B().Exists().Key(b.keys.claim(id)).Build())
		for i, k := range []Kind{KindArtefact, KindClaim} {
			n, err := res[i].ToInt64()
			if err != nil {
				return err
			}
			if n == 1 {
				kind = k
			}
		}
		return nil
	})
	return kind, err
}

// byEnding looks an ending up in its bucket of reversed ids. One character alone
// is too little to look up.
func (b *Board) byEnding(ctx context.Context, ending string) ([]string, error) {
	if len(ending) < 2 {
		return nil, nil
	}
	rev := blackboard.ReverseID(ending)
	ids, err := b.strings(ctx, "look up ending", func() []string {
		return []string{"ZRANGEBYLEX", b.keys.ids(ending[len(ending)-2:]), "[" + rev, "[" + rev + "~", "LIMIT", "0", "20"}
	})
	for i, id := range ids {
		ids[i] = blackboard.ReverseID(id)
	}
	return ids, err
}

// byPrefix looks a prefix up from the time it stands for. Ids carry the time their
// maker had and the indexes are in the blackboard's order, so two minutes before
// allow for clocks that differ; derived ids carry their subject's time, so that
// claims may stand any time later. At most mostLooked entries are looked at.
func (b *Board) byPrefix(ctx context.Context, prefix string) ([]string, error) {
	low := blackboard.IDTime((prefix + strings.Repeat("0", blackboard.IDLength))[:blackboard.IDLength])
	if low.IsZero() {
		return nil, nil
	}
	var out []string
	for _, index := range []string{b.keys.artefacts(), b.keys.claims()} {
		const size, mostLooked = 2000, 100_000
		from, err := b.firstSince(ctx, index, low.Add(-2*time.Minute))
		if err != nil {
			return nil, err
		}
		for offset := 0; offset < mostLooked; offset += size {
			ids, err := b.list(ctx, index, from+offset, from+offset+size-1)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				if strings.HasPrefix(id, prefix) && len(out) < 20 {
					out = append(out, id)
				}
			}
			if len(ids) < size || len(out) >= 20 {
				break
			}
		}
	}
	return out, nil
}

// firstSince returns, by halving, about the first position in an index whose id
// is of that time or later.
func (b *Board) firstSince(ctx context.Context, index string, t time.Time) (int, error) {
	var length int64
	err := b.retry(ctx, "read index", func(ctx context.Context) (err error) {
		length, err = b.client.Do(ctx, b.client.B().Llen().Key(index).Build()).ToInt64()
		return err
	})
	low, high := 0, int(length)
	for err == nil && low < high {
		mid := (low + high) / 2
		var at []string
		if at, err = b.list(ctx, index, mid, mid); err == nil && len(at) == 1 && blackboard.IDTime(at[0]).Before(t) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, err
}

// ClosedCount returns how many claims are closed.
func (b *Board) ClosedCount(ctx context.Context) (int, error) {
	var closed int
	err := b.retry(ctx, "count claims", func(ctx context.Context) error {
		res := b.client.DoMulti(ctx,
			b.client.B().Llen().Key(b.keys.claims()).Build(), b.client.B().Zcard().Key(b.keys.openClaims()).Build())
		all, err := res[0].ToInt64()
		if err != nil {
			return err
		}
		open, err := res[1].ToInt64()
		closed = int(all - open)
		return err
	})
	return closed, err
}

// ActiveCount returns how many workflows have work outstanding.
func (b *Board) ActiveCount(ctx context.Context) (int, error) {
	var n int64
	err := b.retry(ctx, "count workflows", func(ctx context.Context) (err error) {
		n, err = b.client.Do(ctx, b.client.B().Zcard().Key(b.keys.activeWorkflows()).Build()).ToInt64()
		return err
	})
	return int(n), err
}

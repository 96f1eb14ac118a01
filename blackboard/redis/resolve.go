package redis

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Resolve returns the full id that begins or ends with part, and its kind; if there is
// none, the newer one whose short form, as it is shown to people, begins with it.
// ErrNotFound when there is none, *AmbiguousError when there are several.
func (b Index) Resolve(ctx context.Context, part string, want ...blackboard.Kind) (string, blackboard.Kind, error) {
	norm, ok := blackboard.NormalizeIDPart(part)
	if !ok {
		return "", "", fmt.Errorf("id %q: %w: ids are made of digits and letters", part, blackboard.ErrNotFound)
	}
	found := map[string]blackboard.Kind{}
	for _, way := range []func(context.Context, string) ([]string, error){b.byEnds, b.byShort} {
		ids, err := way(ctx, norm)
		if err != nil {
			return "", "", err
		}
		for _, id := range ids {
			kind, err := b.kindOf(ctx, id)
			if err != nil {
				return "", "", err
			}
			if slices.Contains(want, kind) {
				found[id] = kind
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return pick(part, found)
}

// byEnds returns ids that begin or end with part.
func (b Index) byEnds(ctx context.Context, part string) ([]string, error) {
	if len(part) >= blackboard.IDLength {
		return []string{part}, nil
	}
	endings, err := b.byEnding(ctx, part)
	if err != nil {
		return nil, err
	}
	prefixes, err := b.byPrefix(ctx, part)
	return slices.Concat(endings, prefixes), err
}

// byShort returns those of the newest ids, at most 20, whose short form begins with part.
// One character alone is too little to look up; a whole short form is an ending.
func (b Index) byShort(ctx context.Context, part string) (out []string, err error) {
	if len(part) < 2 || len(part) >= blackboard.ShortIDLength {
		return nil, nil
	}
	const newest = 20_000 // of artefacts, and of claims: half a megabyte each
	for _, index := range []string{b.c.Keys.Artefacts(), b.c.Keys.Claims()} {
		ids, err := b.c.List(ctx, index, -newest, -1)
		if err != nil {
			return nil, err
		}
		for _, id := range slices.Backward(ids) {
			if strings.HasPrefix(blackboard.ShortID(id), part) && len(out) < 20 {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

func pick(part string, found map[string]blackboard.Kind) (string, blackboard.Kind, error) {
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
	return "", "", &blackboard.AmbiguousError{Part: part, Candidates: candidates[:min(len(candidates), 10)]}
}

func (b Index) kindOf(ctx context.Context, id string) (blackboard.Kind, error) {
	for _, k := range []struct {
		kind blackboard.Kind
		key  string
	}{{blackboard.KindClaim, b.c.Keys.Claim(id)}, {blackboard.KindArtefact, b.c.Keys.Artifact(id)}} {
		if n, err := b.c.Number(ctx, "look up id", "EXISTS", k.key); err != nil || n == 1 {
			return k.kind, err
		}
	}
	return "", nil
}

// byEnding looks an ending up in its bucket, which has one of 1,024 ids. One character alone
// is too little to look up.
func (b Index) byEnding(ctx context.Context, ending string) (out []string, _ error) {
	if len(ending) < 2 {
		return nil, nil
	}
	rest, bucket := ending[:len(ending)-2], ending[len(ending)-2:]
	all, err := b.c.Strings(ctx, "look up ending", "LRANGE", b.c.Keys.Endings(bucket), "0", "-1")
	for _, begin := range all {
		if strings.HasSuffix(begin, rest) && len(out) < 20 && !slices.Contains(out, begin+bucket) {
			out = append(out, begin+bucket)
		}
	}
	return out, err
}

// byPrefix looks a prefix up from the time it stands for. An id carries the time its
// maker had, or that of the subject it is derived from, and is stored at that time
// or any time later; two minutes before allow for clocks that differ. At most
// mostLooked entries are looked at.
func (b Index) byPrefix(ctx context.Context, prefix string) ([]string, error) {
	low := blackboard.IDTime((prefix + strings.Repeat("0", blackboard.IDLength))[:blackboard.IDLength])
	if low.IsZero() {
		return nil, nil
	}
	var out []string
	for _, in := range []timeline{{b.c.Keys.Artefacts(), b.c.Keys.Artifact, "created_at"}, {b.c.Keys.Claims(), b.c.Keys.Claim, "opened_at"}} {
		const size, mostLooked = 2000, 100_000
		from, err := b.firstSince(ctx, in, low.Add(-2*time.Minute))
		if err != nil {
			return nil, err
		}
		for offset := 0; offset < mostLooked; offset += size {
			ids, err := b.c.List(ctx, in.index, from+offset, from+offset+size-1)
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

// timeline is an index in the order in which its records were stored, and where
// these say when that was.
type timeline struct {
	index  string
	record func(id string) string
	field  string
}

// firstSince returns, by halving, the first position of a record that was stored
// at that time or later; one before it where a probed record cannot be read.
func (b Index) firstSince(ctx context.Context, in timeline, t time.Time) (int, error) {
	high, err := b.c.Number(ctx, "read index", "LLEN", in.index)
	low := 0
	for err == nil && low < high {
		mid := (low + high) / 2
		var before bool
		if before, err = b.storedBefore(ctx, in, mid, t); before {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, err
}

// storedBefore says whether the record at a position is known to be older than that
// time.
func (b Index) storedBefore(ctx context.Context, in timeline, position int, t time.Time) (bool, error) {
	ids, err := b.c.List(ctx, in.index, position, position)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	stored, err := b.c.Text(ctx, "read time", "HGET", in.record(ids[0]), in.field)
	at, broken := store.ParseMicros(stored)
	return err == nil && broken == nil && !at.IsZero() && at.Before(t), err
}

package redis

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"sett/blackboard"
)

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

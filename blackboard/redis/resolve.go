package redis

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/redis/rueidis"

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

// byPrefix looks a prefix up from the time it stands for. An id carries the time its
// maker had, or that of the subject it is derived from, and is stored at that time
// or any time later; two minutes before allow for clocks that differ. At most
// mostLooked entries are looked at.
func (b *Board) byPrefix(ctx context.Context, prefix string) ([]string, error) {
	low := blackboard.IDTime((prefix + strings.Repeat("0", blackboard.IDLength))[:blackboard.IDLength])
	if low.IsZero() {
		return nil, nil
	}
	var out []string
	for _, in := range []timeline{{b.keys.artefacts(), b.keys.artifact, "created_at"}, {b.keys.claims(), b.keys.claim, "opened_at"}} {
		const size, mostLooked = 2000, 100_000
		from, err := b.firstSince(ctx, in, low.Add(-2*time.Minute))
		if err != nil {
			return nil, err
		}
		for offset := 0; offset < mostLooked; offset += size {
			ids, err := b.list(ctx, in.index, from+offset, from+offset+size-1)
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

// firstSince returns, by halving, the first position whose record was stored at
// that time or later; one before it where a record that is probed cannot be read.
func (b *Board) firstSince(ctx context.Context, in timeline, t time.Time) (int, error) {
	var length int64
	err := b.retry(ctx, "read index", func(ctx context.Context) (err error) {
		length, err = b.client.Do(ctx, b.client.B().Llen().Key(in.index).Build()).ToInt64()
		return err
	})
	low, high := 0, int(length)
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

// storedBefore says whether what stands there is known to have been stored before
// that time.
func (b *Board) storedBefore(ctx context.Context, in timeline, position int, t time.Time) (bool, error) {
	ids, err := b.list(ctx, in.index, position, position)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	var stored string
	err = b.retry(ctx, "read time", func(ctx context.Context) (err error) {
		stored, err = b.client.Do(ctx, b.client.B().Hget().Key(in.record(ids[0])).Field(in.field).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			err = nil
		}
		return err
	})
	at, broken := parseMicros(stored)
	return err == nil && broken == nil && !at.IsZero() && at.Before(t), err
}

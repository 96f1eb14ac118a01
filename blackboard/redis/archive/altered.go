package archive

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// How far around an artefact's time its entry is looked for, and in how many entries at most: one look costs the same
// in a ledger of any length.
const (
	lookBefore  = time.Millisecond
	lookAfter   = time.Second
	firstLook   = 32
	longestLook = 1000
	mostLooked  = 4 * longestLook
)

// Recorded compares an artefact that was read with the entry that stored it. The error is an ErrCorrupt; nil: it is as it was,
// or there is no such entry at its time, as after the clock was set back.
func Recorded(ctx context.Context, b Board, a blackboard.Artefact) error {
	each, err := Altered(ctx, b, []*blackboard.Outline{{Artefact: a, PayloadSize: len(a.Payload)}})
	if err != nil {
		return err
	}
	return each[0]
}

// Altered is Recorded for several artefacts, with an error for each. Of a payload that was not read it compares the size alone.
func Altered(ctx context.Context, b Board, all []*blackboard.Outline) ([]error, error) {
	s := seeker{c: b.Conn(), seals: map[string]*seal{}}
	for _, a := range all {
		s.seals[a.ID] = nil
	}
	oldest := slices.Clone(all)
	slices.SortFunc(oldest, func(x, y *blackboard.Outline) int { return x.CreatedAt.Compare(y.CreatedAt) })
	each := map[string]error{}
	for _, a := range oldest {
		if err := s.find(ctx, a); err != nil {
			return nil, fmt.Errorf("compare artefact %s with the ledger: %w", a.ID, err)
		}
		if found := s.seals[a.ID]; found != nil {
			each[a.ID] = found.differs(a.ID, sealOfOutline(a, found), true)
		}
	}
	errs := make([]error, len(all))
	for i, a := range all {
		errs[i] = each[a.ID]
	}
	return errs, nil
}

// sealOfOutline is the seal of an artefact as it was read. The digest of a payload that was not read counts as the recorded one.
func sealOfOutline(a *blackboard.Outline, recorded *seal) seal {
	is := sealOf(artefactFields(a.Artefact))
	if is.size != a.PayloadSize {
		is.size, is.sum = a.PayloadSize, recorded.sum
	}
	return is
}

// seeker finds the entries that stored artefacts.
type seeker struct {
	c     *store.Conn
	seals map[string]*seal // of the artefacts that are wanted; nil: not found yet
}

// find looks for the entry of an artefact at the time that its record has, and, since that may have been altered, at the time
// that is in its id.
func (s *seeker) find(ctx context.Context, a *blackboard.Outline) error {
	for _, at := range []time.Time{a.CreatedAt, blackboard.IDTime(a.ID)} {
		if s.seals[a.ID] != nil {
			return nil
		}
		if err := s.look(ctx, a.ID, at); err != nil {
			return err
		}
	}
	return nil
}

// look reads the entries around a time until it has that of an artefact.
func (s *seeker) look(ctx context.Context, id string, at time.Time) error {
	after, until := blackboard.PositionAt(at.Add(-lookBefore)), blackboard.PositionAt(at.Add(lookAfter))
	page := int64(firstLook)
	for looked := 0; looked < mostLooked; page = min(4*page, longestLook) {
		entries, err := s.c.Entries(ctx, after, until, page)
		if err != nil {
			return err
		}
		for _, e := range entries {
			after = e.ID
			if is := stores(e.FieldValues); is != "" && s.wants(is) {
				at := entryTime{}.after(e.ID)
				at.held = true // the clock may have been set back: the ledger is not read from its beginning
				found := sealIn(at, e.FieldValues)
				s.seals[is] = &found
			}
		}
		if looked += len(entries); s.seals[id] != nil || int64(len(entries)) < page {
			return nil
		}
	}
	return nil
}

// wants says whether the entry of an artefact is still to be found. The first entry that names it is the one that stored it.
func (s *seeker) wants(id string) bool {
	found, wanted := s.seals[id]
	return wanted && found == nil
}

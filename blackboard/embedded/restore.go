package embedded

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// loadSnapshot fills the board from a snapshot and says how many keys and at
// what time. A snapshot was durable before it got its name, so that no crash
// explains anything wrong with it.
func (b *board) loadSnapshot(path string, generation uint64) (keys int, at time.Time, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, at, fmt.Errorf("open snapshot: %w", err)
	}
	defer f.Close()
	fr, short, err := openFrames(f, snapshotMagic, generation)
	if err != nil {
		return 0, at, err
	}
	if short {
		return 0, at, fr.damaged("ends within the file header")
	}
	// Decoding and loading take about the same time, so they run side by side.
	decoded := make(chan []item, 8)
	abort := make(chan struct{})
	var readErr error
	go func() {
		defer close(decoded)
		readErr = fr.decodeAll(decoded, abort)
	}()
	var loadErr error
	ended := false
	for items := range decoded {
		for _, it := range items {
			if loadErr == nil && it.kind == itemEnd {
				ended, keys, at = true, it.count, it.at
			} else if loadErr == nil {
				loadErr = b.load(it)
			}
		}
		if loadErr != nil {
			close(abort)
			for range decoded { // until it has noticed
			}
		}
	}
	switch {
	case readErr != nil:
		return 0, at, readErr
	case loadErr != nil:
		return 0, at, fmt.Errorf("load %s: %w", path, loadErr)
	case !ended:
		return 0, at, fr.damaged("the end is missing")
	case keys != len(b.db.Keys()):
		return 0, at, fr.damaged("the number of keys is wrong")
	}
	return keys, at, nil
}

// decodeAll sends the items of every frame, until the end or until abort.
func (fr *frameReader) decodeAll(decoded chan<- []item, abort <-chan struct{}) error {
	for {
		start := fr.off
		payload, err := fr.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fr.damaged("ends within a record")
		}
		if err != nil {
			return err
		}
		var items []item
		d := newDecoder(payload)
		for it, ok := d.next(); ok; it, ok = d.next() {
			items = append(items, it)
		}
		if d.err != nil {
			return &CorruptError{File: fr.path, Offset: start, Reason: d.err.Error()}
		}
		select {
		case decoded <- items:
		case <-abort:
			return nil
		}
	}
}

// load puts one item of a snapshot into the board.
func (b *board) load(it item) error {
	var err error
	switch it.kind {
	case itemScript:
		s, objection := b.learn(it.key)
		if objection != "" {
			return errors.New(objection)
		}
		s.inLog = true
	case itemString:
		if len(it.list) != 1 {
			return errItem
		}
		err = b.db.Set(it.key, it.list[0])
	case itemHash:
		return b.loadHash(it.key, it.hash)
	case itemList:
		_, err = b.db.Push(it.key, it.list...)
	case itemSet:
		_, err = b.db.SetAdd(it.key, it.list...)
	case itemZset:
		return b.loadZset(it)
	case itemEntry:
		if len(it.list) == 0 {
			return errItem
		}
		return b.loadEntry(it.key, miniredis.StreamEntry{ID: it.list[0], Values: it.list[1:]})
	case itemStream:
		if len(it.list) != 1 {
			return errItem
		}
		st, err := b.stream(it.key)
		if err == nil {
			st.lastAllocatedID = it.list[0]
		}
		return err
	default:
		return errItem
	}
	return err
}

// loadHash adds fields to a hash; the map becomes the board's.
func (b *board) loadHash(key string, fields map[string]string) error {
	hashes := *b.tables.hashes
	if have := hashes[key]; have != nil {
		maps.Copy(have, fields)
		return nil
	}
	if b.db.Type(key) != "" {
		return errItem
	}
	(*b.tables.keys)[key] = "hash"
	hashes[key] = fields
	return nil
}

// loadZset adds members. After the first one, miniredis gives out its own map.
func (b *board) loadZset(it item) error {
	if len(it.list) == 0 {
		return errItem
	}
	if _, err := b.db.ZAdd(it.key, it.scores[0], it.list[0]); err != nil {
		return err
	}
	set, err := b.db.SortedSet(it.key)
	if err != nil {
		return err
	}
	for i, m := range it.list {
		set[m] = it.scores[i]
	}
	return nil
}

// stream finds a stream, or makes an empty one.
func (b *board) stream(key string) (*streamState, error) {
	if st := (*b.tables.streams)[key]; st != nil {
		return st, nil
	}
	if b.db.Type(key) != "" {
		return nil, errItem
	}
	if _, err := b.db.XAdd(key, "0-1", nil); err != nil {
		return nil, err
	}
	st := (*b.tables.streams)[key]
	st.entries, st.lastAllocatedID = nil, ""
	return st, nil
}

// loadEntry adds an entry at the end of a stream.
func (b *board) loadEntry(key string, e miniredis.StreamEntry) error {
	st, err := b.stream(key)
	if err != nil {
		return err
	}
	if _, ok := parseID(e.ID, 0); !ok {
		return errItem
	}
	st.entries = append(st.entries, e)
	return nil
}

package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
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
		b.db.HSet(it.key, it.list...)
	case itemList:
		_, err = b.db.Push(it.key, it.list...)
	case itemSet:
		_, err = b.db.SetAdd(it.key, it.list...)
	case itemZset:
		for i, m := range it.list {
			if _, err := b.db.ZAdd(it.key, it.scores[i], m); err != nil {
				return err
			}
		}
	case itemStream:
		if len(it.list) != 1 {
			return errItem
		}
		err = b.loadStream(it.key, it.list[0])
	case itemEntry:
		if len(it.list) == 0 {
			return errItem
		}
		_, err = b.db.XAdd(it.key, it.list[0], it.list[1:])
	default:
		return errItem
	}
	return err
}

// loadStream sets the last id of a stream whose entries are loaded. Where the
// entry with that id is gone, it is added and deleted once more.
func (b *board) loadStream(key, last string) error {
	entries, err := b.db.Stream(key)
	if err != nil {
		return err
	}
	if len(entries) > 0 && entries[len(entries)-1].ID == last {
		return nil
	}
	if last == "" {
		last = "0-1" // it never had an entry, but exists
	}
	if _, err := b.db.XAdd(key, last, []string{"", ""}); err != nil {
		return err
	}
	_, err = b.dispatch(b.quiet, time.Time{}, logged, []string{"XDEL", key, last})
	return err
}

package embedded

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// A snapshot of generation n holds the state before the first record of log n.
// Taking one goes in steps, and a crash after any of them leaves a directory
// that Open reads to the same state:
//
//  1. the state is copied and log n+1 created, while no write runs;
//     from here on Open finds snapshot n, log n and log n+1
//  2. the copy goes to a temporary file, which is made durable
//  3. it is renamed to snapshot n+1; from here on Open starts with that
//  4. snapshot n and log n are removed; Open would do it too
const (
	snapshotTemp = "snapshot.tmp"
	frameTarget  = 1 << 20
	itemTarget   = 1024 // elements of one key in one item
)

func snapshotPath(dir string, generation uint64) string {
	return filepath.Join(dir, fmt.Sprintf("snapshot.%d", generation))
}

// snapshot copies the state, starts a new log and leaves the writing to the
// background. The committer calls it between two groups. When it does not
// succeed the old log simply goes on, and the next try is after as many records again.
func (s *Server) snapshot() {
	s.records = 0
	if !s.snapshotting.TryLock() {
		return // the one before is still being written
	}
	started := s.o.Now()
	s.board.mu.Lock()
	copied, err := s.board.copyState(s.clock.now())
	s.board.mu.Unlock()
	next := s.log.generation + 1
	var fresh *logFile
	if err == nil {
		if err := s.flushEffects(); err != nil {
			s.o.Logger.Warn("effects not written", "error", err)
		}
		if err = s.log.mend(); err == nil { // a log with another behind it has to be whole
			fresh, err = createLog(s.o.Dir, next, s.o.Sync)
		}
	}
	if err != nil {
		s.snapshotting.Unlock()
		s.o.Logger.Error("snapshot not taken", "error", err)
		return
	}
	fresh.writeAt, fresh.full = s.log.writeAt, s.log.full
	_ = s.log.f.Close()
	s.log = fresh
	s.effects = nil // of calls in the log before
	held := s.o.Now().Sub(started)
	s.background.Go(func() {
		defer s.snapshotting.Unlock()
		if err := s.finishSnapshot(copied.frames(), next, s.stopAfter); err != nil {
			s.o.Logger.Error("snapshot not written", "error", err)
			return
		}
		s.o.Logger.Info("snapshot taken", "generation", next, "held", held, "took", s.o.Now().Sub(started))
	})
}

// errStopped ends a snapshot after a step that a test names.
var errStopped = errors.New("stopped by test")

// finishSnapshot does steps 2 to 4. Zero stopAfter: all of them.
func (s *Server) finishSnapshot(frames [][]byte, generation uint64, stopAfter int) error {
	temp := filepath.Join(s.o.Dir, snapshotTemp)
	stop := func(step int) error {
		if stopAfter == step {
			return errStopped
		}
		return nil
	}
	if err := stop(1); err != nil {
		return err
	}
	if err := writeSnapshot(temp, frames, generation, s.o.Sync); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := stop(2); err != nil {
		return err
	}
	if err := os.Rename(temp, snapshotPath(s.o.Dir, generation)); err != nil {
		return err
	}
	if err := syncDir(s.o.Dir, s.o.Sync); err != nil {
		return err
	}
	if err := stop(3); err != nil {
		return err
	}
	return removeBefore(s.o.Dir, generation)
}

// writeSnapshot writes and syncs a whole snapshot file.
func writeSnapshot(path string, frames [][]byte, generation uint64, sync func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, frameTarget)
	if _, err := w.Write(fileHeader(snapshotMagic, generation)); err != nil {
		return err
	}
	for i, frame := range frames {
		sealFrame(frame)
		if _, err := w.Write(frame); err != nil {
			return err
		}
		frames[i] = nil // the copy goes as it is written
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return sync(f)
}

// stateWriter collects items into frames.
type stateWriter struct {
	frames [][]byte
	frame  []byte
}

// item begins an item in the frame at hand, or in a new one when that is full.
func (w *stateWriter) item(kind byte, key string) {
	if len(w.frame) >= frameTarget {
		w.frames = append(w.frames, w.frame)
		w.frame = nil
	}
	if w.frame == nil {
		w.frame = make([]byte, frameHeaderSize, frameTarget+frameTarget/8)
	}
	w.frame = append(w.frame, kind)
	if kind != itemEnd {
		w.frame = appendString(w.frame, key)
	}
}

// state is a copy of the board: most of it in frames already, and the streams,
// whose entries never change, as they are.
type state struct {
	w       stateWriter
	streams []streamCopy
	keys    int
	at      time.Time
}

type streamCopy struct {
	key, last string
	entries   []miniredis.StreamEntry
}

// copyState copies everything the board knows. The caller holds b.mu.
func (b *board) copyState(at time.Time) (*state, error) {
	st := &state{keys: len(*b.tables.keys), at: at}
	for _, s := range b.scripts {
		// One that no record names yet would be missing from the log if this
		// snapshot came to nothing.
		if s.inLog {
			st.w.item(itemScript, s.body)
		}
	}
	for key, kind := range *b.tables.keys {
		if err := b.copyKey(st, key, kind); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// frames finishes the copy; it needs no lock.
func (st *state) frames() [][]byte {
	w := &st.w
	for _, s := range st.streams {
		for _, e := range s.entries {
			w.item(itemEntry, s.key)
			w.frame = binary.AppendUvarint(w.frame, uint64(1+len(e.Values)))
			w.frame = appendString(w.frame, e.ID)
			for _, v := range e.Values {
				w.frame = appendString(w.frame, v)
			}
		}
		w.item(itemStream, s.key)
		w.frame = appendStrings(w.frame, []string{s.last})
	}
	w.item(itemEnd, "")
	w.frame = binary.AppendVarint(w.frame, st.at.UnixMicro())
	w.frame = binary.AppendUvarint(w.frame, uint64(st.keys))
	return append(w.frames, w.frame)
}

// copyKey copies one key.
func (b *board) copyKey(st *state, key, kind string) error {
	w := &st.w
	switch kind {
	case "string":
		v, err := b.db.Get(key)
		w.item(itemString, key)
		w.frame = appendStrings(w.frame, []string{v})
		return err
	case "hash":
		w.hash(key, (*b.tables.hashes)[key])
		return nil
	case "list":
		list, err := b.db.List(key)
		w.elements(itemList, key, list)
		return err
	case "set":
		members, err := b.db.Members(key)
		w.elements(itemSet, key, members)
		return err
	case "zset":
		set, err := b.db.SortedSet(key)
		w.zset(key, set)
		return err
	case "stream":
		s := (*b.tables.streams)[key]
		// XDEL moves entries within the slice, so that it has to be a copy.
		st.streams = append(st.streams, streamCopy{key: key, last: s.lastAllocatedID, entries: slices.Clone(s.entries)})
		return nil
	default:
		return fmt.Errorf("copy %q: no way to save a %s", key, kind)
	}
}

// elements writes a list in items of at most itemTarget.
func (w *stateWriter) elements(kind byte, key string, list []string) {
	for part := range slices.Chunk(list, itemTarget) {
		w.item(kind, key)
		w.frame = appendStrings(w.frame, part)
	}
}

// hash writes a hash in items of at most itemTarget fields.
func (w *stateWriter) hash(key string, fields map[string]string) {
	left, in := len(fields), 0
	for f, v := range fields {
		if in == 0 {
			in = min(itemTarget, left)
			w.item(itemHash, key)
			w.frame = binary.AppendUvarint(w.frame, uint64(in))
		}
		w.frame = appendString(appendString(w.frame, f), v)
		left, in = left-1, in-1
	}
}

// zset writes a sorted set in items of at most itemTarget members.
func (w *stateWriter) zset(key string, set map[string]float64) {
	members, scores := make([]string, 0, itemTarget), make([]float64, 0, itemTarget)
	flush := func() {
		w.item(itemZset, key)
		w.frame = appendScores(appendStrings(w.frame, members), scores)
		members, scores = members[:0], scores[:0]
	}
	for m, score := range set {
		if members, scores = append(members, m), append(scores, score); len(members) == itemTarget {
			flush()
		}
	}
	if len(members) > 0 {
		flush()
	}
}

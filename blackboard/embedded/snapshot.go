package embedded

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
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
	frames, err := s.board.copyState(s.clock.now())
	s.board.mu.Unlock()
	next := s.log.generation + 1
	var fresh *logFile
	if err == nil {
		if err := s.flushEffects(); err != nil {
			s.o.Logger.Warn("effects not written", "error", err)
		}
		fresh, err = createLog(s.o.Dir, next, s.o.Sync)
	}
	if err != nil {
		s.snapshotting.Unlock()
		s.o.Logger.Error("snapshot not taken", "error", err)
		return
	}
	fresh.writeAt = s.log.writeAt
	s.log.f.Close()
	s.log = fresh
	held := s.o.Now().Sub(started)
	s.background.Go(func() {
		defer s.snapshotting.Unlock()
		if err := s.finishSnapshot(frames, next, s.stopAfter); err != nil {
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

// copyState writes everything the board knows into unsealed frames. The caller
// holds b.mu.
func (b *board) copyState(at time.Time) ([][]byte, error) {
	w := &stateWriter{}
	for _, sha := range sortedKeys(b.scripts) {
		// One that no record names yet would be missing from the log if this
		// snapshot came to nothing.
		if s := b.scripts[sha]; s.inLog {
			w.item(itemScript, s.body)
		}
	}
	keys := b.db.Keys()
	for _, key := range keys {
		if err := b.copyKey(w, key); err != nil {
			return nil, err
		}
	}
	w.item(itemEnd, "")
	w.frame = binary.AppendVarint(w.frame, at.UnixMicro())
	w.frame = binary.AppendUvarint(w.frame, uint64(len(keys)))
	return append(w.frames, w.frame), nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// copyKey writes one key.
func (b *board) copyKey(w *stateWriter, key string) error {
	switch kind := b.db.Type(key); kind {
	case "string":
		v, err := b.db.Get(key)
		w.item(itemString, key)
		w.frame = appendStrings(w.frame, []string{v})
		return err
	case "hash":
		return b.copyHash(w, key)
	case "list":
		list, err := b.db.List(key)
		w.elements(itemList, key, list)
		return err
	case "set":
		members, err := b.db.Members(key)
		w.elements(itemSet, key, members)
		return err
	case "zset":
		return b.copyZset(w, key)
	case "stream":
		return b.copyStream(w, key)
	default:
		return fmt.Errorf("copy %q: no way to save a %s", key, kind)
	}
}

// elements writes a list in items of at most itemTarget.
func (w *stateWriter) elements(kind byte, key string, list []string) {
	for len(list) > 0 {
		n := min(itemTarget, len(list))
		w.item(kind, key)
		w.frame = appendStrings(w.frame, list[:n])
		list = list[n:]
	}
}

func (b *board) copyHash(w *stateWriter, key string) error {
	fields, err := b.db.HKeys(key)
	for len(fields) > 0 {
		n := min(itemTarget, len(fields))
		w.item(itemHash, key)
		w.frame = binary.AppendUvarint(w.frame, uint64(2*n)) //nolint:gosec // positive
		for _, f := range fields[:n] {
			w.frame = appendString(w.frame, f)
			w.frame = appendString(w.frame, b.db.HGet(key, f))
		}
		fields = fields[n:]
	}
	return err
}

func (b *board) copyZset(w *stateWriter, key string) error {
	set, err := b.db.SortedSet(key)
	members, scores := make([]string, 0, len(set)), make([]float64, 0, len(set))
	for m, score := range set {
		members, scores = append(members, m), append(scores, score)
	}
	for len(members) > 0 {
		n := min(itemTarget, len(members))
		w.item(itemZset, key)
		w.frame = appendScores(appendStrings(w.frame, members[:n]), scores[:n])
		members, scores = members[n:], scores[n:]
	}
	return err
}

func (b *board) copyStream(w *stateWriter, key string) error {
	entries, err := b.db.Stream(key)
	if err != nil {
		return err
	}
	last, err := b.lastID(key)
	if err != nil {
		return err
	}
	for _, e := range entries {
		w.item(itemEntry, key)
		w.frame = binary.AppendUvarint(w.frame, uint64(1+len(e.Values)))
		w.frame = appendString(w.frame, e.ID)
		for _, v := range e.Values {
			w.frame = appendString(w.frame, v)
		}
	}
	w.item(itemStream, key)
	w.frame = appendStrings(w.frame, []string{last})
	return nil
}

// lastID is the last id that a stream gave out, which may be newer than its
// last entry. miniredis tells it by XINFO only.
func (b *board) lastID(key string) (string, error) {
	var reply strings.Builder
	w := bufio.NewWriter(&reply)
	if _, err := b.dispatch(server.NewPeer(w), time.Time{}, readonly, []string{"XINFO", "STREAM", key}); err != nil {
		return "", err
	}
	lines := strings.Split(reply.String(), "\r\n")
	for i, line := range lines {
		if line == "last-generated-id" && i+2 < len(lines) {
			return lines[i+2], nil
		}
	}
	return "", fmt.Errorf("last id of stream %q: not in %q", key, reply.String())
}

package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// files are the files of a directory.
type files struct {
	snapshots, logs []uint64 // generations, ascending
}

func listFiles(dir string) (files, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return files{}, err
	}
	var fs files
	for _, e := range entries {
		kind, number, _ := strings.Cut(e.Name(), ".")
		generation, err := strconv.ParseUint(number, 10, 64)
		switch {
		case err != nil:
		case kind == "snapshot":
			fs.snapshots = append(fs.snapshots, generation)
		case kind == "log":
			fs.logs = append(fs.logs, generation)
		}
	}
	for _, list := range [][]uint64{fs.snapshots, fs.logs} {
		sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
	}
	return fs, nil
}

// firstGeneration is the log of a directory that never had a snapshot.
const firstGeneration = 1

// chain picks the snapshot to start from, 0 for none, and the logs to replay on it.
func (fs files) chain(dir string) (start uint64, logs []uint64, err error) {
	first := uint64(firstGeneration)
	if n := len(fs.snapshots); n > 0 {
		start = fs.snapshots[n-1]
		first = start
	}
	for _, g := range fs.logs {
		if g >= first {
			logs = append(logs, g)
		}
	}
	if start == 0 && len(logs) == 0 {
		return 0, nil, nil
	}
	for i := range max(len(logs), 1) {
		if want := first + uint64(i); i >= len(logs) || logs[i] != want {
			return 0, nil, &CorruptError{File: logPath(dir, want), Reason: "the file is missing"}
		}
	}
	return start, logs, nil
}

// removeBefore removes the files that a snapshot of this generation replaces.
func removeBefore(dir string, generation uint64) error {
	fs, err := listFiles(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, g := range fs.logs {
		if g < generation {
			errs = append(errs, os.Remove(logPath(dir, g)))
		}
	}
	for _, g := range fs.snapshots {
		if g < generation {
			errs = append(errs, os.Remove(snapshotPath(dir, g)))
		}
	}
	return errors.Join(errs...)
}

// recoverState brings back the state, without the scripts at the end of a log that have
// no end.
func (s *Server) recoverState() (rep Report, err error) {
	dropped := map[int]bool{}
	for {
		if s.board, err = newBoard(s.o.Own); err != nil {
			return rep, err
		}
		rep, err = s.recoverWithout(dropped)
		var endless *endlessError
		if !errors.As(err, &endless) {
			break
		}
		s.o.Logger.Error("script left out: it has no end; those behind it were not acknowledged, and are left out, too", "calls", endless.calls)
		for n := range endless.calls {
			dropped[endless.from+n] = true
		}
	}
	if err != nil {
		s.board.mini.Close()
		return rep, err
	}
	if len(dropped) > 0 {
		if err := s.flushEffects(); err != nil {
			s.o.Logger.Warn("effects not written", "error", err)
		}
	}
	return rep, nil
}

// recoverWithout brings back the state, without some calls at the ends of logs. It reads
// everything before it changes anything.
func (s *Server) recoverWithout(dropped map[int]bool) (rep Report, err error) {
	dir := s.o.Dir
	fs, err := listFiles(dir)
	if err != nil {
		return rep, err
	}
	start, logs, err := fs.chain(dir)
	if err != nil {
		return rep, err
	}
	if start > 0 {
		keys, at, err := s.board.loadSnapshot(snapshotPath(dir, start), start)
		if err != nil {
			return rep, err
		}
		rep.Snapshot = keys
		s.clock.resume(at)
	}
	rp := &replay{s: s, dropped: dropped}
	good := int64(0)
	for i, g := range logs {
		good, rep.Repaired, err = rp.log(logPath(dir, g), g, i == len(logs)-1)
		if err != nil {
			return rep, err
		}
	}
	rep.Records = rp.records
	s.records = rp.records
	s.effects = rp.effects
	return rep, s.takeOver(start, logs, good)
}

// takeOver removes the remains of crashes and opens the log to write to.
func (s *Server) takeOver(start uint64, logs []uint64, good int64) (err error) {
	dir := s.o.Dir
	for _, temp := range []string{snapshotTemp, logTemp} {
		if err := removeIfThere(filepath.Join(dir, temp)); err != nil {
			return err
		}
	}
	if err := removeBefore(dir, start); err != nil {
		return err
	}
	current := uint64(firstGeneration)
	if n := len(logs); n > 0 {
		current = logs[n-1]
	}
	if good == 0 { // there is none
		s.log, err = createLog(dir, current, s.o.Sync)
	} else {
		s.log, err = continueLog(dir, current, good, s.o.Sync)
	}
	return err
}

// replay executes the records of logs.
type replay struct {
	s       *Server
	waiting []item       // commands that are not executed yet, oldest first
	effects [][][]string // of the scripts at the end of the last log, which were run again
	records int
	calls   int          // that were run again, in all logs
	dropped map[int]bool // those of them that are left out
}

// log replays one file. good is where its whole frames end; cut is the rest,
// which only the last file may have.
func (rp *replay) log(path string, generation uint64, last bool) (good, cut int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	fr, short, err := openFrames(f, logMagic, generation)
	switch {
	case err != nil:
		return 0, 0, err
	case short:
		return 0, 0, fr.damaged("it ends within its header, which every log has from its beginning")
	}
	for {
		start := fr.off
		payload, err := fr.next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && last {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, 0, fr.damaged("ends within a record, and another log follows")
		}
		if err == nil {
			err = rp.frame(payload)
			if err != nil {
				err = &CorruptError{File: path, Offset: start, Reason: err.Error()}
			}
		}
		if err != nil {
			return 0, 0, err
		}
	}
	err = rp.finish()
	var endless *endlessError
	if errors.As(err, &endless) {
		return 0, 0, err
	}
	if err != nil {
		return 0, 0, fr.damaged(err.Error())
	}
	return fr.off, fr.size - fr.off, nil
}

// frame replays the items of one frame.
func (rp *replay) frame(payload []byte) error {
	d := newDecoder(payload)
	for it, ok := d.next(); ok; it, ok = d.next() {
		if err := rp.item(it); err != nil {
			return err
		}
	}
	return d.err
}

// item takes a script or command in, or settles the oldest script call by its effects.
func (rp *replay) item(it item) error {
	b := rp.s.board
	switch it.kind {
	case itemScript:
		script, objection := b.learn(it.key)
		if objection != "" {
			return errors.New(objection)
		}
		script.inLog = true
	case itemCommand:
		rp.s.clock.resume(it.at)
		rp.records++
		rp.waiting = append(rp.waiting, it)
	case itemEffects:
		if len(rp.waiting) == 0 || !isScriptCall(rp.waiting[0].list) {
			return errors.New("effects without their script call")
		}
		at := rp.waiting[0].at
		rp.waiting = rp.waiting[1:]
		for _, args := range it.nested {
			rp.run(item{at: at, list: args})
		}
	default:
		return errItem
	}
	for len(rp.waiting) > 0 && !isScriptCall(rp.waiting[0].list) {
		rp.run(rp.waiting[0])
		rp.waiting = rp.waiting[1:]
	}
	return nil
}

// run executes one command. A panic is an answer, as it was the first time.
func (rp *replay) run(it item) (effects [][]string) {
	b := rp.s.board
	effects, err := b.dispatch(b.quiet, it.at, logged, it.list)
	if err != nil {
		rp.s.o.Logger.Error("command panicked", "command", it.list[0], "error", err)
	}
	return effects
}

// finish executes the calls at the end of a log whose effects were not
// written any more. Their effects go into the next frame.
func (rp *replay) finish() error {
	rp.effects = nil
	for i, it := range rp.waiting {
		call := isScriptCall(it.list)
		if call && rp.s.board.scripts[it.list[1]] == nil {
			return errors.New("a call of a script that is not in the log")
		}
		if !call {
			rp.run(it)
			continue
		}
		var effects [][]string
		if !rp.dropped[rp.calls] {
			var ended bool
			if effects, ended = rp.again(it); !ended {
				return &endlessError{rp.calls, rp.callsFrom(i)}
			}
		}
		rp.calls++
		rp.effects = append(rp.effects, effects)
	}
	rp.waiting = nil
	return nil
}

// callsFrom counts the calls among those that wait, from one on.
func (rp *replay) callsFrom(first int) (n int) {
	for _, it := range rp.waiting[first:] {
		if isScriptCall(it.list) {
			n++
		}
	}
	return n
}

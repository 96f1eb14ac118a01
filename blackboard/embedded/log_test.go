package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// history writes three records, one frame each, and returns the log and where
// each of its frames ends.
func history(t *testing.T) (log []byte, ends []int64) {
	t.Helper()
	dir := t.TempDir()
	sv := start(t, Options{Dir: dir})
	c := connect(t, sv.addr, "")
	ends = append(ends, sv.log.good)
	for i := range 3 {
		do(t, c, "SET", fmt.Sprintf("k%d", i), strings.Repeat("v", 20))
		ends = append(ends, sv.log.good)
	}
	sv.stop()
	log, err := os.ReadFile(logPath(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	return log, ends
}

// place puts files into a new directory.
func place(t *testing.T, content map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range content {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listing is every file of a directory with its content, the lock aside.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == lockName {
			return err
		}
		b, err := os.ReadFile(path)
		m[d.Name()] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTruncatedLastRecordIsRepaired(t *testing.T) {
	log, ends := history(t)
	for cut := ends[2]; cut <= ends[3]; cut++ {
		dir := place(t, map[string][]byte{"log.1": log[:cut]})
		s, rep, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		records, repaired := 2, cut-ends[2]
		if cut == ends[3] {
			records, repaired = 3, 0
		}
		if rep.Records != records || rep.Repaired != repaired {
			t.Errorf("cut at %d: %+v", cut, rep)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		want := log[:ends[2]]
		if cut == ends[3] {
			want = log
		}
		if got := listing(t, dir)["log.1"]; got != string(want) {
			t.Errorf("cut at %d: %d bytes left", cut, len(got))
		}
	}
}

// A log has its name only with its header, so that a crash leaves no log without one.
func TestCrashWhileTheLogWasCreated(t *testing.T) {
	for cut := range fileHeaderSize + 1 {
		dir := place(t, map[string][]byte{logTemp: fileHeader(logMagic, 1)[:cut]})
		s, rep, err := Open(Options{Dir: dir})
		if err != nil || rep.Records != 0 || rep.Repaired != 0 {
			t.Fatalf("%d bytes: %+v %v", cut, rep, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if left := listing(t, dir); len(left) != 1 || left["log.1"] != string(fileHeader(logMagic, 1)) {
			t.Errorf("%d bytes: %q", cut, left)
		}
	}
}

// A log that was emptied, or has less than its header, is damaged.
func TestEmptiedLogIsRefused(t *testing.T) {
	log, _ := history(t)
	snapshot := frames(snapshotMagic, 2, []byte("Z\x00\x00"))
	for cut := range fileHeaderSize {
		refused(t, map[string][]byte{"log.1": log[:cut]}, "log.1", 0)
		refused(t, map[string][]byte{"log.1": log, "log.2": fileHeader(logMagic, 2)[:cut]}, "log.2", 0)
		refused(t, map[string][]byte{"snapshot.2": snapshot, "log.2": fileHeader(logMagic, 2)[:cut]}, "log.2", 0)
	}
}

// A log that cannot be made leaves nothing.
func TestLogIsNotCreatedOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	_, _, err := Open(Options{Dir: dir, Sync: func(*os.File) error { return syscall.ENOSPC }})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	if left := listing(t, dir); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

// A power cut may leave the pages of the last record as zeros, or half written.
func TestTornLastRecordIsRepaired(t *testing.T) {
	log, ends := history(t)
	zeros := bytes.Clone(log)
	clear(zeros[ends[2]:])
	flipped := bytes.Clone(log)
	flipped[ends[3]-1] ^= 1
	for _, b := range [][]byte{zeros, flipped} {
		s, rep, err := Open(Options{Dir: place(t, map[string][]byte{"log.1": b})})
		if err != nil || rep.Records != 2 || rep.Repaired != ends[3]-ends[2] {
			t.Fatalf("%+v %v", rep, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamageIsRefusedWithItsPosition(t *testing.T) {
	log, ends := history(t)
	for i := range ends[2] { // every byte but those of the last record
		b := bytes.Clone(log)
		b[i] ^= 0x40
		want := int64(0)
		for _, e := range ends {
			if e <= i {
				want = e
			}
		}
		refused(t, map[string][]byte{"log.1": b}, "log.1", want)
	}
}

// refused wants CorruptError at a position, and nothing changed on disk.
func refused(t *testing.T, content map[string][]byte, file string, offset int64) {
	t.Helper()
	dir := place(t, content)
	before := listing(t, dir)
	_, _, err := Open(Options{Dir: dir})
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.Offset != offset || filepath.Base(corrupt.File) != file {
		t.Fatalf("%v, want damage of %s at %d", err, file, offset)
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("damaged at byte %d", offset)) {
		t.Errorf("message %q", err)
	}
	after := listing(t, dir)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Error("files were changed")
	}
}

// frames builds a log file from payloads.
func frames(magic string, generation uint64, payloads ...[]byte) []byte {
	b := fileHeader(magic, generation)
	for _, p := range payloads {
		frame := append(beginFrame(), p...)
		sealFrame(frame)
		b = append(b, frame...)
	}
	return b
}

func TestSenselessContentIsRefused(t *testing.T) {
	for name, payload := range map[string][]byte{
		"unknown kind":       []byte("?"),
		"cut string":         []byte("S\x05ab"),
		"endless number":     []byte("S\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
		"no arguments":       []byte("C\x02\x00"),
		"empty effect":       []byte("E\x01\x00"),
		"effects of nothing": []byte("E\x00"),
		"script with fault":  []byte("S\x02(("),
		"snapshot's item":    []byte("k\x01a\x01b"),
		"zset short":         []byte("z\x01a\x01b\x01c"),
		"zset uneven":        []byte("z\x01a\x01b\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, map[string][]byte{"log.1": frames(logMagic, 1, payload)}, "log.1", fileHeaderSize)
		})
	}
	end := []byte("Z\x00\x00")
	for name, payloads := range map[string][][]byte{
		"string of two":   {[]byte("k\x01a\x02bc"), end},
		"hash on list":    {[]byte("l\x01a\x01bh\x01a\x01bc"), end},
		"stream on list":  {[]byte("l\x01a\x01bx\x01a\x030-1"), end},
		"entry, no id":    {[]byte("X\x01a\x00"), end},
		"entry, bad id":   {[]byte("X\x01a\x01b"), end},
		"stream, no id":   {[]byte("x\x01a\x00"), end},
		"zset on list":    {[]byte("l\x01a\x01bz\x01a\x01b\x01cccccccc"), end},
		"zset of none":    {[]byte("z\x01a\x00\x00"), end},
		"script":          {[]byte("S\x02(("), end},
		"command":         {[]byte("C\x02\x01a"), end},
		"number of keys":  {[]byte("Z\x00\x05")},
		"without the end": {[]byte("k\x01a\x01b")},
		"unknown":         {[]byte("?")},
	} {
		t.Run("snapshot "+name, func(t *testing.T) {
			dir := place(t, map[string][]byte{"snapshot.1": frames(snapshotMagic, 1, payloads...), "log.1": fileHeader(logMagic, 1)})
			if s, _, err := Open(Options{Dir: dir}); err == nil {
				s.Close()
				t.Error("accepted")
			}
		})
	}
	call := appendCommand(nil, fixed, []string{"EVALSHA", "unknown", "0"})
	b := frames(logMagic, 1, call)
	refused(t, map[string][]byte{"log.1": b}, "log.1", int64(len(b)))
}

func TestFilesThatDoNotBelongTogetherAreRefused(t *testing.T) {
	log, ends := history(t)
	empty := fileHeader(logMagic, 2)
	snapshot := frames(snapshotMagic, 2, []byte("Z\x00\x00"))
	refused(t, map[string][]byte{"log.1": log, "log.3": empty}, "log.2", 0)
	refused(t, map[string][]byte{"log.2": empty}, "log.1", 0)
	refused(t, map[string][]byte{"snapshot.2": snapshot}, "log.2", 0)
	refused(t, map[string][]byte{"snapshot.2": snapshot, "log.1": log}, "log.2", 0)
	refused(t, map[string][]byte{"log.1": log[:ends[3]-1], "log.2": empty}, "log.1", ends[2])
	refused(t, map[string][]byte{"log.1": log[:5], "log.2": empty}, "log.1", 0)
	refused(t, map[string][]byte{"snapshot.2": snapshot[:9], "log.2": empty}, "snapshot.2", 0)
	refused(t, map[string][]byte{"snapshot.2": snapshot[:len(snapshot)-1], "log.2": empty}, "snapshot.2", fileHeaderSize)
	refused(t, map[string][]byte{"log.1": fileHeader(logMagic, 7)}, "log.1", 0)
	refused(t, map[string][]byte{"log.1": fileHeader(snapshotMagic, 1)}, "log.1", 0)
	newer := fileHeader(logMagic, 1)
	newer[7]++
	refused(t, map[string][]byte{"log.1": newer}, "log.1", 0)
}

// A full disk refuses writes, by name of the cause, and takes them again later.
func TestFullDisk(t *testing.T) {
	for _, partial := range []int{0, 7} {
		dir := t.TempDir()
		sv := start(t, Options{Dir: dir})
		c := connect(t, sv.addr, "")
		var full atomic.Bool
		sv.log.writeAt = func(f *os.File, b []byte, off int64) (int, error) {
			if !full.Load() {
				return f.WriteAt(b, off)
			}
			n, _ := f.WriteAt(b[:partial], off)
			return n, syscall.ENOSPC
		}
		const script = "return redis.call('SET', KEYS[1], ARGV[1])"
		do(t, c, "SET", "a", "1")
		full.Store(true)
		expectError(t, c, "MISCONF the write was refused, disk: no space left on device", "SET", "a", "2")
		expectError(t, c, "MISCONF the write was refused, disk: no space left on device", "EVAL", script, "1", "a", "2")
		expect(t, c, "OK", "EVAL", "--!volatile\n"+script, "1", "beat", "1")
		expect(t, c, "1", "GET", "a")
		full.Store(false)
		expect(t, c, "OK", "EVAL", script, "1", "b", "3")
		sv.stop()
		dropEffects(t, logPath(dir, 1)) // so that the script's body has to be there
		sv = start(t, Options{Dir: dir})
		if sv.rep.Records != 2 || sv.rep.Repaired != 0 {
			t.Errorf("%+v", sv.rep)
		}
		c = connect(t, sv.addr, "")
		expect(t, c, "1", "GET", "a")
		expect(t, c, "3", "GET", "b")
		sv.stop()
	}
}

// After a failed fsync nothing is taken until the log is known to be whole again.
func TestFailedSync(t *testing.T) {
	dir := t.TempDir()
	var failing atomic.Int32
	o := Options{Dir: dir, Sync: func(f *os.File) error {
		if failing.Load() > 0 {
			failing.Add(-1)
			return syscall.EIO
		}
		return f.Sync()
	}}
	sv := start(t, o)
	c := connect(t, sv.addr, "")
	do(t, c, "SET", "a", "1")
	for _, fails := range []int32{1, 2, 3} { // of the append; of the repair too; of the next one's
		failing.Store(fails)
		for failing.Load() > 0 {
			expectError(t, c, "MISCONF the write was refused, disk: ", "SET", "a", "2")
		}
		expect(t, c, "OK", "SET", "b", fmt.Sprint(fails))
	}
	sv.stop()
	sv = start(t, Options{Dir: dir})
	if sv.rep.Records != 4 || sv.rep.Repaired != 0 {
		t.Errorf("%+v", sv.rep)
	}
	c = connect(t, sv.addr, "")
	expect(t, c, "1", "GET", "a")
	expect(t, c, "3", "GET", "b")
}

// After a crash behind any step of a snapshot, a start finds all records.
func TestCrashInSnapshot(t *testing.T) {
	for step := range 4 {
		dir := t.TempDir()
		sv := start(t, Options{Dir: dir, SnapshotRecords: 5})
		sv.stopAfter = step
		c := connect(t, sv.addr, "")
		for range 4 {
			do(t, c, "EVAL", "return redis.call('INCR', KEYS[1])", "1", "n")
		}
		do(t, c, "XADD", "s", "*", "f", "v")
		waitSnapshot(sv)
		for range 3 { // goes to the new log
			do(t, c, "EVAL", "return redis.call('INCR', KEYS[1])", "1", "n")
		}
		want := dump(t, c)
		sv.stop()
		if step == 1 { // and dies while it writes the file
			if err := os.WriteFile(filepath.Join(dir, snapshotTemp), []byte("SETT"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		again := start(t, Options{Dir: dir})
		if step == 0 || step == 3 {
			if again.rep.Snapshot != 2 || again.rep.Records != 3 {
				t.Errorf("step %d: %+v", step, again.rep)
			}
		} else if again.rep.Snapshot != 0 || again.rep.Records != 8 {
			t.Errorf("step %d: %+v", step, again.rep)
		}
		if got := dump(t, connect(t, again.addr, "")); got != want {
			t.Errorf("step %d: %s, want %s", step, got, want)
		}
		again.stop()
		for name := range listing(t, dir) {
			if name == snapshotTemp || step == 3 && strings.HasSuffix(name, ".1") {
				t.Errorf("step %d: %s was left", step, name)
			}
		}
	}
}

// A snapshot that cannot be written costs nothing but itself.
func TestSnapshotOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	var full atomic.Bool
	o := Options{Dir: dir, SnapshotRecords: 5, Sync: func(f *os.File) error {
		if full.Load() && !strings.HasPrefix(filepath.Base(f.Name()), "log.1") {
			return syscall.ENOSPC
		}
		return f.Sync()
	}}
	sv := start(t, o)
	c := connect(t, sv.addr, "")
	full.Store(true)
	for range 12 {
		do(t, c, "INCR", "n")
	}
	waitSnapshot(sv)
	full.Store(false)
	for range 6 {
		do(t, c, "INCR", "n")
	}
	waitSnapshot(sv)
	sv.stop()
	sv = start(t, o)
	expect(t, connect(t, sv.addr, ""), "18", "GET", "n")
	if sv.rep.Snapshot != 1 {
		t.Errorf("%+v", sv.rep)
	}
}

package embedded

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// tight is a disk on which a log may have so many bytes: a write beyond that is half done.
type tight struct{ most atomic.Int64 }

func (d *tight) writeAt(f *os.File, b []byte, off int64) (int, error) {
	most := d.most.Load()
	if off+int64(len(b)) <= most {
		return f.WriteAt(b, off)
	}
	n, err := f.WriteAt(b[:max(0, min(int64(len(b)), most-off))], off)
	if err == nil {
		err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

// lines is a log that many goroutines write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// crashed is a start from the files as they are now, as after a crash.
func crashed(t *testing.T, dir string) *served {
	t.Helper()
	content := map[string][]byte{}
	for name, b := range listing(t, dir) {
		content[name] = []byte(b)
	}
	return start(t, Options{Dir: place(t, content)})
}

// Once a disk was full, no write is taken before there is room for many: none that is small enough, either. Reading
// goes on, a crash finds nothing of refused writes, and the log says it once.
func TestFullDiskDoesNotFlap(t *testing.T) {
	dir, disk, log := t.TempDir(), &tight{}, &lines{}
	sv := start(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(log, nil))})
	c := connect(t, sv.addr, "")
	do(t, c, "SET", "a", "1")
	good := sv.log.good
	disk.most.Store(good + 500)
	sv.log.writeAt = disk.writeAt
	const cause = "MISCONF the write was refused, disk: "
	expectError(t, c, cause, "SET", "a", strings.Repeat("x", 1000))
	for _, free := range []int64{500, 1000, room - 1} {
		disk.most.Store(good + free)
		for range 3 {
			if got := do(t, c, "SET", "a", "2"); !strings.HasPrefix(got, "error: "+cause) || !strings.Contains(got, "no space left on device (writes go on once 256 KiB fit)") {
				t.Errorf("%d bytes free: %q", free, got)
			}
			expect(t, c, "1", "GET", "a")
			if info, err := os.Stat(logPath(dir, 1)); err != nil || info.Size() != good {
				t.Fatalf("%d bytes free: the log has %d bytes, want %d; %v", free, info.Size(), good, err)
			}
		}
		again := crashed(t, dir)
		expect(t, connect(t, again.addr, ""), "1", "GET", "a")
		if again.rep.Records != 1 || again.rep.Repaired != 0 {
			t.Errorf("%d bytes free: after a crash: %+v", free, again.rep)
		}
	}
	if n := log.count("write refused"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
	disk.most.Store(good + room)
	expect(t, c, "OK", "SET", "a", "3")
	expect(t, c, "OK", "SET", "b", "4")
	if n := log.count("writes are taken again"); n != 1 {
		t.Errorf("the log says %d times that it goes on", n)
	}
	sv.stop()
	sv = start(t, Options{Dir: dir})
	c = connect(t, sv.addr, "")
	expect(t, c, "3", "GET", "a")
	expect(t, c, "4", "GET", "b")
	if sv.rep.Records != 3 || sv.rep.Repaired != 0 {
		t.Errorf("%+v", sv.rep)
	}
}

// On a disk that is full time and again, all acknowledged writes outlast a crash at any moment, and no other does.
func TestAcknowledgedOnATightDisk(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir, disk, r := t.TempDir(), &tight{}, rand.New(rand.NewPCG(seed, 1))
			disk.most.Store(1 << 40)
			var sick atomic.Bool // then nothing of a log can be made durable
			sv := start(t, Options{Dir: dir, SnapshotRecords: 30, Sync: func(f *os.File) error {
				if sick.Load() && strings.HasPrefix(filepath.Base(f.Name()), "log.") {
					return syscall.EIO
				}
				return f.Sync()
			}})
			sv.log.writeAt = disk.writeAt
			c := connect(t, sv.addr, "")
			want, refused, taken := map[string]string{}, 0, 0
			for i := range 250 {
				waitSnapshot(sv)
				size := int64(0)
				for name, b := range listing(t, dir) {
					if strings.HasPrefix(name, "log.") {
						size = max(size, int64(len(b)))
					}
				}
				if i%25 == 0 {
					again := crashed(t, dir)
					d := connect(t, again.addr, "")
					for k := range 20 {
						key := fmt.Sprint("k", k)
						v, ok := want[key]
						if !ok {
							v = "nil"
						}
						expect(t, d, v, "GET", key)
					}
					again.stop()
				}
				switch r.IntN(6) {
				case 0:
					disk.most.Store(size + r.Int64N(2000))
				case 1:
					disk.most.Store(size + room + r.Int64N(2000))
				case 2:
					disk.most.Store(1 << 40)
				}
				sick.Store(r.IntN(20) == 0)
				key, value := fmt.Sprint("k", r.IntN(20)), fmt.Sprint(i, strings.Repeat("v", r.IntN(800)))
				if got := do(t, c, "EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", "1", key, value); got == "OK" {
					want[key], taken = value, taken+1
				} else {
					refused++
				}
			}
			disk.most.Store(1 << 40)
			sick.Store(false)
			if refused < 10 || taken < 10 {
				t.Errorf("%d refused, %d taken", refused, taken)
			}
		})
	}
}

// A log that could not be cut back is healed before another log follows it: a start would find in it a write that was
// refused, or take its half record for damage.
func TestSnapshotOfABrokenLog(t *testing.T) {
	for _, most := range []int{7, 1 << 20} { // bytes of the refused record that are written
		dir := t.TempDir()
		sv := start(t, Options{Dir: dir})
		c := connect(t, sv.addr, "")
		for range 5 {
			do(t, c, "INCR", "n")
		}
		sv.stop()
		sv = start(t, Options{Dir: dir, SnapshotRecords: 5})
		sv.stopAfter = 1 // then a start reads both logs
		away := filepath.Join(dir, "away")
		var refused atomic.Bool
		sv.log.writeAt = func(f *os.File, b []byte, off int64) (int, error) {
			if !refused.CompareAndSwap(false, true) {
				return f.WriteAt(b, off)
			}
			n, _ := f.WriteAt(b[:min(most, len(b))], off)
			if err := os.Rename(f.Name(), away); err != nil { // so that it cannot be cut
				t.Error(err)
			}
			return n, syscall.EIO
		}
		c = connect(t, sv.addr, "")
		for range 2 { // before the second there was an attempt at a snapshot
			expectError(t, c, "MISCONF the write was refused, disk: ", "INCR", "n")
		}
		if err := os.Rename(away, logPath(dir, 1)); err != nil {
			t.Fatal(err)
		}
		expect(t, c, "6", "INCR", "n")
		waitSnapshot(sv)
		sv.stop()
		sv = start(t, Options{Dir: dir})
		expect(t, connect(t, sv.addr, ""), "6", "GET", "n")
		sv.stop()
	}
}

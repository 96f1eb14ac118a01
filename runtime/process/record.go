package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sett/runtime"
)

// ident identifies a process, also after its id is reused.
type ident struct {
	PID   int    `json:"pid"`        // 0: not known yet
	Start uint64 `json:"start_time"` // as the kernel gives it
	Boot  string `json:"boot_id"`    // start times begin anew with each boot
}

// record describes one start of a unit. It never holds the environment, which contains
// credentials.
type record struct {
	ident
	Namespace string         `json:"pid_namespace,omitempty"` // of the process id; empty: an older sett wrote it, or the system has none
	Name      string         `json:"name"`
	Token     string         `json:"token"`  // of this start
	Args      []string       `json:"args"`   // without the executable
	Labels    runtime.Labels `json:"labels"` //
	StartedAt time.Time      `json:"started_at"`
	Restarts  int            `json:"restarts"`   // how often it was started after it had ended by itself
	LogOffset int64          `json:"log_offset"` // the beginning of this start's output in the log
	End       *end           `json:"end,omitempty"`
	elsewhere bool           // the process id is of another namespace than this program's
}

// end is the end of a unit. It is recorded only after all the unit's processes were
// killed.
type end struct {
	Code int       `json:"code"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

func (r *Runtime) unknownEnd() end {
	return end{Code: -1, Text: runtime.Unwatched, At: r.now()}
}

var errCorrupt = errors.New("corrupt record")

func (rec record) unit(running bool) runtime.Unit {
	return runtime.Unit{Name: rec.Name, ID: strconv.Itoa(rec.PID), Labels: rec.Labels,
		StartedAt: rec.StartedAt, Running: running, Restarts: rec.Restarts}
}

// readRecord returns fs.ErrNotExist or errCorrupt when there is no usable record.
func (r *Runtime) readRecord(name string) (record, error) {
	var rec record
	data, err := os.ReadFile(r.recordPath(name))
	if err != nil {
		return rec, fmt.Errorf("read record: %w", err)
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return record{}, fmt.Errorf("read record of %s: %w: %w", name, errCorrupt, err)
	}
	if rec.Name != name || rec.Token == "" || rec.PID < 0 {
		return record{}, fmt.Errorf("read record of %s: %w: it is not that unit's", name, errCorrupt)
	}
	if ours := pidNamespace(); rec.Namespace != "" && ours != "" && rec.Namespace != ours {
		rec.Boot, rec.elsewhere = "", true // as of another boot: the number means another process here
	}
	return rec, nil
}

// writeRecord replaces the whole record; the caller holds the unit's lock. It needs no
// fsync: a record means nothing after the next boot.
func (r *Runtime) writeRecord(rec record) error {
	if rec.Namespace == "" {
		rec.Namespace = pidNamespace()
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	// Under the lock there is one writer, so one fixed name is enough: the next write
	// replaces a file that a crash left.
	tmp := filepath.Join(r.unitsDir(), "."+rec.Name+".tmp")
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("write record: %w", err)
	}
	if err := os.Rename(tmp, r.recordPath(rec.Name)); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

// StartedElsewhere says whether a unit without a recorded end was started in another PID
// namespace, where it may run or not: List does not see it.
func (r *Runtime) StartedElsewhere() (bool, error) {
	all, err := r.records()
	return slices.ContainsFunc(all, func(rec record) bool { return rec.elsewhere && rec.End == nil }), err
}

func (r *Runtime) removeRecord(name string) error {
	if err := os.Remove(r.recordPath(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record: %w", err)
	}
	return nil
}

// records reads all records, sorted by name. It logs and omits unusable ones.
func (r *Runtime) records() ([]record, error) {
	entries, err := os.ReadDir(r.unitsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list units: %w", err)
	}
	var recs []record
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || runtime.CheckName(name) != nil {
			continue
		}
		rec, err := r.readRecord(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the unit was stopped meanwhile
		}
		if err != nil {
			r.log.Warn("unit left out", "unit", name, "error", err)
			continue
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

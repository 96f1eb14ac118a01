package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"sett/runtime"
)

// Stop asks the unit's main process, and only that, to end (SIGTERM), and kills the
// unit's remaining processes after the grace. When the context ends before the grace, it
// returns the context's error; the request to end stays with the unit. A unit without a
// record is found by its main process.
func (r *Runtime) Stop(ctx context.Context, name string, grace time.Duration) error {
	if err := runtime.CheckName(name); err != nil {
		return nil // no unit can have that name
	}
	token, err := r.stop(ctx, name, grace)
	if err != nil {
		return fmt.Errorf("stop unit %s: %w", name, err)
	}
	r.mu.Lock()
	c := r.children[token]
	r.mu.Unlock()
	if c != nil {
		select {
		case <-c.done: // it is reaped: even its process id is gone
		case <-ctx.Done():
		}
	}
	return nil
}

func (r *Runtime) stop(ctx context.Context, name string, grace time.Duration) (token string, err error) {
	release, err := waitLock(ctx, r.unitLockPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // no unit was ever started here
	}
	if err != nil {
		return "", err
	}
	defer release()
	if err := r.restore(name); err != nil {
		return "", err
	}
	rec, running, err := r.settle(ctx, name)
	if err != nil {
		return "", err
	}
	if running {
		if err := terminate(ctx, rec.ident, grace); err != nil {
			return "", err
		}
		if err := r.kill(rec); err != nil {
			return "", err
		}
	}
	return rec.Token, r.removeRecord(name)
}

// terminate asks one process to end and waits at most the grace. A process that goes on
// is no error.
func terminate(ctx context.Context, id ident, grace time.Duration) error {
	if err := send(id, syscall.SIGTERM); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := awaitEnd(wait, id); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return ctx.Err()
}

// List returns the units that match, from their records. It logs and omits unreadable
// records.
func (r *Runtime) List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error) {
	recs, err := r.knownRecords()
	if err != nil {
		return nil, err
	}
	units := make([]runtime.Unit, 0, len(recs))
	for _, rec := range recs {
		if rec.Labels.Match(selector) {
			units = append(units, rec.unit(rec.End == nil && alive(rec.ident)))
		}
	}
	return units, ctx.Err()
}

// knownRecords returns the records, with half ones completed. It does not wait: a half
// record under a lock belongs to a unit that is just being started.
func (r *Runtime) knownRecords() ([]record, error) {
	all, err := r.records()
	if err != nil {
		return nil, err
	}
	known := all[:0]
	for _, rec := range all {
		if rec.PID == 0 {
			var ok bool
			if rec, ok = r.recover(rec.Name); !ok {
				continue
			}
		}
		known = append(known, rec)
	}
	return known, nil
}

// recover completes a half record, or removes it when its process does not exist.
func (r *Runtime) recover(name string) (record, bool) {
	release, _, err := tryLock(r.unitLockPath(name))
	if err != nil {
		return record{}, false
	}
	defer release()
	rec, err := r.readRecord(name)
	if err == nil {
		rec, err = r.complete(rec)
	}
	if err == nil && rec.PID != 0 {
		return rec, true
	}
	if err == nil {
		if err = r.kill(rec); err == nil {
			err = r.removeRecord(name)
		}
	}
	if err != nil {
		r.log.Warn("half started unit left out", "unit", name, "error", err)
	}
	return record{}, false
}
